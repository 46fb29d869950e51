"""Counting bounds: whether what is missing can be had at all, counter by counter, demand by demand, value by value.

All are relaxations: they may let pass what is impossible, but rule out nothing that has a solution.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from drakit_allocator.devices.columns import bits, union
from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.bounds.flow import Flow
from drakit_allocator.search.bounds.matches import Matches
from drakit_allocator.search.bounds.offers import Offers
from drakit_allocator.search.bounds.shares import Shares
from drakit_allocator.search.bounds.totals import Totals
from drakit_allocator.search.demands import Item
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.propagation import Propagation, ties_of
from drakit_allocator.search.symmetry.parts import Part, blocks
from drakit_allocator.search.symmetry.structure import Structure
from drakit_allocator.search.values import Match

_REMEMBERED = 10_000


class Bounds:
    """Bounds for the states of one search."""

    def __init__(self, board: Board, structure: Structure, propagation: Propagation) -> None:
        self.board = board
        self.structure = structure
        self._known: dict[Hashable, int] = {}
        self._totals = Totals(board)
        self._shares = Shares(board)
        self._offers = Offers(structure)
        self._matches = Matches(board, structure.kinds, propagation)

    def allow(self, rest: Rest) -> bool:
        """Tell whether counting leaves hope for all that is to be filled."""
        lists = [need for need in map(self._least, rest.lists) if need.missing]
        # Admin access takes nothing away from requests before it, so that only the others are counted.
        needs = self._crowds([*(need for need in rest.needs if not need.demand.is_admin), *lists])
        return (
            self._totals.suffice(needs)
            and self._shares.suffice(rest)
            and (self.board.gives_twice or self._offers.suffice(needs))
            and self._flow_suffices(needs)
            and self._values_suffice(rest.needs)
            and (self.board.gives_twice or self._matches.suffice(rest.needs))
        )

    def _crowds(self, needs: Sequence[Need]) -> list[Need]:
        """Join needs for the same devices into one, unless they may share a device."""
        crowds: dict[int, Need] = {}
        shareable = self.board.shareable
        apart = []
        for need in needs:
            if need.mask & shareable:
                apart.append(need)
                continue
            known = crowds.get(need.mask)
            crowds[need.mask] = need if known is None else Need(need.demand, known.missing + need.missing, need.mask)
        return [*crowds.values(), *apart]

    def _least(self, item: Item) -> Need:
        """Make a need that every alternative of a prioritized list implies."""
        demands = item.alternatives
        return Need(demands[0], item.least, union(map(self.board.open_to, demands)))

    def _flow_suffices(self, needs: Sequence[Need]) -> bool:
        """Tell whether the needs can be distributed over parts and groups of lone devices, by their numbers alone."""
        units, caps = [], []
        wanted = union(need.mask for need in needs)
        for _, block in blocks([need.mask for need in needs], wanted & self.structure.lone):
            units.append(block)
            caps.append(block.bit_count())
        confined: set[int] = set()
        for part in self.structure.joint:
            if not part.mask & wanted:
                continue
            inside = [index for index, need in enumerate(needs) if not need.mask & ~part.mask]
            capacity = self._capacity(part, wanted, [needs[index] for index in inside])
            if capacity < 0:
                return False
            if not part.mask & wanted & self.board.shareable:
                confined.update(inside)
            units.append(part.mask)
            caps.append(capacity)
        free = [need for index, need in enumerate(needs) if index not in confined]
        edges = [
            [
                (unit, min(need.missing, (need.mask & mask).bit_count()))
                for unit, mask in enumerate(units)
                if need.mask & mask
            ]
            for need in free
        ]
        return Flow(edges, caps).carries([need.missing for need in free])

    def _values_suffice(self, needs: Sequence[Need]) -> bool:
        """Tell whether the devices of a distinctAttribute constraint can have a value each of their own."""
        for number, ties in ties_of(needs).items():
            if isinstance(self.board.states[number], Match):
                continue
            values: dict[Value, int] = {}
            edges = [
                [
                    (values.setdefault(value, len(values)), 1)
                    for value, mask in column.groups.items()
                    if need.mask & mask
                ]
                for need, column in ties
            ]
            if not Flow(edges, [1] * len(values)).carries([need.missing for need, _ in ties]):
                return False
        return True

    def _capacity(self, part: Part, wanted: int, inside: Sequence[Need]) -> int:
        """Count the devices of a part that can be given out at most, besides those for ``inside``.

        Less than 0 if these do not fit. In a part with shareable devices, those for ``inside`` are counted, too.
        """
        board = self.board
        mask = wanted & part.mask
        if mask & board.shareable:
            return self._share_capacity(part, mask)
        state = tuple([board.partitions.free[counter] for counter in part.counters])
        key = part.positions[0], mask, state, tuple([(need.mask, need.missing) for need in inside])
        known = self._known.get(key)
        if known is None:
            known = self._openable(part, mask, inside)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known

    def _openable(self, part: Part, mask: int, inside: Sequence[Need] = ()) -> int:
        """Count for how many of these every counter has room next to ``inside``; less than 0 if not even for that."""
        partitions = self.board.partitions
        most = mask.bit_count() - sum(need.missing for need in inside)
        for counter in part.counters:
            left = max(0, partitions.free[counter])  # devices that draw nothing do not mind an overdrawn counter
            left -= sum(partitions.least(counter, need.mask, need.missing) for need in inside)
            if left < 0:
                return -1
            most = min(most, partitions.most(counter, mask, left))
        return most

    def _share_capacity(self, part: Part, mask: int) -> int:
        """Count shares and whole devices: of those that are opened already, and of the best that may be opened."""
        board = self.board
        fresh = mask & ~board.charged
        caps = sorted((self._shares.most(position) for position in bits(fresh)), reverse=True)
        opened = sum(self._shares.most(position) for position in bits(mask & board.charged))
        return opened + sum(caps[: self._openable(part, fresh)])
