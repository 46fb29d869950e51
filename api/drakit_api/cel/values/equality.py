"""When two values are equal, and what becomes of comparisons that fail.

Quantities, versions, addresses, URLs and formats refuse to be compared with another type (``k8s.io/apiserver`` v0.37
``pkg/cel``). Only ``==`` itself passes that on: all else in cel-go v0.29 asks either whether values certainly are equal
(``interpreter/interpretable.go`` ``evalNe``, ``Contains``) or whether they certainly are not (elements in
``common/types/list.go`` and ``map.go``).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import associative, budget
from drakit_api.cel.values.keys import MISSING, lookup, map_keys
from drakit_api.cel.values.values import (
    LISTS,
    MAPS,
    NONE,
    NUMBERS,
    STRICT,
    Associative,
    Concatenated,
    Lazy,
    Optional,
    Struct,
    no_such_overload,
    same_kind,
)


def equal(left: Any, right: Any) -> bool:
    """Evaluate ``==``: numbers by value across types, everything else only within its type."""
    if left is None or right is None:
        return left is right
    return _equal(left, right)


def is_unequal(left: Any, right: Any) -> bool:
    """Evaluate ``!=``: whatever is not equal for sure."""
    try:
        return not equal(left, right)
    except CelRuntimeError:
        return True


def is_equal(left: Any, right: Any) -> bool:
    """Tell whether two values are equal for sure, as ``in`` and functions on lists ask about elements."""
    try:
        return _elements_equal(left, right)
    except CelRuntimeError:
        return False


def _may_be_equal(left: Any, right: Any) -> bool:
    """Compare elements of two lists or maps; those that cannot be compared count as equal."""
    try:
        return _elements_equal(left, right)
    except CelRuntimeError:
        return True


def _elements_equal(left: Any, right: Any) -> bool:
    """Evaluate ``==`` for parts of other values. Its size is in no price, and is charged to the budget."""
    kind = type(left)
    if kind in LISTS:
        budget.spend_list(left)
    elif kind in MAPS:
        budget.spend(budget.OBJECT * (1 + len(left)))
    return equal(left, right)


def _equal(left: Any, right: Any) -> bool:
    kind, other = type(left), type(right)
    if kind in NUMBERS:
        return other in NUMBERS and (left == right if kind is other else operator.eq(*same_kind(left, right)))
    if kind in LISTS:
        return other in LISTS and _equal_lists(left, right)
    if kind in MAPS:
        return other in MAPS and _equal_objects(left, right)
    if kind is not other:
        if kind in STRICT:
            raise no_such_overload()
        return False
    if kind is Optional:
        if left is NONE or right is NONE:
            return left is right
        return _equal(left.value, right.value)
    return bool(left == right)


def _equal_lists(left: Sequence[Any], right: Sequence[Any]) -> bool:
    if len(left) != len(right):
        return False
    if type(left) is Concatenated:
        return _equal_concatenated(left, right)
    if type(left) is Associative:
        return associative.equal(left, right, _elements_equal)
    return all(map(_may_be_equal, left, right))


def _equal_concatenated(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Compare sums of lists: unlike in other lists, an element that cannot be compared is an error."""
    failure: CelRuntimeError | None = None
    for one, other in zip(left, right, strict=True):
        try:
            if not _elements_equal(one, other):
                return False
        except CelRuntimeError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return True


def _equal_objects(left: Any, right: Any) -> bool:
    if type(left) is Lazy:
        return left.level.equal(left, right)
    if type(left) is Struct and (type(right) is not Struct or left.name != right.name):
        return False
    return _equal_maps(left, right)


def _equal_maps(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    for key, value in zip(map_keys(left), left.values(), strict=True):
        other = lookup(right, key)
        if other is MISSING or not _may_be_equal(value, other):
            return False
    return True
