"""What is still to be filled: devices missing from demands, and prioritized lists that are not decided yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drakit_allocator.search.demands import Demand, Item


class Need(NamedTuple):
    """So many devices are missing from a demand, and these may still be chosen for it."""

    demand: Demand
    missing: int
    mask: int

    @staticmethod
    def whole(demand: Demand) -> Need:
        """Make the need of a demand that has nothing yet."""
        return Need(demand, demand.count, demand.domain)

    def after(self, position: int) -> Need:
        """Return the need with one device chosen."""
        return Need(self.demand, self.missing - 1, self.mask & ~(1 << position))

    def within(self, mask: int) -> Need:
        """Return the need with only these devices left of those that it may have."""
        return Need(self.demand, self.missing, self.mask & mask)

    def without(self, mask: int) -> Need:
        """Return the need with these devices given up."""
        return Need(self.demand, self.missing, self.mask & ~mask)


class Rest(NamedTuple):
    """Everything that is still to be filled."""

    needs: Sequence[Need]
    lists: Sequence[Item]

    def plus(self, need: Need, *, without: Item | None = None) -> Rest:
        """Return the rest with one more need, in place of the list that it is an alternative of."""
        return Rest([*self.needs, need], [item for item in self.lists if item is not without])

    def instead(self, old: Need, new: Need) -> Rest:
        """Return the rest with one need changed."""
        return Rest([new if need is old else need for need in self.needs], self.lists)

    def confined(self, need: Need, mask: int) -> Rest:
        """Return the rest with one device of a need decided to be one of these."""
        rest = self.instead(need, Need(need.demand, need.missing - 1, need.mask))
        needs, placed = [], 1
        for other in rest.needs:
            if other.demand is need.demand and other.mask == mask:
                placed += other.missing
            else:
                needs.append(other)
        return Rest([*needs, Need(need.demand, placed, mask)], self.lists)
