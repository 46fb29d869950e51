"""Ranges of sizes and costs, and how an environment tells the sizes of what its variables may hold.

Ranges are pairs of a least and a greatest value in 64 bits that saturate, as in cel-go v0.29 ``checker/cost.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

MAX = 2**64 - 1
TRAVERSAL = 0.1  # cost of one character or byte that is looked at
PATTERN = 0.25  # cost of one character of a regular expression
LIST_BASE = 10
MAP_BASE = 30
STRUCT_BASE = 40


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

# From a variable to a part of its value: the variable's name and then fields, ``@keys``, ``@values`` or ``@items``.
Path = tuple[str, ...]
# What is known about the size of what a path leads to; None if nothing is.
Sizes = Callable[[Path], Range | None]


def unknown(path: Path) -> Range | None:
    """Know nothing about any size."""
    return None
