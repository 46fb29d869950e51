"""cel-go's extended string functions, version 2 as Kubernetes enables it (``ext/strings.go``)."""

from __future__ import annotations

from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import texts
from drakit_api.cel.library.shown import show
from drakit_api.cel.values import budget
from drakit_api.cel.values.declarations import overload

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip
# What Go's strings.TrimSpace takes for white space; Python's strip also removes U+001C to U+001F.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _out_of_range(index: int) -> CelRuntimeError:
    return CelRuntimeError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset) if offset < len(text) else -1


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    if len(new) > len(old):
        found = text.count(old) if limit < 0 else min(limit, text.count(old))
        budget.spend_text(len(text) + found * (len(new) - len(old)), text, new)
    return text.replace(old, new, limit if limit >= 0 else -1)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    pieces = 1 + (text.count(separator) if separator else len(text))
    budget.spend(budget.OBJECT * (pieces if limit < 0 else min(pieces, limit)) + len(text))
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelRuntimeError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end is not None and end > len(text):
        raise _out_of_range(end)
    return text[start:end]


def _join(elements: list[Any], separator: str = "") -> str:
    for element in elements:
        if type(element) is not str:
            raise CelRuntimeError(f"join: invalid input: {show(element)}")
        budget.spend_text(budget.VISIT + len(element) + len(separator), element, separator)
    return separator.join(elements)


def _quote(text: str) -> str:
    budget.spend_text(2 * len(text), text)
    return '"' + "".join(_QUOTED.get(character, character) for character in text) + '"'


FUNCTIONS = [
    overload("string.charAt(int) -> string", _char_at),
    overload("string.indexOf(string) -> int", _index_of),
    overload("string.indexOf(string, int) -> int", _index_of),
    overload("string.lastIndexOf(string) -> int", _last_index_of),
    overload("string.lastIndexOf(string, int) -> int", _last_index_of),
    overload("string.lowerAscii() -> string", lambda text: text.translate(_LOWER)),
    overload("string.upperAscii() -> string", lambda text: text.translate(_UPPER)),
    overload("string.replace(string, string) -> string", _replace),
    overload("string.replace(string, string, int) -> string", _replace),
    overload("string.split(string) -> list<string>", _split),
    overload("string.split(string, int) -> list<string>", _split),
    overload("string.substring(int) -> string", _substring),
    overload("string.substring(int, int) -> string", _substring),
    overload("string.trim() -> string", lambda text: text.strip(_SPACE)),
    overload("string.format(list<dyn>) -> string", texts.interpolate),
    overload("strings::quote(string) -> string", _quote),
    overload("list<string>.join() -> string", _join),
    overload("list<string>.join(string) -> string", _join),
]
