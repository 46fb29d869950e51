"""What to choose next: the tightest choice there is, weighed by how often its needs have failed before.

Where nothing can be chosen freely a mistake shows at once; where everything can be, it shows only after all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from drakit_allocator.devices.columns import union
from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.propagation import Propagation, bonds_of
from drakit_allocator.search.state import State
from drakit_allocator.search.symmetry.structure import Structure


class DeviceBranch(NamedTuple):
    """Choose a device for a need, or decide against all that are alike."""

    need: Need
    position: int


class CellBranch(NamedTuple):
    """Choose for one place of a need a part and a class of devices there, or decide against all that are alike."""

    need: Need
    mask: int
    alike: int


class ListBranch(NamedTuple):
    """Choose one of the alternatives of a list; the easiest come first."""

    item: Item
    alternatives: list[Demand]


class ValueBranch(NamedTuple):
    """Choose the value of a matchAttribute constraint."""

    constraint: int
    values: list[Value]


Branch = DeviceBranch | CellBranch | ListBranch | ValueBranch
_Rank = tuple[float, int]  # possibilities; and where these are equal, values before lists before devices


class Branches:
    """Finds the choices of the states of one search."""

    def __init__(self, board: Board, structure: Structure, propagation: Propagation) -> None:
        self._board = board
        self._structure = structure
        self._propagation = propagation

    def tightest(self, rest: Rest, state: State) -> Branch:
        """Return the choice with the fewest possibilities. Single devices of parts that offer numbers come last."""
        viable = [self._propagation.viable(item, rest.needs, rest.lists) for item in rest.lists]
        ranked: list[tuple[_Rank, Branch | Need]] = [
            *self._of_lists(rest.lists, viable),
            *self._of_values(rest, viable, state),
            *self._of_needs(rest, state),
        ]
        if ranked:
            chosen = min(ranked, key=lambda one: one[0])[1]
        else:
            chosen = min(rest.needs, key=lambda need: need.mask.bit_count() - need.missing)
        return DeviceBranch(chosen, self._gentlest(rest, chosen)) if isinstance(chosen, Need) else chosen

    def _of_lists(self, lists: Sequence[Item], viable: Sequence[list[Demand]]) -> Iterator[tuple[_Rank, Branch | Need]]:
        for item, alternatives in zip(lists, viable, strict=True):
            easiest = sorted(alternatives, key=lambda one: (one.count, -self._board.open_to(one).bit_count()))
            yield (len(alternatives) / self._propagation.blame(alternatives), 1), ListBranch(item, easiest)

    def _of_values(
        self, rest: Rest, viable: Sequence[Sequence[Demand]], state: State
    ) -> Iterator[tuple[_Rank, Branch | Need]]:
        for bond in bonds_of(rest.needs, viable):
            values = self._propagation.values(bond) if bond.needs else None
            if values:
                families = {self._structure.kinds.family(column) for _, column in bond.needs}
                values = state.different(families.pop(), values)
                blame = self._propagation.blame([need.demand for need, _ in bond.needs])
                yield (len(values) / blame, 0), ValueBranch(bond.number, values)

    def _of_needs(self, rest: Rest, state: State) -> Iterator[tuple[_Rank, Branch | Need]]:
        """Yield the choices of needs that are not down to one part and class of devices."""
        for need in rest.needs:
            cells = state.cells(need)
            blame = self._propagation.blame([need.demand])
            if not cells:
                yield ((need.mask.bit_count() - need.missing + 1) / blame, 2), need
            elif len(cells) > 1:
                mask, alike = cells[0]
                yield (len({one for _, one in cells}) / blame, 3), CellBranch(need, mask, alike)

    def _gentlest(self, rest: Rest, need: Need) -> int:
        """Return the device that takes the fewest others away from all needs."""
        return self._board.least_disturbing(need.demand, need.mask, union(other.mask for other in rest.needs))
