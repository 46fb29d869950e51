"""How much of a room can be used at all: even amounts leave one of an odd room free, and sixes leave four of ten.

What no sum of the amounts reaches is lost for everybody, so it must not be counted as room for anybody.
"""

from __future__ import annotations

import functools
import math

_UNITS = 20_000  # rooms of more are not looked at sum by sum
_REMEMBERED = 20_000


@functools.lru_cache(maxsize=_REMEMBERED)
def usable(room: int, amounts: tuple[int, ...]) -> int:
    """Return the greatest sum of these amounts, each as often as one likes, that is no more than the room.

    For a large room (``_UNITS``) it is the greatest multiple of their common divisor, which no sum exceeds.
    """
    unit = math.gcd(*amounts)
    if room <= 0 or not unit:
        return 0
    units = room // unit
    if units > _UNITS:
        return units * unit
    sums, within = 1, (2 << units) - 1  # bit i stands for a sum of i units
    for amount in amounts:
        shift = amount // unit
        while shift <= units:
            sums |= sums << shift & within
            shift *= 2
    return (sums.bit_length() - 1) * unit
