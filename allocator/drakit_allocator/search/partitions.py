"""Counters of a node as the search sees them: what each device draws, and which devices a low counter rules out.

A device that needs more of a counter than is left is *short*. For each counter the devices are sorted by what they
need, so that the devices which a new level of the counter rules out are found by one bisection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from drakit_allocator.candidates import Situation
from drakit_allocator.devices import Device, PoolID


class Partitions:
    """The counters that the given devices draw from, numbered over all pools, with what is left of each."""

    def __init__(self, situation: Situation, devices: Iterable[tuple[int, Device]]) -> None:
        self.free: list[int] = []
        self.names: list[str] = []  # of the counters, without the sets
        self.needs: dict[int, tuple[tuple[int, int], ...]] = {}
        self._first: dict[PoolID, int] = {}
        by_counter: dict[int, dict[int, int]] = {}
        for position, device in devices:
            if not device.content.consumption or not situation.features.partitionable_devices:
                continue
            pool = situation.pool(device.slice.pool)
            first = self._first.get(pool.id)
            if first is None:
                first = self._first[pool.id] = len(self.free)
                self.free += pool.availability(situation.allocated).free
                self.names += [counter for _, counter in pool.counters.layout.names]
            needs = tuple((first + one, amount) for one, amount in device.content.needs(pool.counters.layout) if amount)
            self.needs[position] = needs
            for counter, amount in needs:
                masks = by_counter.setdefault(counter, {})
                masks[amount] = masks.get(amount, 0) | 1 << position
        self.levels: dict[int, tuple[list[int], list[int]]] = {
            counter: _cumulated(masks) for counter, masks in by_counter.items()
        }

    def short_of(self, counter: int) -> int:
        """The devices that need more of the counter than is left."""
        amounts, masks = self.levels[counter]
        return masks[bisect_right(amounts, self.free[counter])]


    def most(self, counter: int, mask: int, left: int) -> int:
        """How many of these devices so much of a counter is enough for, if they are the least demanding."""
        amounts, masks = self.levels[counter]
        count = (mask & ~masks[0]).bit_count()
        for level, amount in enumerate(amounts):
            number = (mask & masks[level] & ~masks[level + 1]).bit_count()
            fitting = min(number, left // amount)
            count += fitting
            left -= fitting * amount
            if fitting < number:
                break
        return count

    def least(self, counter: int, mask: int, number: int) -> int:
        """What so many of these devices draw from a counter at least."""
        amounts, masks = self.levels[counter]
        number -= (mask & ~masks[0]).bit_count()
        drawn = 0
        for level, amount in enumerate(amounts):
            if number <= 0:
                break
            taken = min(number, (mask & masks[level] & ~masks[level + 1]).bit_count())
            drawn += taken * amount
            number -= taken
        return drawn


def _cumulated(masks: dict[int, int]) -> tuple[list[int], list[int]]:
    """Amounts in increasing order; for each the devices that need as much or more, and none for whatever is above."""
    amounts = sorted(masks)
    above = [0]
    for amount in reversed(amounts):
        above.append(above[-1] | masks[amount])
    return amounts, above[::-1]
