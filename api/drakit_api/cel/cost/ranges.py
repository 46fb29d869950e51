"""Ranges of sizes and costs, and what is known about the size of a device's parts before there is one.

Both are pairs of a least and a greatest value in 64 bits that saturate, as in cel-go v0.29 ``checker/cost.go``. The
sizes of a device are the limits that the API has for it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from drakit_api import limits

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
        """Add two ranges; both ends saturate at ``MAX``."""
        return Range(min(self.least + other.least, MAX), min(self.greatest + other.greatest, MAX))

    def times(self, other: Range) -> Range:
        """Multiply two ranges; both ends saturate at ``MAX``."""
        return Range(min(self.least * other.least, MAX), min(self.greatest * other.greatest, MAX))

    def scaled(self, factor: float) -> Range:
        """Multiply by a cost per unit, rounded up."""
        return Range(scale(self.least, factor), scale(self.greatest, factor))

    def or_else(self, other: Range) -> Range:
        """Return the smallest range that contains both."""
        return Range(min(self.least, other.least), max(self.greatest, other.greatest))


def scale(amount: int, factor: float) -> int:
    """Multiply and round up, to at most 64 bits."""
    product = float(amount) * factor
    return MAX if product >= 2.0**64 else math.ceil(product)


def fixed(value: int) -> Range:
    """Make the range of exactly one value."""
    return Range(value, value)


ONE = fixed(1)
NOTHING = fixed(0)
UNKNOWN = Range(0, MAX)

Path = tuple[str, ...]

_MAPS = ("attributes", "capacity")


def of_path(path: Path) -> Range | None:
    """Return the size range of what a path through ``device`` leads to; None if nothing is known.

    A path is the variable's name and then fields, ``@keys``, ``@values`` or ``@items``.
    """
    greatest = _greatest(path) if path and path[0] == "device" else None
    return None if greatest is None else Range(0, greatest)


def _greatest(path: Path) -> int | None:
    match path[1:]:
        case ():
            return 0
        case ("driver",):
            return limits.DRIVER_NAME_LENGTH
        case ("allowMultipleAllocations",):
            return 1
        case (field,) if field in _MAPS:
            return limits.ATTRIBUTES_AND_CAPACITIES_PER_DEVICE
        case (field, "@keys") if field in _MAPS:
            return limits.ATTRIBUTE_DOMAIN_LENGTH
        case (field, "@values") if field in _MAPS:
            return limits.ATTRIBUTES_AND_CAPACITIES_PER_DEVICE
        case (field, "@values", "@keys") if field in _MAPS:
            return limits.ATTRIBUTE_ID_LENGTH
        case ("attributes", "@values", name) if name not in ("@items", "@indices"):
            return limits.ATTRIBUTE_VALUE_LENGTH
        case ("capacity", "@values", "@values"):
            return 0
    return None
