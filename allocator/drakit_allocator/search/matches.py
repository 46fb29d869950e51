"""A bound for matchAttribute constraints: each of them needs a value, and the devices of a value serve only so many.

Needs under one constraint are a *bundle*. Bundles of the same needs, such as one GPU and one NIC of the same root, are
distributed over the values like needs over parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from drakit_allocator.attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.flow import Flow
from drakit_allocator.search.kinds import Family, Kinds
from drakit_allocator.search.needs import Need
from drakit_allocator.search.propagation import Bond, Propagation, bonds_of

# Masks of the needs of a bundle, with the number of devices of each.
Shape = tuple[tuple[int, int], ...]


class Matches:
    """The bound for the states of one search."""

    def __init__(self, board: Board, kinds: Kinds, propagation: Propagation) -> None:
        self._board = board
        self._kinds = kinds
        self._propagation = propagation

    def suffice(self, needs: Sequence[Need]) -> bool:
        """Whether there are values for all bundles of whole devices."""
        bundles: dict[tuple[Family, Shape], list[Bond]] = {}
        for bond in bonds_of(needs, ()):
            if len(bond.needs) > 1 and not any(need.mask & self._board.shareable for need, _ in bond.needs):
                families = {self._kinds.family(column) for _, column in bond.needs}
                bundles.setdefault((families.pop(), _shape(bond)), []).append(bond)
        if len(bundles) < 2 and all(len(bonds) < 2 for bonds in bundles.values()):
            return True
        return self._can_be_distributed(bundles)

    def _can_be_distributed(self, bundles: Mapping[tuple[Family, Shape], Sequence[Bond]]) -> bool:
        units: dict[tuple[Family, Value], int] = {}
        edges: list[list[tuple[int, int]]] = []
        counts: list[int] = []
        for (family, shape), bonds in bundles.items():
            values = self._propagation.values(bonds[0])
            if values is not None:  # else it is decided
                found = []
                for value in values:
                    holders = self._kinds.holders[family, value]
                    limit = min((mask & holders).bit_count() // count for mask, count in shape)
                    found.append((units.setdefault((family, value), len(units)), limit))
                edges.append(found)
                counts.append(len(bonds))
        return Flow(edges, self._rooms(list(bundles), list(units))).carries(counts)

    def _rooms(self, shapes: Sequence[tuple[Family, Shape]], units: Sequence[tuple[Family, Value]]) -> list[int]:
        """For each value, how many bundles it serves at most, were all as small as the smallest."""
        union = 0
        for _, shape in shapes:
            for mask, _ in shape:
                union |= mask
        smallest = min(sum(count for _, count in shape) for _, shape in shapes)
        return [(self._kinds.holders[unit] & union).bit_count() // smallest for unit in units]


def _shape(bond: Bond) -> Shape:
    counts: Counter[int] = Counter()
    for need, _ in bond.needs:
        counts[need.mask] += need.missing
    return tuple(sorted(counts.items()))
