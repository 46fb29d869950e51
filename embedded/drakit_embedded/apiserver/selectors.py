"""Label and field selectors, parsed once per request into a predicate over stored records.

The grammar and the error texts of label selectors are those of k8s.io/apimachinery/pkg/labels/selector.go; fields can
be compared with ``=``, ``==`` and ``!=`` only, and only those that a kind publishes (its strategy's ``fields``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from drakit_api.gostrings import quote
from drakit_api.validation import formats
from drakit_embedded.apiserver.statuses import bad_request

Requirement = Callable[[Mapping[str, str]], bool]
_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_OPERATORS = ("in", "notin", "=", "==", "!=", ">", "<")
_OPERATOR_NAMES = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = ("=", "==", "!=", "!", "(", ")", ",", "<", ">")


@lru_cache(maxsize=256)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Requirements that must all hold; raises 400 in the parser's words."""
    return tuple(_Parser(text).requirements())


class _Parser:
    """Recursive descent over the tokens of one label selector."""

    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text)]
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self._peek():
            found.append(self._requirement())
            separator = self._next()
            if not separator:
                break
            if separator != ",":
                raise _unparsable(f"found '{separator}', expected: ',' or 'end of string'")
            if not self._peek() or self._peek() == ",":
                raise _unparsable(f"found '{self._peek()}', expected: identifier after ','")
        return found

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._next()
        if not key or key in _SYMBOLS:
            raise _unparsable(f"found '{key}', expected: identifier")
        if problems := formats.label_key(key):
            raise bad_request(f"unable to parse requirement: <nil>: Invalid value: {quote(key)}: {'; '.join(problems)}")
        if negated:
            return lambda labels: key not in labels
        if self._peek() in ("", ","):
            return lambda labels: key in labels
        return self._comparison(key)

    def _comparison(self, key: str) -> Requirement:
        operator = self._next()
        if operator not in _OPERATORS:
            raise _unparsable(f"found '{operator}', expected: {_OPERATOR_NAMES}")
        if operator in ("in", "notin"):
            values = self._values()
            _check_values(key, values)
            if operator == "in":
                return lambda labels: labels.get(key) in values
            return lambda labels: labels.get(key) not in values
        value = self._value()
        _check_values(key, [value])
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        if operator in ("<", ">"):
            return _numeric(key, operator, value)
        return lambda labels: labels.get(key) == value

    def _value(self) -> str:
        token = self._peek()
        if token in ("", ","):
            return ""
        if token in _SYMBOLS:
            raise _unparsable(f"found '{token}', expected: identifier")
        return self._next()

    def _values(self) -> frozenset[str]:
        found = self._next()
        if found != "(":
            raise _unparsable(f"found '{found}', expected: '('")
        if (first := self._peek()) == "" or (first in _SYMBOLS and first not in (",", ")")):
            raise _unparsable(f"found '{first}', expected: ',', ')' or identifier")
        values = {self._value()}
        while (found := self._next()) == ",":
            values.add("" if self._peek() == ")" else self._value())
        if found != ")":
            raise _unparsable(f"found '{found}', expected: ',' or ')'")
        return frozenset(values)


def _unparsable(why: str) -> Exception:
    return bad_request(f"unable to parse requirement: {why}")


def _check_values(key: str, values: Collection[str]) -> None:
    for index, value in enumerate(sorted(values)):
        if problems := formats.label_value(value):
            why = f"Invalid value: {quote(value)}: {'; '.join(problems)}"
            raise bad_request(f"unable to parse requirement: values[{index}][{key}]: {why}")


def _numeric(key: str, operator: str, value: str) -> Requirement:
    try:
        bound = int(value)
    except ValueError:
        raise bad_request(
            f"unable to parse requirement: values[0]: Invalid value: {quote(value)}: "
            "for 'Gt', 'Lt' operators, the value must be an integer"
        ) from None

    def holds(labels: Mapping[str, str]) -> bool:
        try:
            number = int(labels[key])
        except (KeyError, ValueError):
            return False
        return number > bound if operator == ">" else number < bound

    return holds


def parse_fields(text: str, known: Collection[str], kind: str, api_version: str) -> tuple[Requirement, ...]:
    """Requirements on the fields of a kind; raises 400 for one that it does not publish."""
    return _parse_fields(text, tuple(known), kind, api_version)


@lru_cache(maxsize=256)
def _parse_fields(text: str, known: tuple[str, ...], kind: str, api_version: str) -> tuple[Requirement, ...]:
    found: list[Requirement] = []
    for term in re.split(r"(?<!\\),", text):
        if not term:
            continue
        match = re.fullmatch(r"(.*?)(!=|==|=)(.*)", term, re.DOTALL)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        name, operator, value = match.groups()
        if name not in known:
            raise _unknown_field(name, known, kind, api_version)
        found.append(_field(name, operator, re.sub(r"\\([\\,=])", r"\1", value)))
    return tuple(found)


def _field(name: str, operator: str, value: str) -> Requirement:
    if operator == "!=":
        return lambda fields: fields.get(name, "") != value
    return lambda fields: fields.get(name, "") == value


def _unknown_field(name: str, known: tuple[str, ...], kind: str, api_version: str) -> Exception:
    if set(known) <= {"metadata.name", "metadata.namespace"}:
        # The default conversion, which kinds without fields of their own use.
        why = 'only "metadata.name", "metadata.namespace"'
        return bad_request(f"{quote(name)} is not a known field selector: {why}")
    if "/" not in api_version:
        return bad_request(f"field label not supported: {name}")
    return bad_request(f"field label not supported for {api_version}, Kind={kind}: {name}")
