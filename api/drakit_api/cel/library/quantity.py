"""``quantity("10Gi")`` and what can be asked of one (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/quantity.go``)."""

from __future__ import annotations

from drakit_api.cel.errors import CelRuntimeError, succeeds
from drakit_api.cel.values.declarations import overload
from drakit_api.cel.values.values import INT_MAX, INT_MIN
from drakit_api.quantity import Quantity, QuantityError


def _parse(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise CelRuntimeError(str(error)) from None


def _is_integer(value: Quantity) -> bool:
    return value.is_integer and INT_MIN <= value.as_integer() <= INT_MAX


def _as_integer(value: Quantity) -> int:
    if not _is_integer(value):
        raise CelRuntimeError("cannot convert value to integer")
    return value.as_integer()


def _as_float(value: Quantity) -> float:
    try:
        return value.nanos / 10**9
    except OverflowError:
        return float("inf") if value.nanos > 0 else float("-inf")


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.nanos > right.nanos) - (left.nanos < right.nanos)


FUNCTIONS = [
    overload("quantity(string) -> Quantity", _parse),
    overload("isQuantity(string) -> bool", lambda text: succeeds(_parse, text)),
    overload("sign(Quantity) -> int", lambda value: (value.nanos > 0) - (value.nanos < 0)),
    overload("Quantity.isGreaterThan(Quantity) -> bool", lambda left, right: left.nanos > right.nanos),
    overload("Quantity.isLessThan(Quantity) -> bool", lambda left, right: left.nanos < right.nanos),
    overload("Quantity.compareTo(Quantity) -> int", _compare),
    overload("Quantity.asApproximateFloat() -> double", _as_float),
    overload("Quantity.asInteger() -> int", _as_integer),
    overload("Quantity.isInteger() -> bool", _is_integer),
    overload("Quantity.add(Quantity) -> Quantity", lambda left, right: left + right),
    overload("Quantity.add(int) -> Quantity", lambda left, right: left + Quantity.of(right)),
    overload("Quantity.sub(Quantity) -> Quantity", lambda left, right: left - right),
    overload("Quantity.sub(int) -> Quantity", lambda left, right: left - Quantity.of(right)),
]
