"""Operators: 64-bit arithmetic with overflow errors, order across number types, membership, indexing.

Semantics and messages are those of cel-go v0.29 ``common/types`` and ``common/stdlib``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library.shown import show
from drakit_api.cel.values import associative, budget
from drakit_api.cel.values.declarations import Overload, overload
from drakit_api.cel.values.equality import equal, is_equal, is_unequal
from drakit_api.cel.values.keys import MISSING, has_key, lookup
from drakit_api.cel.values.values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    MAPS,
    NONE,
    NUMBERS,
    UINT_MAX,
    Associative,
    Concatenated,
    Duration,
    Optional,
    Timestamp,
    Uint,
    go_type,
    no_such_overload,
    same_kind,
    type_name,
)

_ORDERED = frozenset({bool, str, bytes, Timestamp, Duration})
_KEYS = frozenset({bool, str, *NUMBERS})
# 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z in seconds
_TIME_MIN, _TIME_MAX = -62135596800, 253402300799


def integer(value: int) -> int:
    """Return the value. Raises ``CelRuntimeError`` if it does not fit into 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelRuntimeError("integer overflow")


def unsigned(value: int) -> Uint:
    """Return the value as uint. Raises ``CelRuntimeError`` if it does not fit into 64 bits."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelRuntimeError("unsigned integer overflow")


def duration(nanoseconds: int) -> Duration:
    """Make a duration. Raises ``CelRuntimeError`` if the nanoseconds do not fit into 64 bits."""
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise CelRuntimeError("integer overflow")


def timestamp(nanoseconds: int) -> Timestamp:
    """Make a timestamp. Raises ``CelRuntimeError`` outside of the years 1 to 9999."""
    if _TIME_MIN <= nanoseconds // 10**9 <= _TIME_MAX:
        return Timestamp(nanoseconds)
    raise CelRuntimeError("timestamp overflow")


def _truncated(left: int, right: int) -> int:
    """Divide and round to zero, as Go does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise CelRuntimeError("division by zero")
    return integer(_truncated(left, right))


def _divide_unsigned(left: int, right: int) -> Uint:
    if right == 0:
        raise CelRuntimeError("division by zero")
    return Uint(int(left) // int(right))


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise CelRuntimeError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise CelRuntimeError("integer overflow")
    return left - right * _truncated(left, right)


def _modulo_unsigned(left: int, right: int) -> Uint:
    if right == 0:
        raise CelRuntimeError("modulus by zero")
    return Uint(int(left) % int(right))


def is_ordered(value: Any) -> bool:
    """Tell whether values of this type have an order."""
    return type(value) in NUMBERS or type(value) in _ORDERED


def compare(left: Any, right: Any, function: str = "") -> int:
    """Return -1, 0 or 1. Numbers of different types compare by value. Errors name the ``function`` if it is given."""
    kind, other = type(left), type(right)
    if not (kind in NUMBERS and other in NUMBERS) and not (kind is other and kind in _ORDERED):
        raise no_such_overload("" if is_ordered(left) else function)
    if kind is not other:
        left, right = same_kind(left, right)
    if left != left or right != right:
        raise CelRuntimeError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def less(left: Any, right: Any) -> bool:
    """Evaluate ``left < right``."""
    return compare(left, right, "_<_") < 0


def less_or_equal(left: Any, right: Any) -> bool:
    """Evaluate ``left <= right``."""
    return compare(left, right, "_<=_") <= 0


def greater(left: Any, right: Any) -> bool:
    """Evaluate ``left > right``."""
    return compare(left, right, "_>_") > 0


def greater_or_equal(left: Any, right: Any) -> bool:
    """Evaluate ``left >= right``."""
    return compare(left, right, "_>=_") >= 0


def check_key(key: Any) -> None:
    """Raise for what cannot be between the brackets, whatever is before them."""
    if type(key) not in _KEYS:
        raise CelRuntimeError(f"invalid qualifier type: {go_type(key)}")


def index(container: Any, key: Any) -> Any:
    """Evaluate ``container[key]``."""
    kind = type(container)
    check_key(key)
    if kind in MAPS:
        found = lookup(container, key)
        if found is MISSING:
            raise no_such_key(key)
        return found
    if kind in LISTS:
        position = _position(key)
        if not 0 <= position < len(container):
            raise CelRuntimeError(f"index out of bounds: {position}")
        return container[position]
    if kind is Optional:
        return find(container, key)
    raise no_such_key(key)


def find(container: Any, key: Any) -> Optional:
    """Evaluate ``container[?key]`` or ``container.?key``: absent where nothing can be found."""
    kind = type(container)
    if kind is Optional:
        return NONE if container is NONE else find(container.value, key)
    check_key(key)
    if kind in MAPS:
        found = lookup(container, key)
        return NONE if found is MISSING else Optional(found)
    if kind in LISTS:
        position = _position(key)
        return Optional(container[position]) if 0 <= position < len(container) else NONE
    return NONE


def _position(key: Any) -> int:
    if type(key) not in NUMBERS:
        raise CelRuntimeError(f"unsupported index type '{type_name(key)}' in list")
    position = int(key) if key == key and abs(key) != math.inf else None
    if position is None or position != key or not INT_MIN <= position <= INT_MAX:
        raise CelRuntimeError(f"unsupported index value {show(key)} in list")
    return position


def no_such_key(key: Any) -> CelRuntimeError:
    """Make the error for a missing key."""
    return CelRuntimeError(f"no such key: {show(key)}")


def contains(value: Any, container: Any) -> bool:
    """Evaluate ``value in container``."""
    kind = type(container)
    if kind in MAPS:
        return has_key(container, value)
    if kind in LISTS:
        return any(is_equal(value, element) for element in container)
    raise no_such_overload()


def _negate(value: bool) -> bool:
    if type(value) is not bool:
        raise no_such_overload()
    return not value


def _concatenate(left: Sequence[Any], right: Sequence[Any]) -> Sequence[Any]:
    if type(left) is Associative:
        return associative.union(left, right)
    return Concatenated(left, right) if left and right else left or right


def _add_texts(left: str, right: str) -> str:
    budget.spend_text(len(left) + len(right), left, right)
    return left + right


def _add_bytes(left: bytes, right: bytes) -> bytes:
    budget.spend(len(left) + len(right))
    return left + right


_CHECKING = frozenset({less, less_or_equal, greater, greater_or_equal, index, contains, equal, is_unequal, _negate})


def _overloads(operator: str, *variants: tuple[str, Callable[..., Any]]) -> list[Overload]:
    return [
        overload(f"{operator}{signature}", function, style="plain", checks_arguments=function in _CHECKING)
        for signature, function in variants
    ]


_ORDER = [
    *(f"({t}, {t}) -> bool" for t in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")),
    *(f"({a}, {b}) -> bool" for a in ("int", "uint", "double") for b in ("int", "uint", "double") if a != b),
]

FUNCTIONS = [
    *_overloads("_?_:_", ("(bool, A, A) -> A", lambda condition, yes, no: yes if condition else no)),
    *_overloads("_&&_", ("(bool, bool) -> bool", lambda left, right: left and right)),
    *_overloads("_||_", ("(bool, bool) -> bool", lambda left, right: left or right)),
    *_overloads("!_", ("(bool) -> bool", _negate)),
    *_overloads("_==_", ("(A, A) -> bool", equal)),
    *_overloads("_!=_", ("(A, A) -> bool", is_unequal)),
    *_overloads("_<_", *((signature, less) for signature in _ORDER)),
    *_overloads("_<=_", *((signature, less_or_equal) for signature in _ORDER)),
    *_overloads("_>_", *((signature, greater) for signature in _ORDER)),
    *_overloads("_>=_", *((signature, greater_or_equal) for signature in _ORDER)),
    *_overloads(
        "_+_",
        ("(bytes, bytes) -> bytes", _add_bytes),
        ("(double, double) -> double", lambda left, right: left + right),
        ("(duration, duration) -> duration", lambda left, right: duration(left.nanoseconds + right.nanoseconds)),
        ("(duration, timestamp) -> timestamp", lambda left, right: timestamp(left.nanoseconds + right.nanoseconds)),
        ("(timestamp, duration) -> timestamp", lambda left, right: timestamp(left.nanoseconds + right.nanoseconds)),
        ("(int, int) -> int", lambda left, right: integer(left + right)),
        ("(list<A>, list<A>) -> list<A>", _concatenate),
        ("(string, string) -> string", _add_texts),
        ("(uint, uint) -> uint", lambda left, right: unsigned(int(left) + int(right))),
    ),
    *_overloads(
        "_-_",
        ("(double, double) -> double", lambda left, right: left - right),
        ("(duration, duration) -> duration", lambda left, right: duration(left.nanoseconds - right.nanoseconds)),
        ("(int, int) -> int", lambda left, right: integer(left - right)),
        ("(timestamp, duration) -> timestamp", lambda left, right: timestamp(left.nanoseconds - right.nanoseconds)),
        ("(timestamp, timestamp) -> duration", lambda left, right: duration(left.nanoseconds - right.nanoseconds)),
        ("(uint, uint) -> uint", lambda left, right: unsigned(int(left) - int(right))),
    ),
    *_overloads(
        "_*_",
        ("(double, double) -> double", lambda left, right: left * right),
        ("(int, int) -> int", lambda left, right: integer(left * right)),
        ("(uint, uint) -> uint", lambda left, right: unsigned(int(left) * int(right))),
    ),
    *_overloads(
        "_/_",
        ("(double, double) -> double", _divide_doubles),
        ("(int, int) -> int", _divide),
        ("(uint, uint) -> uint", _divide_unsigned),
    ),
    *_overloads("_%_", ("(int, int) -> int", _modulo), ("(uint, uint) -> uint", _modulo_unsigned)),
    *_overloads("-_", ("(double) -> double", lambda value: -value), ("(int) -> int", lambda value: integer(-value))),
    *_overloads("_[_]", ("(list<A>, int) -> A", index), ("(map<A, B>, A) -> B", index)),
    *_overloads("@in", ("(A, list<A>) -> bool", contains), ("(A, map<A, B>) -> bool", contains)),
]
