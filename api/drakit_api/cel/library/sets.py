"""cel-go's set functions on lists (``ext/sets.go``)."""

from __future__ import annotations

from typing import Any

from drakit_api.cel.library.operators import contains
from drakit_api.cel.values.declarations import overload


def _contains(elements: list[Any], others: list[Any]) -> bool:
    return all(contains(other, elements) for other in others)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(contains(element, right) for element in left)


FUNCTIONS = [
    overload("sets::contains(list<A>, list<A>) -> bool", _contains),
    overload("sets::equivalent(list<A>, list<A>) -> bool", _equivalent),
    overload("sets::intersects(list<A>, list<A>) -> bool", _intersects),
]
