"""A bound for matchAttribute constraints: each of them needs a value, and the devices of a value serve only so many.

Needs under one constraint are a *bundle*. Bundles of the same form, such as one GPU and one NIC of the same root, are
distributed over the values like needs over parts. Of constraints that have a need in common, one is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from drakit_allocator.devices.columns import union
from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.bounds.flow import Flow
from drakit_allocator.search.needs import Need
from drakit_allocator.search.propagation import Bond, Propagation, bonds_of
from drakit_allocator.search.symmetry.kinds import Family, Kinds

# Masks of the needs of a bundle, with the number of devices of each.
Shape = tuple[tuple[int, int], ...]
Values = tuple[Value, ...]


class Matches:
    """The bound for the states of one search."""

    def __init__(self, board: Board, kinds: Kinds, propagation: Propagation) -> None:
        self._board = board
        self._kinds = kinds
        self._propagation = propagation

    def suffice(self, needs: Sequence[Need]) -> bool:
        """Tell whether there are values for all bundles of whole devices that share no need."""
        bundles: Counter[tuple[Family, Shape, Values]] = Counter()
        served: set[tuple[Family, int]] = set()
        for bond in bonds_of(needs, ()):
            if len(bond.needs) < 2 or any(need.mask & self._board.shareable for need, _ in bond.needs):
                continue
            family = self._kinds.family(bond.needs[0][1])
            members = {(family, id(need)) for need, _ in bond.needs}
            values = self._propagation.values(bond) if served.isdisjoint(members) else None
            if values is not None:  # else it is decided
                served |= members
                bundles[family, _shape(bond), tuple(values)] += 1
        return bundles.total() < 2 or self._can_be_distributed(bundles)

    def _can_be_distributed(self, bundles: Mapping[tuple[Family, Shape, Values], int]) -> bool:
        units: dict[tuple[Family, Value], int] = {}
        edges: list[list[tuple[int, int]]] = []
        for family, shape, values in bundles:
            found = []
            for value in values:
                holders = self._kinds.holders[family, value]
                limit = min((mask & holders).bit_count() // count for mask, count in shape)
                found.append((units.setdefault((family, value), len(units)), limit))
            edges.append(found)
        rooms = self._rooms([shape for _, shape, _ in bundles], list(units))
        return Flow(edges, rooms).carries(list(bundles.values()))

    def _rooms(self, shapes: Sequence[Shape], units: Sequence[tuple[Family, Value]]) -> list[int]:
        """Count for each value how many bundles it serves at most, were all as small as the smallest."""
        wanted = union(mask for shape in shapes for mask, _ in shape)
        smallest = min(sum(count for _, count in shape) for shape in shapes)
        return [(self._kinds.holders[unit] & wanted).bit_count() // smallest for unit in units]


def _shape(bond: Bond) -> Shape:
    counts: Counter[int] = Counter()
    for need, _ in bond.needs:
        counts[need.mask] += need.missing
    return tuple(sorted(counts.items()))
