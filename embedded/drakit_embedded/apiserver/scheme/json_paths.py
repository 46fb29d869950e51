"""JSON paths as kubectl and printer columns have them: ``.status.conditions[?(@.type=="Ready")].status``.

No library reads this dialect, in which a missing key is no error and a dot may be escaped
(``k8s.io/client-go`` v0.37 ``util/jsonpath``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, Final

Values = list[Any]
Step = Callable[[Values], Values]

_FIELD = re.compile(r"(?:\\.|[^\s.,\[\]$@{}\\])*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]*")
_WORD = re.compile(r"[^\s.,\[\]$@{}]+")
_ARRAY = re.compile(r"\[([^\]\n]*)\]")
_KEY = re.compile(r"^'([^']*)'$")
_SLICE = re.compile(r"^(-?[\d]*)(:-?[\d]*)?(:-?[\d]*)?$")
_COMPARISON = re.compile(r"^([^!<>=]+)([!<>=]+)(.+?)$", re.DOTALL)
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
}
# Nested filters are parsed recursively.
_DEEPEST = 20


class PathError(ValueError):
    """A path cannot be read, or does not fit the object."""


class JsonPath:
    """A parsed path."""

    __slots__ = ("_steps",)

    def __init__(self, text: str, depth: int = 0) -> None:
        """Parse a path without braces. Raises ``PathError``."""
        if depth > _DEEPEST:
            raise PathError("path is nested too deeply")
        self._steps = _Parser(text, depth).steps()

    def find(self, obj: Any) -> Values:
        """Find what the path leads to; empty if there is nothing. Raises ``PathError``."""
        found = [obj]
        for step in self._steps:
            found = step(found)
        return found


class _Parser:
    """Reads one path into steps, each from values to the values below them."""

    def __init__(self, text: str, depth: int) -> None:
        self._text, self._depth, self._at = text, depth, 0
        self._steps: list[Step] = []

    def steps(self) -> list[Step]:
        while self._at < len(self._text):
            self._steps.append(step) if (step := self._next()) is not None else None
        return self._steps

    def _next(self) -> Step | None:
        text, at = self._text, self._at
        if text.startswith("[?(", at):
            return self._filter()
        if text.startswith("..", at):
            self._at += 2
            # A name may follow without a dot of its own.
            if (following := text[self._at : self._at + 1]) and (following == "_" or following.isalnum()):
                self._at -= 1
            return _everything_below
        character = text[at]
        if character in " @$":
            self._at += 1
            return None
        if character == "[":
            return self._array()
        if character in "\"'":
            return self._quoted(character)
        if character == ".":
            return self._field()
        return self._literal(character)

    def _match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise PathError(what)
        self._at = match.end()
        return match

    def _field(self) -> Step:
        self._at += 1
        name = self._match(_FIELD, "unterminated field")[0]
        if name == "*":
            return _children
        return _field(name.replace("\\", ""))

    def _literal(self, character: str) -> Step:
        if character in "+-" or character.isdigit():
            text = self._match(_NUMBER, "")[0]
            try:
                number = int(text) if "." not in text else float(text)
            except ValueError:
                raise PathError(f"cannot parse number {text}") from None
            return lambda values: [number] * len(values)
        if character == "_" or character.isalpha():
            word = self._match(_WORD, "")[0]
            if word in ("true", "false"):
                return lambda values: [word == "true"] * len(values)
            raise PathError(f"unrecognized identifier {word}")
        raise PathError(f"unrecognized character in action: U+{ord(character):04X} '{character}'")

    def _quoted(self, quote: str) -> Step:
        end = self._at + 1
        while end < len(self._text) and (self._text[end] != quote or self._text[end - 1] == "\\"):
            end += 1
        if end >= len(self._text):
            raise PathError("unterminated quoted string")
        text = self._text[self._at + 1 : end].replace("\\" + quote, quote).replace("\\\\", "\\")
        self._at = end + 1
        return lambda _: [text]

    def _array(self) -> Step:
        inside = self._match(_ARRAY, "unterminated array")[1]
        parts = (":" if inside == "*" else inside).split(",")
        if len(parts) == 1:
            return self._subscript(parts[0])
        union = [self._subscript(part.strip(" ")) for part in parts]
        return lambda values: [found for step in union for found in step(values)]

    def _subscript(self, text: str) -> Step:
        if key := _KEY.match(text):
            return _field(key[1].replace("\\", ""))
        match = _SLICE.match(text)
        if match is None:
            raise PathError(f"invalid array index {text}")
        start, stop, step = (part.removeprefix(":") if part else part for part in match.groups())
        return _sliced(_number(start), _number(stop), _number(step), single=stop is None)

    def _filter(self) -> Step:
        end = _end_of_filter(self._text, self._at + 3)
        inside = self._text[self._at + 3 : end]
        self._at = end + 2
        match = _COMPARISON.match(inside)
        if match is None:
            return _having(JsonPath(inside, self._depth + 1))
        left, sign, right = match.groups()
        if sign not in _OPERATORS:
            raise PathError(f"unrecognized filter operator {sign}")
        return _comparing(JsonPath(left, self._depth + 1), _OPERATORS[sign], JsonPath(right, self._depth + 1))


def _end_of_filter(text: str, at: int) -> int:
    """Find the ``)`` that ends a filter: the first outside of quotes."""
    quote = ""
    while at < len(text):
        character = text[at]
        if quote:
            quote = "" if character == quote and text[at - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif character == ")":
            if text[at + 1 : at + 2] != "]":
                raise PathError("unclosed array expect ]")
            return at
        at += 1
    raise PathError("unterminated filter")


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        raise PathError(f"array index {text} is not a number") from None


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _children(values: Values) -> Values:
    found: Values = []
    for value in values:
        found += value.values() if isinstance(value, dict) else value if isinstance(value, list | str) else ()
    return found


def _everything_below(values: Values) -> Values:
    """Collect what has anything in it, with all that is below it."""
    found: Values = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list) and value:
            found.append(value)
            waiting += reversed(list(value.values()) if isinstance(value, dict) else value)
    return found


def _sliced(start: int | None, stop: int | None, step: int | None, *, single: bool) -> Step:
    if step is not None and step <= 0:
        raise PathError("step must be > 0")

    def sliced(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise PathError("not an array or slice")
            found += _items(value, start or 0, stop, step or 1, single)
        return found

    return sliced


def _items(value: Values, start: int, stop: int | None, step: int, single: bool) -> Values:
    size = len(value)
    begin = start + size if start < 0 else start
    end = begin + 1 if single else size if stop is None else stop + size if stop < 0 else stop
    if begin == end:
        return []
    if not 0 <= begin < size or not 0 <= end <= size or begin > end:
        raise PathError(f"array index out of bounds: index {begin}, length {size}")
    return value[begin:end:step]


def _having(path: JsonPath) -> Step:
    def having(values: Values) -> Values:
        return [item for item in _listed(values) if path.find(item)]

    return having


def _comparing(left: JsonPath, compare: Callable[[Any, Any], bool], right: JsonPath) -> Step:
    def comparing(values: Values) -> Values:
        return [item for item in _listed(values) if _holds(left.find(item), compare, right.find(item))]

    return comparing


def _listed(values: Values) -> Values:
    found: Values = []
    for value in values:
        if not isinstance(value, list):
            raise PathError("not an array or slice and cannot be filtered")
        found += value
    return found


def _holds(left: Values, compare: Callable[[Any, Any], bool], right: Values) -> bool:
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1:
        raise PathError("can only compare one element at a time")
    one, other = left[0], right[0]
    if isinstance(one, bool) != isinstance(other, bool) or isinstance(one, str) != isinstance(other, str):
        raise PathError("incompatible types for comparison")
    try:
        return compare(one, other)
    except TypeError:
        raise PathError("incompatible types for comparison") from None
