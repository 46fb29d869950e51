"""Optional values: ``.?``, ``[?]``, ``orValue`` and so on (cel-go v0.29 ``cel/library.go``)."""

from __future__ import annotations

from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import operators
from drakit_api.cel.values.declarations import overload
from drakit_api.cel.values.values import LISTS, MAPS, NONE, NUMBERS, Duration, Optional, Timestamp


def value(optional: Optional) -> Any:
    """Return the value inside an optional. Raises ``CelRuntimeError`` if there is none."""
    if optional is NONE:
        raise CelRuntimeError("optional.none() dereference")
    return optional.value


_YEAR_1 = Timestamp(-62135596800 * 10**9)
_CAN_BE_EMPTY = frozenset({type(None), bool, str, bytes, *NUMBERS, *LISTS, *MAPS})


def _of_non_zero(content: Any) -> Optional:
    empty = not content if type(content) in _CAN_BE_EMPTY else content in (_YEAR_1, Duration(0))
    return NONE if empty else Optional(content)


FUNCTIONS = [
    overload("optional::of(A) -> optional<A>", Optional),
    overload("optional::ofNonZeroValue(A) -> optional<A>", _of_non_zero),
    overload("optional::none() -> optional<A>", lambda: NONE),
    overload("optional<A>.value() -> A", value),
    overload("optional<A>.hasValue() -> bool", lambda optional: optional is not NONE),
    overload("optional<A>.or(optional<A>) -> optional<A>", lambda first, other: other if first is NONE else first),
    overload("optional<A>.orValue(A) -> A", lambda first, other: other if first is NONE else first.value),
    overload("_[?_](list<A>, int) -> optional<A>", operators.find, checks_arguments=True),
    overload("_[?_](optional<list<A>>, int) -> optional<A>", operators.find, checks_arguments=True),
    overload("_[?_](map<A, B>, A) -> optional<B>", operators.find, checks_arguments=True),
    overload("_[?_](optional<map<A, B>>, A) -> optional<B>", operators.find, checks_arguments=True),
    overload("_[_](optional<list<A>>, int) -> optional<A>", operators.index, checks_arguments=True),
    overload("_[_](optional<map<A, B>>, A) -> optional<B>", operators.index, checks_arguments=True),
]
