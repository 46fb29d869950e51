"""JSON as Go's decoder reads it: what it takes that other decoders refuse, and its words for what nobody takes.

A body is read by the fastest decoder there is. Only where that one refuses, or where keys may have been repeated, is
the text looked at a second time. Source: ``encoding/json`` of Go (``scanner.go``, ``decode.go``), and its copy in
``sigs.k8s.io/json``, by which Kubernetes reads bodies.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import FEW_DIGITS

# From halfway between the largest float and the next power of two on, numbers are rounded to infinity.
_TOO_LARGE = 2**1024 - 2**970
_MOST_LEVELS = 10_000
_END = "unexpected end of JSON input"
_SPACE = re.compile(rb"[ \t\r\n]*")
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}
_STRING = re.compile(rb'[^"\\\x00-\x1f]*')
_HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")
_ESCAPES = frozenset(b'bfnrt\\/"')
_DIGITS = re.compile(rb"[0-9]*")
_COLON = re.compile(rb"\\u003[aA]")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class JsonError(ValueError):
    """Text that is no JSON; the message is Go's."""


class LongNumber(float):
    """A number that is too large for a float, or for Python to read; its value is near, and its text is all of it."""

    __slots__ = ("text",)

    def __new__(cls, text: str) -> LongNumber:
        """Make the nearest float; ``text`` is a number of JSON."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


class Repeated(dict[str, Any]):
    """An object in which a key stands more than once, or the outermost object around one.

    It has what Go makes of that; ``pairs`` are its fields as they were written. ``complaint`` is what another reader
    than this one has said of the whole.
    """

    __slots__ = ("complaint", "pairs")

    def __init__(self, pairs: list[tuple[str, Any]], complaint: str = "") -> None:
        super().__init__()
        self.pairs, self.complaint = pairs, complaint
        for key, value in pairs:
            self[key] = _together(self.get(key), value)


def read(raw: bytes, *, long_numbers: bool = True) -> Any:
    """Decode a text; objects with repeated keys, and the outermost one around them, become ``Repeated``.

    Without ``long_numbers`` a number that would be a ``LongNumber`` is an error. Raises ``JsonError``.
    """
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        value = _read_slowly(raw)
        if not long_numbers and holds_long_number(value):
            raise JsonError(f"a number of more than {FEW_DIGITS} digits is not supported here") from None
        return value
    return _read_slowly(raw) if _may_repeat(raw, value) else value


def _may_repeat(raw: bytes, value: Any) -> bool:
    """Tell whether keys may stand twice in a text: for each that is lost, a colon lacks when the value is printed.

    Only a colon in a string that was written as an escape could make up for it.
    """
    if raw.count(b":") != _encode(value).count(b":"):
        return True
    # Hardly any text has a backslash, and to look for that is quicker.
    return b"\\" in raw and _COLON.search(raw) is not None


def _read_slowly(raw: bytes) -> Any:
    if why := fault(raw):
        raise JsonError(why)
    any_repeated = False

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal any_repeated
        found = {_valid(key): value for key, value in pairs}
        if len(found) == len(pairs):
            return found
        any_repeated = True
        return Repeated([(_valid(key), value) for key, value in pairs])

    try:
        # Go replaces what is not UTF-8.
        text = raw.decode(errors="replace")
        value = _valid(json.loads(text, object_pairs_hook=made, parse_int=_whole, parse_float=_real))
    except RecursionError:
        raise JsonError("exceeded max depth") from None
    if any_repeated and type(value) is dict:
        return Repeated(list(value.items()))
    return value


def _whole(digits: str) -> int | LongNumber:
    return int(digits) if len(digits) <= FEW_DIGITS else LongNumber(digits)


def _real(text: str) -> float:
    return LongNumber(text) if math.isinf(number := float(text)) else number


def too_large(value: Any) -> str | None:
    """Find the first number in a value that is too large for a float of 64 bits, and return it as it is written.

    Go reads no such number where any value may stand.
    """
    if isinstance(value, dict | list):
        items = [item for _, item, _ in pairs(value)] if isinstance(value, dict) else value
        return next((found for item in items if (found := too_large(item)) is not None), None)
    if isinstance(value, LongNumber):
        return value.text
    if type(value) is int:
        return None if abs(value) < _TOO_LARGE else str(value)
    return None


def of_float(literal: str) -> str:
    """Say in Go's words that a number is too large for a float, where any value may stand."""
    return f"json: cannot unmarshal number {literal} into Go value of type float64"


def holds_long_number(value: Any) -> bool:
    """Tell whether there is a ``LongNumber`` in a value, which no other decoder would read again."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, LongNumber):
            return True
    return False


def _valid(value: Any) -> Any:
    """Replace each half of a pair of surrogates that stands alone, which is no character."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_valid(item) for item in value]
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _valid(item)
    return value


def _together(first: Any, second: Any) -> Any:
    """Go decodes an object into the one that is there; anything else takes its place."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **{key: _together(first.get(key), value) for key, value in second.items()}}
    return second


def duplicates(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of repeated keys, as strict decoding names them."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from duplicates(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item, again in pairs(value):
            inner = f"{path}.{key}" if path else key
            if again:
                yield inner
            yield from duplicates(item, inner)


def pairs(value: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield keys and values of an object as they were written, and whether the key has been there before."""
    seen: set[str] = set()
    for key, item in value.pairs if isinstance(value, Repeated) else (value or {}).items():
        yield key, item, key in seen
        seen.add(key)


def single(value: Any) -> Any:
    """Replace each ``Repeated`` in a value by a plain dict with what Go makes of it."""
    if isinstance(value, list):
        return [single(item) for item in value]
    return {key: single(item) for key, item in value.items()} if isinstance(value, dict) else value


def last(value: Any) -> Any:
    """Replace each ``Repeated`` in a value by a plain dict in which the last of the values of a key counts.

    That is what Go makes of it where it has no type to fill, in a map of interfaces.
    """
    if isinstance(value, list):
        return [last(item) for item in value]
    return {key: last(item) for key, item, _ in pairs(value)} if isinstance(value, dict) else value


def name_of(value: object) -> str:
    """Return what Go's decoder calls the type of a value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "object"
    return {list: "array", str: "string", int: "number", float: "number", LongNumber: "number"}.get(type(value), "null")


def fault(raw: bytes) -> str | None:
    """Say why a text is no JSON, in Go's words; None if it is."""
    try:
        _Scanner(raw).document()
    except JsonError as error:
        return str(error)
    return None


class _Scanner:
    """Goes through a text once, with the states of Go's ``scanner``."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def document(self) -> None:
        # The closing bracket of each open level; recursion would not reach deep enough.
        closing: list[int] = []
        while True:
            opened = self._value(closing)
            if not opened:
                self._after_value(closing)
            if not closing:
                break
        if self._peek() is not None:
            raise self._invalid("after top-level value")

    def _value(self, closing: list[int]) -> bool:
        """Read a value, or the beginning of one with others in it (true), up to where its first one begins."""
        char = self._next()
        if char in b"{[":
            self._at += 1
            closing.append(ord("}") if char == b"{" else ord("]"))
            if len(closing) > _MOST_LEVELS:
                raise JsonError(f"invalid character {_char(char)} exceeded max depth")
            if self._peek() == bytes(closing[-1:]):
                return False
            if char == b"{":
                self._key()
            return True
        if char == b'"':
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == b"-" or char.isdigit():
            self._number()
        else:
            raise self._invalid("looking for beginning of value")
        return False

    def _after_value(self, closing: list[int]) -> None:
        """Close what ends here, up to where another value begins."""
        while closing:
            char, end = self._next(), bytes(closing[-1:])
            if char == end:
                self._at += 1
                closing.pop()
            elif char == b",":
                self._at += 1
                if end == b"}":
                    self._key()
                return
            else:
                raise self._invalid("after object key:value pair" if end == b"}" else "after array element")

    def _key(self) -> None:
        if self._next() != b'"':
            raise self._invalid("looking for beginning of object key string")
        self._string()
        if self._next() != b":":
            raise self._invalid("after object key")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while True:
            self._skip(_STRING)
            match self._here():
                case b'"':
                    self._at += 1
                    return
                case b"\\":
                    self._escape()
                case _:
                    raise self._invalid("in string literal")

    def _escape(self) -> None:
        self._at += 1
        char = self._within()
        if char == b"u":
            for _ in range(4):
                self._at += 1
                if self._within()[0] not in _HEXADECIMAL:
                    raise self._invalid("in \\u hexadecimal character escape")
        elif char[0] not in _ESCAPES:
            raise self._invalid("in string escape code")
        self._at += 1

    def _literal(self, literal: bytes) -> None:
        for expected in literal[1:]:
            self._at += 1
            if self._within()[0] != expected:
                raise self._invalid(f"in literal {literal.decode()} (expecting {chr(expected)!r})")
        self._at += 1

    def _number(self) -> None:
        if self._within() == b"-":
            self._at += 1
            if not self._within().isdigit():
                raise self._invalid("in numeric literal")
        if self._within() == b"0":
            self._at += 1
        else:
            self._skip(_DIGITS)
        if self._within() == b".":
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._within() in (b"e", b"E"):
            self._at += 1
            if self._within() in b"+-":
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, where: str) -> None:
        if not self._within().isdigit():
            raise self._invalid(where)
        self._skip(_DIGITS)

    def _skip(self, pattern: re.Pattern[bytes]) -> None:
        match = pattern.match(self._raw, self._at)
        assert match is not None
        self._at = match.end()

    def _peek(self) -> bytes | None:
        """Return the next character that is no space; None at the end."""
        self._skip(_SPACE)
        return self._raw[self._at : self._at + 1] or None

    def _next(self) -> bytes:
        self._skip(_SPACE)
        return self._here()

    def _here(self) -> bytes:
        char = self._raw[self._at : self._at + 1]
        if not char:
            raise JsonError(_END)
        return char

    def _within(self) -> bytes:
        """Return the next character of a token. Where the text ends, Go takes it for a space, and finds that wrong."""
        return self._raw[self._at : self._at + 1] or b" "

    def _invalid(self, where: str) -> JsonError:
        return JsonError(f"invalid character {_char(self._within())} {where}")


def _char(char: bytes) -> str:
    """Show a byte as the code point of its number, as ``quoteChar`` does."""
    if char == b"'":
        return r"'\''"
    if char == b'"':
        return "'\"'"
    return f"'{quote(char.decode('latin-1'))[1:-1]}'"
