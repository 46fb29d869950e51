"""Which demands are alike, and how a device looks to all of them: what two devices must share to be exchanged.

Names of values play no part where nothing else has the value: a UUID is a device's own, the UUID of a GPU belongs to
the GPU's partitions, a NUMA node to the devices on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.values import Column, Match

Family = int  # columns that are compared with each other, as some constraint looks at both


class Kinds:
    """The kinds of the demands of one board, by number; the holders of each value; and what devices look like."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._columns: dict[Column, Family] = _families(board)
        kinds: dict[Hashable, int] = {}
        self.of_demand = [kinds.setdefault(self._description(demand), len(kinds)) for demand in board.demands]
        self._examples: dict[int, Demand] = {}  # one demand of each kind
        for kind, demand in zip(self.of_demand, board.demands, strict=True):
            self._examples.setdefault(kind, demand)
        self.holders: dict[tuple[Family, Value], int] = {}
        for column, family in self._columns.items():
            for value, mask in column.groups.items():
                self.holders[family, value] = self.holders.get((family, value), 0) | mask
        self.matched: set[Family] = {
            self._columns[column]
            for demand in board.demands
            for number, column in demand.ties
            if isinstance(board.states[number], Match)
        }

    def _description(self, demand: Demand) -> Hashable:
        ties = tuple((id(column), isinstance(self.board.states[number], Match)) for number, column in demand.ties)
        # With admin access it matters who comes first.
        place = demand.number if self.board.gives_twice else -1
        return demand.domain, demand.is_admin, demand.takes_all, self.board.amounts_kind(demand), ties, place

    def of_item(self, item: Item) -> Hashable:
        """Return a key that is equal for lists with the same alternatives."""
        return tuple((self.of_demand[demand.number], demand.count) for demand in item.alternatives)

    def family(self, column: Column) -> Family:
        """Return the family of a column."""
        return self._columns[column]

    def token(self, position: int, draws: Hashable, names: Mapping[tuple[Family, Value], Hashable]) -> Hashable:
        """Describe what the device is to the demands; ``names`` has what to call values instead of their own names."""
        members = 0
        values: dict[int, Hashable] = {}
        for kind, demand in self._examples.items():
            if demand.domain >> position & 1:
                members |= 1 << kind
                for _, column in demand.ties:
                    if id(column) not in values:
                        values[id(column)] = self._named(column, position, names)
        return members, draws, tuple(values.items()), self._share(position), self._groups(position)

    def _groups(self, position: int) -> Hashable:
        """Return the device's compatibility groups, where these count."""
        if not self.board.has_groups:
            return None
        consumption = self.board.device(position).content.consumption
        return tuple([(entry.counter_set, entry.compatibility_groups) for entry in consumption])

    def _named(self, column: Column, position: int, names: Mapping[tuple[Family, Value], Hashable]) -> Hashable:
        elements = column.elements.get(position)
        if elements is None:
            return None
        family = self._columns[column]
        found = []
        for element in elements:
            if self.holders[family, element].bit_count() == 1:
                found.append("own")
            else:
                found.append(repr(names.get((family, element), element)))
        return tuple(sorted(found))

    def _share(self, position: int) -> Hashable:
        board = self.board
        if not board.shareable >> position & 1:
            return None
        device = board.device(position)
        used = tuple(sorted(board.situation.allocated.consumed(device.id).items()))
        return device.content.traits.capacity.number, used, board.charged >> position & 1


def _families(board: Board) -> dict[Column, Family]:
    """Put columns that some constraint looks at together into one family."""
    leaders: dict[Column, Column] = {}

    def leader_of(column: Column) -> Column:
        while leaders.setdefault(column, column) is not column:
            column = leaders[column]
        return column

    first: dict[int, Column] = {}  # by constraint
    for demand in board.demands:
        for number, column in demand.ties:
            leaders[leader_of(column)] = leader_of(first.setdefault(number, column))
    numbers: dict[Column, Family] = {}
    return {column: numbers.setdefault(leader_of(column), len(numbers)) for column in list(leaders)}
