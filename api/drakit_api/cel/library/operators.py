"""Operators: 64-bit arithmetic with overflow errors, order across number types, membership, indexing.

Semantics and messages are those of cel-go v0.29 ``common/types`` and ``common/stdlib``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from drakit_api.cel.declarations import Overload, overload
from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    MAPS,
    NONE,
    NUMBERS,
    UINT_MAX,
    Duration,
    Optional,
    Timestamp,
    Uint,
    equal,
    map_key,
    no_such_overload,
    type_name,
)

_ORDERED = frozenset({bool, str, bytes, Timestamp, Duration})
# 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z in seconds
_TIME_MIN, _TIME_MAX = -62135596800, 253402300799


def integer(value: int) -> int:
    """The value, or the error for one that does not fit into 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelRuntimeError("integer overflow")


def unsigned(value: int) -> Uint:
    """The value as uint, or the error for one that does not fit."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelRuntimeError("unsigned integer overflow")


def duration(nanoseconds: int) -> Duration:
    """A duration, or the error for one that does not fit."""
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise CelRuntimeError("duration overflow")


def timestamp(nanoseconds: int) -> Timestamp:
    """A moment, or the error for one outside of the years 1 to 9999."""
    if _TIME_MIN <= nanoseconds // 10**9 <= _TIME_MAX:
        return Timestamp(nanoseconds)
    raise CelRuntimeError("timestamp overflow")


def _truncated(left: int, right: int) -> int:
    """Division that rounds to zero, as Go does."""
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


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1. Numbers of different types compare by value."""
    kind, other = type(left), type(right)
    if not (kind in NUMBERS and other in NUMBERS) and not (kind is other and kind in _ORDERED):
        raise no_such_overload()
    if left != left or right != right:
        raise CelRuntimeError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def less(left: Any, right: Any) -> bool:
    """``<``."""
    return compare(left, right) < 0


def less_or_equal(left: Any, right: Any) -> bool:
    """``<=``."""
    return compare(left, right) <= 0


def greater(left: Any, right: Any) -> bool:
    """``>``."""
    return compare(left, right) > 0


def greater_or_equal(left: Any, right: Any) -> bool:
    """``>=``."""
    return compare(left, right) >= 0


def index(container: Any, key: Any) -> Any:
    """``container[key]``."""
    kind = type(container)
    if kind in MAPS:
        try:
            return container[map_key(key)]
        except KeyError:
            raise no_such_key(key) from None
    if kind in LISTS:
        return _element(container, key)
    if kind is Optional:
        return find(container, key)
    raise no_such_key(key)


def find(container: Any, key: Any) -> Optional:
    """``container[?key]``, and ``container.?key``: absent where nothing can be found."""
    kind = type(container)
    if kind is Optional:
        return NONE if container is NONE else find(container.value, key)
    if kind in MAPS:
        try:
            return Optional(container[map_key(key)])
        except KeyError:
            return NONE
    if kind in LISTS:
        try:
            return Optional(_element(container, key))
        except CelRuntimeError:
            return NONE
    return NONE


def _element(container: list[Any], key: Any) -> Any:
    if type(key) not in NUMBERS:
        raise CelRuntimeError(f"unsupported index type '{type_name(key)}' in list")
    position = int(key) if key == key and abs(key) != math.inf else None
    if position is None or position != key:
        raise CelRuntimeError(f"unsupported index value {show(key)} in list")
    if not 0 <= position < len(container):
        raise CelRuntimeError(f"index out of bounds: {position}")
    return container[position]


def no_such_key(key: Any) -> CelRuntimeError:
    """The error for a missing key."""
    return CelRuntimeError(f"no such key: {show(key)}")


def show(value: Any) -> str:
    """A value in an error message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def contains(value: Any, container: Any) -> bool:
    """``value in container``."""
    kind = type(container)
    if kind in MAPS:
        return map_key(value) in container
    if kind in LISTS:
        return any(equal(value, element) for element in container)
    raise no_such_overload()


def _unequal(left: Any, right: Any) -> bool:
    return not equal(left, right)


def _negate(value: bool) -> bool:
    if type(value) is not bool:
        raise no_such_overload()
    return not value


_CHECKING = frozenset({less, less_or_equal, greater, greater_or_equal, index, contains, equal, _unequal, _negate})


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
    *_overloads("_!=_", ("(A, A) -> bool", _unequal)),
    *_overloads("_<_", *((signature, less) for signature in _ORDER)),
    *_overloads("_<=_", *((signature, less_or_equal) for signature in _ORDER)),
    *_overloads("_>_", *((signature, greater) for signature in _ORDER)),
    *_overloads("_>=_", *((signature, greater_or_equal) for signature in _ORDER)),
    *_overloads(
        "_+_",
        ("(bytes, bytes) -> bytes", lambda left, right: left + right),
        ("(double, double) -> double", lambda left, right: left + right),
        ("(duration, duration) -> duration", lambda left, right: duration(left.nanoseconds + right.nanoseconds)),
        ("(duration, timestamp) -> timestamp", lambda left, right: timestamp(left.nanoseconds + right.nanoseconds)),
        ("(timestamp, duration) -> timestamp", lambda left, right: timestamp(left.nanoseconds + right.nanoseconds)),
        ("(int, int) -> int", lambda left, right: integer(left + right)),
        ("(list<A>, list<A>) -> list<A>", lambda left, right: left + right),
        ("(string, string) -> string", lambda left, right: left + right),
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
