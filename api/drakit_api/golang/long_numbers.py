"""Whole numbers of any length, to and from text.

Python refuses to convert more than 4,300 digits, with an error of its own, and a request may have more: as an amount,
where they mean something, or in place of a 64-bit number, where Go says that they do not fit. ``decimal`` has no such
limit.
"""

from __future__ import annotations

import re
from decimal import Decimal

# So many digits Python converts by itself (``sys.int_info.default_max_str_digits``).
FEW_DIGITS = 4300
_SIGNED = re.compile("([+-]?)([0-9]+)")
_INT64 = range(-(2**63), 2**63)


def read(digits: str) -> int:
    """Parse decimal digits, with or without a sign; the time grows with the square of their count."""
    return int(digits) if len(digits) <= FEW_DIGITS else int(Decimal(digits))


def write(value: int) -> str:
    """Print a number of any length in decimal."""
    # A digit takes more than three bits.
    return str(value) if value.bit_length() <= 3 * FEW_DIGITS else str(Decimal(value))


def bounded(digits: str, maximum: int) -> int:
    """Parse unsigned decimal digits; return ``maximum + 1`` for any number above ``maximum``, without reading it."""
    significant = digits.lstrip("0") or "0"
    # A number has more bits than decimal digits.
    return maximum + 1 if len(significant) > maximum.bit_length() else min(int(significant), maximum + 1)


def int64(text: str) -> int | None:
    """Parse a number of 64 bits as ``ParseInt`` of Go's ``strconv`` does in base 10; return None for anything else."""
    match = _SIGNED.fullmatch(text)
    if match is None:
        return None
    sign, digits = match.groups()
    number = bounded(digits, 2**63)
    number = -number if sign == "-" else number
    return number if number in _INT64 else None
