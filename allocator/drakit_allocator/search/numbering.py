"""The devices of a node by number, in the order in which upstream tries them, over all its pools."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from drakit_allocator.devices.devices import Device
from drakit_allocator.pools.views import PoolView


class Numbering:
    """Bit i of a mask stands for device i of the first pool, and so on through the pools."""

    def __init__(self, pools: Sequence[PoolView]) -> None:
        self.pools = pools
        self.offsets = [0, *accumulate(pool.shape.size for pool in pools)][: len(pools)]

    def place(self, position: int) -> tuple[int, int]:
        """Return the number of a device's pool, and its position there."""
        number = bisect_right(self.offsets, position) - 1
        return number, position - self.offsets[number]

    def device(self, position: int) -> Device:
        """Return the device with this number."""
        number, place = self.place(position)
        return self.pools[number].devices[place]
