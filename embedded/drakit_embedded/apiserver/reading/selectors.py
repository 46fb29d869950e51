"""Label selectors, parsed once per request into predicates over stored records.

Grammar, order of the checks and error texts are those of k8s.io/apimachinery/pkg/labels/selector.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from drakit_api import formats
from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import int64
from drakit_embedded.apiserver.statuses import bad_request

Requirement = Callable[[Mapping[str, str]], bool]
_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+)")
_OPERATORS = ("in", "notin", "=", "==", "!=", ">", "<")
_OPERATOR_NAMES = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = frozenset(("=", "==", "!=", "!", "(", ")", ",", "<", ">"))


@lru_cache(maxsize=256)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Parse a label selector into requirements that must all hold.

    Raises:
        StatusError: 400 in the words of Kubernetes' parser.
    """
    return tuple(_Parser(text).requirements())


class _Unparsable(ValueError):
    """A malformed requirement; the message says what is wrong."""


class _Parser:
    """Recursive descent parser of one label selector; the empty token is its end."""

    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text.partition("\0")[0])]
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def requirements(self) -> Iterable[Requirement]:
        while found := self._peek():
            if found in _SYMBOLS and found != "!":
                raise bad_request(f"found '{found}', expected: !, identifier, or 'end of string'")
            try:
                yield self._requirement()
            except _Unparsable as error:
                raise bad_request(f"unable to parse requirement: {error}") from None
            separator = self._next()
            if not separator:
                return
            if separator != ",":
                raise bad_request(f"found '{separator}', expected: ',' or 'end of string'")
            following = self._peek()
            if not following or (following in _SYMBOLS and following != "!"):
                raise bad_request(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._next()
        if not key or key in _SYMBOLS:
            raise _Unparsable(f"found '{key}', expected: identifier")
        if problems := formats.label_key(key):
            raise _Unparsable(f"<nil>: Invalid value: {quote(key)}: {'; '.join(problems)}")
        if negated:
            return lambda labels: key not in labels
        if self._peek() in ("", ","):
            return lambda labels: key in labels
        return self._comparison(key)

    def _comparison(self, key: str) -> Requirement:
        operator = self._next()
        if operator not in _OPERATORS:
            raise _Unparsable(f"found '{operator}', expected: {_OPERATOR_NAMES}")
        if operator in ("in", "notin"):
            values = self._values()
            _check(key, values)
            if operator == "in":
                return lambda labels: labels.get(key) in values
            return lambda labels: labels.get(key) not in values
        value = self._value()
        _check(key, [value], numeric=operator in ("<", ">"))
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        if operator in ("<", ">"):
            return _numeric(key, operator, int(value))
        return lambda labels: labels.get(key) == value

    def _value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        token = self._next()
        if token in _SYMBOLS:
            raise _Unparsable(f"found '{token}', expected: identifier")
        return token

    def _values(self) -> frozenset[str]:
        found = self._next()
        if found != "(":
            raise _Unparsable(f"found '{found}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return frozenset(("",))
        if not first or (first in _SYMBOLS and first != ","):
            raise _Unparsable(f"found '{first}', expected: ',', ')' or identifier")
        values = self._listed()
        self._next()
        return frozenset(values)

    def _listed(self) -> set[str]:
        """Parse identifiers, possibly empty ones, up to the closing parenthesis."""
        values: set[str] = set()
        while True:
            found = self._next()
            following = self._peek()
            if found == ",":
                if not values or following in (",", ")"):
                    values.add("")
                if following == ")":
                    return values
            elif not found or found in _SYMBOLS:
                raise _Unparsable(f"found '{found}', expected: ',', or identifier")
            else:
                values.add(found)
                if following == ")":
                    return values
                if following != ",":
                    raise _Unparsable(f"found '{following}', expected: ',' or ')'")


def _check(key: str, values: Iterable[str], *, numeric: bool = False) -> None:
    """Check the values of a requirement (NewRequirement)."""
    faults = []
    for index, value in enumerate(sorted(values)):
        shown = f"Invalid value: {quote(value)}"
        if numeric and int64(value) is None:
            faults.append(f"values[{index}]: {shown}: for 'Gt', 'Lt' operators, the value must be an integer")
        if problems := formats.label_value(value):
            faults.append(f"values[{index}][{key}]: {shown}: {'; '.join(problems)}")
    if faults:
        raise _Unparsable(aggregated(faults))


def _numeric(key: str, operator: str, bound: int) -> Requirement:
    def holds(labels: Mapping[str, str]) -> bool:
        label = int64(labels.get(key, ""))
        return label is not None and (label > bound if operator == ">" else label < bound)

    return holds
