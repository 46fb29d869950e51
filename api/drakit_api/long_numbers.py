"""Whole numbers of any length, to and from text.

Python refuses to convert more than 4,300 digits, with an error of its own, and a request may have more: as an amount,
where they mean something, or in place of a 64-bit number, where Go says that they do not fit. ``decimal`` has no such
limit.
"""

from __future__ import annotations

from decimal import Decimal

# What Python converts by itself (``sys.int_info.default_max_str_digits``).
FEW_DIGITS = 4300


def read(digits: str) -> int:
    """The number of decimal digits, with or without a sign; the time grows with the square of their count."""
    return int(digits) if len(digits) <= FEW_DIGITS else int(Decimal(digits))


def write(value: int) -> str:
    """The digits of a number."""
    # A digit takes more than three bits.
    return str(value) if value.bit_length() <= 3 * FEW_DIGITS else str(Decimal(value))


def bounded(digits: str, maximum: int) -> int:
    """The number of unsigned decimal digits if it is at most ``maximum``, or one more than that; reads no more."""
    significant = digits.lstrip("0") or "0"
    # Bits are more than digits.
    return maximum + 1 if len(significant) > maximum.bit_length() else min(int(significant), maximum + 1)
