"""Counters of a node as the search sees them: what each device draws, and which devices a low counter rules out.

A device that needs more of a counter than is left is *short*. The devices of a shape are sorted by what they need of
each counter, so that the devices which a new level of the counter rules out are found by one bisection.
"""

from __future__ import annotations

from bisect import bisect_right

from drakit_allocator.candidates import Situation
from drakit_allocator.search.numbering import Numbering
from drakit_allocator.search.sums import usable

Levels = tuple[list[int], list[int]]


class Partitions:
    """The counters of a node's pools, numbered over all of them, with what is left of each."""

    def __init__(self, situation: Situation, numbering: Numbering) -> None:
        self._numbering = numbering
        self.free: list[int] = []
        self._first: list[int] = []  # by pool: its first counter
        self._pool_of: list[int] = []  # by counter
        for number, pool in enumerate(situation.pools):
            free = pool.availability(situation.allocated).free if situation.features.partitionable_devices else ()
            self._first.append(len(self.free))
            self.free += free
            self._pool_of += [number] * len(free)
        self.consumers = 0  # all devices that draw from counters
        if self.free:
            for pool, offset in zip(situation.pools, numbering.offsets, strict=True):
                self.consumers |= pool.shape.consumers.mask << offset
        self._needs: dict[int, tuple[tuple[int, int], ...]] = {}
        self._levels: dict[int, Levels] = {}

    def name(self, counter: int) -> str:
        """Return the name of a counter within its set."""
        number = self._pool_of[counter]
        return self._numbering.pools[number].counters.layout.names[counter - self._first[number]][1]

    def needs(self, position: int) -> tuple[tuple[int, int], ...]:
        """Return what a device draws: (counter, amount)."""
        found = self._needs.get(position)
        if found is None:
            found = ()
            if self.consumers >> position & 1:
                number, place = self._numbering.place(position)
                first = self._first[number]
                drawn = self._numbering.pools[number].shape.draws[place].needs
                found = tuple([(first + counter, amount) for counter, amount in drawn if amount])
            self._needs[position] = found
        return found

    def weight(self, position: int) -> int:
        """Return what a device draws in thousandths of what is left, over all counters."""
        return sum(1000 * amount // max(1, self.free[counter]) for counter, amount in self.needs(position))

    def levels(self, counter: int) -> Levels:
        """Return amounts in increasing order, with the devices that need as much or more, and at the end none."""
        found = self._levels.get(counter)
        if found is None:
            number = self._pool_of[counter]
            offset = self._numbering.offsets[number]
            amounts, masks = self._numbering.pools[number].shape.consumers.levels(counter - self._first[number])
            start = bisect_right(amounts, 0)  # a device that needs nothing does not mind
            found = self._levels[counter] = list(amounts[start:]), [mask << offset for mask in masks[start:]]
        return found

    def short_of(self, counter: int) -> int:
        """Return the devices that need more of the counter than is left, as bits."""
        amounts, masks = self.levels(counter)
        return masks[bisect_right(amounts, self.free[counter])]

    def most(self, counter: int, mask: int, left: int) -> int:
        """Count these devices as far as ``left`` of a counter is enough, beginning with the least demanding."""
        amounts, masks = self.levels(counter)
        count = (mask & ~masks[0]).bit_count()
        for level, amount in enumerate(amounts):
            number = (mask & masks[level] & ~masks[level + 1]).bit_count()
            fitting = min(number, left // amount)
            count += fitting
            left -= fitting * amount
            if fitting < number:
                break
        return count

    def usable(self, counter: int, mask: int) -> int:
        """Return what is left of a counter, without what these devices cannot use however many there are."""
        amounts, masks = self.levels(counter)
        drawn = [amount for level, amount in enumerate(amounts) if mask & masks[level] & ~masks[level + 1]]
        return usable(self.free[counter], tuple(drawn)) if drawn else 0

    def least(self, counter: int, mask: int, number: int) -> int:
        """Return the least that ``number`` of these devices draw from a counter."""
        amounts, masks = self.levels(counter)
        number -= (mask & ~masks[0]).bit_count()
        drawn = 0
        for level, amount in enumerate(amounts):
            if number <= 0:
                break
            taken = min(number, (mask & masks[level] & ~masks[level + 1]).bit_count())
            drawn += taken * amount
            number -= taken
        return drawn
