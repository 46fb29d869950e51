"""Bounds and factors of numbers.

Whole numbers are compared with bounds that have been cut to whole ones, others as they are. Source:
``k8s.io/kube-openapi`` ``pkg/validation/validate/{validator,values}.go`` (``numberValidator``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from drakit_api.golang.gofloats import general
from drakit_api.structural.faults import Fault, bad, stated, unplaced

_INT64 = range(-(2**63), 2**63)
_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}
_BITS = {"int32": 32, "int64": 64}
_MAX_FLOAT = 3.4028235677973366e38  # from here on, a number is rounded to infinity in 32 bits
# A whole number of JSON, as ``github.com/go-openapi/swag`` sees it.
_MOST_EXACT = 2.0**53 - 1
_NEAR = 1e-9


def is_whole(value: float) -> bool:
    """Tell whether a number is whole, or so near to it that it may be the fault of arithmetic."""
    if not abs(value) <= _MOST_EXACT:
        return False
    rounded = math.copysign(math.floor(abs(value) + 0.5), value)
    return value == rounded or (rounded != 0 and abs(value - rounded) < _NEAR * abs(rounded))


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a schema says of numbers. ``type`` and ``format`` are empty where it does not say which there may be."""

    type: str
    format: str
    multiple_of: float | None
    maximum: float | None
    minimum: float | None
    exclusive_maximum: bool
    exclusive_minimum: bool

    def faults(self, path: str, value: float) -> Iterator[Fault]:
        """Complain of a number: its range, then factor, minimum and maximum."""
        yield from self._misfit(path, value, "Checked")
        if self.multiple_of is not None:
            yield from self._factor(path, value, self.multiple_of)
        if self.minimum is not None:
            yield from self._least(path, value, self.minimum)
        if self.maximum is not None:
            yield from self._most(path, value, self.maximum)

    def test_of_integers(self) -> Callable[[int], bool]:
        """Make a quick test of whole numbers of 64 bits."""
        limits = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if self.multiple_of is not None or any(next(self._misfit("", bound, ""), None) for bound in limits):
            return lambda value: value in _INT64 and next(self.faults("", value), None) is None
        bits = _BITS.get(self.format, 64) if self.type == "integer" else 64
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        if self.minimum is not None:
            low = max(low, _cut(self.minimum) + self.exclusive_minimum)
        if self.maximum is not None:
            high = min(high, _cut(self.maximum) - self.exclusive_maximum)
        return lambda value: low <= value <= high

    def _misfit(self, path: str, value: float, what: str) -> Iterator[Fault]:
        """Complain of a number, or bound, that the type has no room for."""
        if self.type == "integer":
            bits = _BITS.get(self.format, 64)
            fits = float(value).is_integer() and -(2 ** (bits - 1)) <= _as_printed(value) < 2 ** (bits - 1)
        else:
            fits = self.format != "float" or abs(value) < _MAX_FLOAT
        if not fits:
            form = f"with format {self.format}" if self.format else "(default format)"
            yield unplaced(f"{what} value must be of type {self.type} {form} in {path}")

    def _factor(self, path: str, value: float, factor: float) -> Iterator[Fault]:
        misfit = list(self._misfit(path, factor, "MultipleOf"))
        yield from misfit
        if isinstance(value, int) and not misfit:
            factor = _cut(factor)
        else:
            value = float(value)
        if factor <= 0:
            yield stated(path, factor, f"factor MultipleOf declared for {path} must be positive: {_text(factor)}")
        elif not _is_multiple(value, factor):
            yield bad(path, value, f"should be a multiple of {_text(factor)}")

    def _least(self, path: str, value: float, minimum: float) -> Iterator[Fault]:
        value, minimum, misfit = self._comparable(path, value, minimum, "Minimum boundary")
        yield from misfit
        if value < minimum or (self.exclusive_minimum and value == minimum):
            relation = "greater than" if self.exclusive_minimum else "greater than or equal to"
            yield bad(path, value, f"should be {relation} {_text(minimum)}")

    def _most(self, path: str, value: float, maximum: float) -> Iterator[Fault]:
        value, maximum, misfit = self._comparable(path, value, maximum, "Maximum boundary")
        yield from misfit
        if value > maximum or (self.exclusive_maximum and value == maximum):
            relation = "less than" if self.exclusive_maximum else "less than or equal to"
            yield bad(path, value, f"should be {relation} {_text(maximum)}")

    def _comparable(self, path: str, value: float, bound: float, what: str) -> tuple[float, float, list[Fault]]:
        """Return a number and a bound as they are compared, and the complaint about the bound."""
        misfit = list(self._misfit(path, bound, what))
        if isinstance(value, int) and not misfit:
            return value, _cut(bound), misfit
        return float(value), bound, misfit


def bounds(source: Mapping[str, Any], types: tuple[str, ...], form: str) -> Bounds:
    """Read what a schema says of numbers; ``form`` is its format."""
    only = types[0] if len(types) == 1 and types[0] in _FORMATS else ""
    return Bounds(
        type=only,
        format=form if form in _FORMATS.get(only, ()) else "",
        multiple_of=_number(source.get("multipleOf")),
        maximum=_number(source.get("maximum")),
        minimum=_number(source.get("minimum")),
        exclusive_maximum=bool(source.get("exclusiveMaximum")),
        exclusive_minimum=bool(source.get("exclusiveMinimum")),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _cut(bound: float) -> int:
    """Cut a bound to a whole number of 64 bits, as Go converts it on amd64."""
    whole = int(bound)
    return whole if whole in _INT64 else _INT64.start


def _as_printed(value: float) -> float:
    """Return a number as Go reads it again after having printed it with as few digits as tell it from others."""
    return value if isinstance(value, int) else int(Decimal(repr(value)))


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int):
        return value % factor == 0
    return is_whole(1 / factor * value if factor < 1 else value / factor)


def _text(number: float) -> str:
    return general(number) if isinstance(number, float) else str(number)
