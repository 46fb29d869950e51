"""Kubernetes' functions on lists (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/lists.go``)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import operators
from drakit_api.cel.values.declarations import Overload, overload
from drakit_api.cel.values.equality import is_equal
from drakit_api.cel.values.values import LISTS, Duration, Uint, no_such_overload

COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZERO: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_ADD: dict[str, Callable[[Any, Any], Any]] = {
    "int": lambda total, element: operators.integer(total + element),
    "uint": lambda total, element: operators.unsigned(int(total) + int(element)),
    "double": lambda total, element: total + element,
    "duration": lambda total, element: operators.duration(total.nanoseconds + element.nanoseconds),
}


def _is_sorted(elements: list[Any]) -> bool:
    return not any(order_of(previous, element) > 0 for previous, element in itertools.pairwise(_ordered(elements)))


def order_of(left: Any, right: Any) -> int:
    """Compare two elements: -1, 0 or 1. Upstream takes those that cannot be compared for equal."""
    try:
        return operators.compare(left, right)
    except CelRuntimeError:
        return 0


def _ordered(elements: Iterable[Any]) -> Iterator[Any]:
    """Yield the elements; fail at one whose type has no order."""
    for element in elements:
        if not operators.is_ordered(element):
            raise no_such_overload()
        yield element


def _extreme(name: str, sign: int) -> Callable[[list[Any]], Any]:
    def extreme(elements: list[Any]) -> Any:
        if not elements:
            raise CelRuntimeError(f"{name} called on empty list")
        return functools.reduce(lambda best, one: one if order_of(best, one) == -sign else best, _ordered(elements))

    return extreme


def _sum(kind: str) -> Callable[[list[Any]], Any]:
    zero, add = _ZERO[kind], _ADD[kind]

    def total(elements: list[Any]) -> Any:
        result = zero
        for element in elements:
            if type(element) is not type(zero):
                raise no_such_overload()
            result = add(result, element)
        return result

    return total


def _index_of(elements: list[Any], wanted: Any) -> int:
    return next((index for index, element in enumerate(elements) if is_equal(element, wanted)), -1)


def _last_index_of(elements: list[Any], wanted: Any) -> int:
    places = range(len(elements) - 1, -1, -1)
    return next((index for index in places if is_equal(elements[index], wanted)), -1)


def _includes(target: Any, wanted: Any) -> bool:
    """Tell whether a list has the element or a scalar equals it: attributes may be either."""
    if type(target) in LISTS:
        return any(is_equal(element, wanted) for element in target)
    return is_equal(target, wanted)


def _by_type(name: str, kinds: tuple[str, ...], result: str, make: Callable[[str], Any]) -> list[Overload]:
    return [overload(f"list<{kind}>.{name}() -> {result or kind}", make(kind)) for kind in kinds]


FUNCTIONS = [
    *_by_type("isSorted", COMPARABLE, "bool", lambda _: _is_sorted),
    *_by_type("sum", tuple(_ZERO), "", _sum),
    *_by_type("max", COMPARABLE, "", lambda _: _extreme("max", 1)),
    *_by_type("min", COMPARABLE, "", lambda _: _extreme("min", -1)),
    overload("list<A>.indexOf(A) -> int", _index_of),
    overload("list<A>.lastIndexOf(A) -> int", _last_index_of),
]

INCLUDES = [overload("dyn.includes(dyn) -> bool", _includes)]
