"""Ranges of sizes and costs, and what is known about the size of a device's parts before there is one.

Both are pairs of a least and a greatest value in 64 bits that saturate, as in cel-go v0.29 ``checker/cost.go``. The
limits of a device are those of ``k8s.io/api`` v0.37 ``resource/v1/types.go``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

MAX = 2**64 - 1
TRAVERSAL = 0.1  # cost of one character or byte that is looked at
PATTERN = 0.25  # cost of one character of a regular expression
LIST_BASE = 10
MAP_BASE = 30


class Range(NamedTuple):
    """From least to greatest."""

    least: int
    greatest: int

    def plus(self, other: Range) -> Range:
        """The sum."""
        return Range(min(self.least + other.least, MAX), min(self.greatest + other.greatest, MAX))

    def times(self, other: Range) -> Range:
        """The product."""
        return Range(min(self.least * other.least, MAX), min(self.greatest * other.greatest, MAX))

    def scaled(self, factor: float) -> Range:
        """The product with a cost per unit, rounded up."""
        return Range(scale(self.least, factor), scale(self.greatest, factor))

    def or_else(self, other: Range) -> Range:
        """One or the other."""
        return Range(min(self.least, other.least), max(self.greatest, other.greatest))


def scale(amount: int, factor: float) -> int:
    """``amount * factor`` rounded up, at most 64 bits."""
    product = float(amount) * factor
    return MAX if product >= 2.0**64 else math.ceil(product)


def fixed(value: int) -> Range:
    """Exactly this."""
    return Range(value, value)


ONE = fixed(1)
NOTHING = fixed(0)
UNKNOWN = Range(0, MAX)

Path = tuple[str, ...]

_DOMAIN, _IDENTIFIER, _DRIVER, _ENTRIES, _ATTRIBUTE = 63, 32, 63, 32, 64
_MAPS = ("attributes", "capacity")


def of_path(path: Path) -> Range | None:
    """The size of what a path through ``device`` leads to; None if nothing is known.

    A path is the variable's name and then fields, ``@keys``, ``@values`` or ``@items``.
    """
    greatest = _greatest(path) if path and path[0] == "device" else None
    return None if greatest is None else Range(0, greatest)


def _greatest(path: Path) -> int | None:
    match path[1:]:
        case ():
            return 0
        case ("driver",):
            return _DRIVER
        case ("allowMultipleAllocations",):
            return 1
        case (field,) if field in _MAPS:
            return _ENTRIES
        case (field, "@keys") if field in _MAPS:
            return _DOMAIN
        case (field, "@values") if field in _MAPS:
            return _ENTRIES
        case (field, "@values", "@keys") if field in _MAPS:
            return _IDENTIFIER
        case ("attributes", "@values", name) if name not in ("@items", "@indices"):
            return _ATTRIBUTE
        case ("capacity", "@values", "@values"):
            return 0
    return None
