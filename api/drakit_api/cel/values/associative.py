"""Lists that are sets, or maps by the values of keys: their equality and their ``+`` do not look at the order.

Source: ``k8s.io/apiserver`` v0.37 ``pkg/cel/common/valuesunstructured.go`` and ``valuesreflect.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import budget
from drakit_api.cel.values.values import LISTS, MAPS, Associative

Equality = Callable[[Any, Any], bool]


def equal(left: Associative, right: Sequence[Any], same: Equality) -> bool:
    """Evaluate ``left == right`` for lists of the same size; ``same`` compares two elements."""
    budget.spend_list(left)
    elements = {_mark(element, left.keys): element for element in left}
    seen = set()
    for element in right:
        mark = _mark(element, left.keys)
        if mark not in elements or (left.keys and not same(elements[mark], element)):
            return False
        seen.add(mark)
    return len(seen) == len(elements)


def union(left: Associative, right: Sequence[Any]) -> Associative:
    """Evaluate ``left + right``: what is in both keeps its place, and has the value that is on the right."""
    budget.spend(budget.OBJECT * (len(left) + len(right)))
    result = list(left)
    places = {_mark(element, left.keys): place for place, element in enumerate(result)}
    for element in right:
        place = places.setdefault(_mark(element, left.keys), len(result))
        if place == len(result):
            result.append(element)
        elif left.keys:
            result[place] = element
    return Associative(result, left.keys)


def _mark(element: Any, keys: tuple[str, ...]) -> Hashable:
    if keys:
        return tuple(_scalar(_found(element, key)) for key in keys)
    if type(element) in LISTS or type(element) in MAPS:
        raise CelRuntimeError("listSet operations are only supported on lists of scalar values")
    return _scalar(element)


def _found(element: Any, key: str) -> Any:
    """Return what an object has under a key; ``get`` does not make what a lazy one has."""
    try:
        return element[key] if type(element) in MAPS else None
    except KeyError:
        return None


def _scalar(value: Any) -> Hashable:
    if type(value) in LISTS or type(value) in MAPS:
        return None
    return type(value), value
