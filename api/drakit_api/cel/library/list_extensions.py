"""cel-go's extended list functions, version 3 (``ext/lists.go``), and those that come with optionals."""

from __future__ import annotations

import functools
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import operators
from drakit_api.cel.library.lists import COMPARABLE, order_of
from drakit_api.cel.values import budget
from drakit_api.cel.values.declarations import overload
from drakit_api.cel.values.equality import is_equal
from drakit_api.cel.values.values import (
    LISTS,
    MAPS,
    NONE,
    Duration,
    Optional,
    Timestamp,
    no_such_overload,
    type_name,
)

_MAX_RANGE = 10_000_000


def _slice(elements: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelRuntimeError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelRuntimeError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(elements) < end:
        raise CelRuntimeError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    budget.spend(budget.PLACE * (end - start))
    return elements[start:end]


def _flatten(elements: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelRuntimeError("level must be non-negative")
    budget.spend_list(elements)
    result: list[Any] = []
    for element in elements:
        if depth and type(element) in LISTS:
            result.extend(_flatten(element, depth - 1))
        else:
            result.append(element)
    return result


def _flattened(elements: Any, depth: Any = 1) -> list[Any]:
    if type(elements) not in LISTS or type(depth) is not int:
        shown = "map(dyn, dyn)" if type(elements) in MAPS else type_name(elements)
        raise CelRuntimeError(f"no such overload: {shown}.flatten()")
    return _flatten(elements, depth)


def _sort(elements: Any) -> list[Any]:
    kind = type(elements)
    if kind not in LISTS:
        # Upstream asks values of these types about any function.
        raise no_such_overload("" if kind in (str, Timestamp, Duration) else "sort")
    return sort_by(elements, elements)


def sort_by(elements: list[Any], keys: list[Any]) -> list[Any]:
    """Sort the elements by their keys. Raises ``CelRuntimeError`` for keys of several types or without an order."""
    if not keys:
        return elements
    budget.spend(budget.OBJECT * len(keys))
    if any(type(key) is not type(keys[0]) for key in keys):
        raise CelRuntimeError("list elements must have the same type")
    if not operators.is_ordered(keys[0]):
        raise CelRuntimeError("list elements must be comparable")
    order = functools.cmp_to_key(order_of)
    return [elements[index] for index in sorted(range(len(keys)), key=lambda index: order(keys[index]))]


def _range(size: int) -> list[int]:
    if size < 0:
        raise CelRuntimeError(f"lists.range: size must be non-negative, got {size}")
    if size > _MAX_RANGE:
        raise CelRuntimeError(f"lists.range: size {size} exceeds maximum allowed ({_MAX_RANGE})")
    budget.spend(4 * budget.PLACE * size)
    return list(range(size))


def _reverse(elements: list[Any]) -> list[Any]:
    budget.spend(budget.PLACE * len(elements))
    return elements[::-1]


def _distinct(elements: list[Any]) -> list[Any]:
    budget.spend(budget.PLACE * len(elements))
    result: list[Any] = []
    for element in elements:
        if not any(is_equal(element, known) for known in result):
            result.append(element)
    return result


def _unwrap(elements: list[Any]) -> list[Any]:
    budget.spend_list(elements)
    for element in elements:
        if type(element) is not Optional:
            raise no_such_overload()
    return [element.value for element in elements if element is not NONE]


FUNCTIONS = [
    overload("list<A>.slice(int, int) -> list<A>", _slice),
    overload("list<list<A>>.flatten() -> list<A>", _flattened, checks_arguments=True),
    overload("list<dyn>.flatten(int) -> list<dyn>", _flattened, checks_arguments=True),
    *(overload(f"list<{kind}>.sort() -> list<{kind}>", _sort, checks_arguments=True) for kind in COMPARABLE),
    *(overload(f"list<A>.@sortByAssociatedKeys(list<{kind}>) -> list<A>", sort_by) for kind in COMPARABLE),
    overload("lists::range(int) -> list<int>", _range),
    overload("list<A>.reverse() -> list<A>", _reverse),
    overload("list<A>.distinct() -> list<A>", _distinct),
    overload("list<A>.first() -> optional<A>", lambda elements: Optional(elements[0]) if elements else NONE),
    overload("list<A>.last() -> optional<A>", lambda elements: Optional(elements[-1]) if elements else NONE),
    overload("optional::unwrap(list<optional<A>>) -> list<A>", _unwrap),
    overload("list<optional<A>>.unwrapOpt() -> list<A>", _unwrap),
]
