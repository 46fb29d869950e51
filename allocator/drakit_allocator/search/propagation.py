"""Consequences of what is on the board, drawn before anything is chosen.

A demand with just enough devices left gets them; a value that some request cannot have, whichever of its alternatives
is taken, is given up for all requests of its constraint; a list with one alternative left is decided. What is put on
the board here is in every solution.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from drakit_allocator.devices.columns import bits
from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.requests import MAX_RESULTS
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.values import Column, Elements, Match


class Propagation:
    """Draws consequences on one board; ``chosen`` are the alternatives decided on, by item."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.chosen: dict[Item, Demand] = {}
        self._blame = [1] * len(board.demands)

    def blame(self, demands: Iterable[Demand]) -> int:
        """Return how often the worst of these demands could not be filled, plus one."""
        return max(self._blame[demand.number] for demand in demands)

    def _accuse(self, demands: Iterable[Demand]) -> None:
        for demand in demands:
            self._blame[demand.number] += 1

    def narrow(self, rest: Rest) -> Rest | None:
        """Put what follows on the board, and return what remains to be filled; None if that is impossible."""
        needs, lists = list(rest.needs), list(rest.lists)
        while True:
            before = self.board.mark, len(lists)
            narrowed = self._fill(needs)
            if narrowed is None:
                return None
            needs = narrowed
            viable = self._decide(needs, lists)
            if viable is None:
                return None
            valued = self._match(needs, viable)
            if valued is None:
                return None
            if (self.board.mark, len(lists)) == before and valued == needs:
                return Rest(needs, lists)
            needs = valued

    def _fill(self, needs: list[Need]) -> list[Need] | None:
        """Give each demand the devices that it cannot do without."""
        kept = []
        for demand, missing, known in needs:
            if not missing:
                continue
            mask = known & self.board.open_to(demand)
            surplus = mask.bit_count() - missing
            if surplus < 0:
                self._accuse([demand])
                return None
            if surplus:
                kept.append(Need(demand, missing, mask))
            elif not self._put_all(demand, mask):
                self._accuse([demand])
                return None
        return kept

    def _put_all(self, demand: Demand, mask: int) -> bool:
        for position in bits(mask):
            if not self.board.open_to(demand) >> position & 1:
                return False
            self.board.put(demand, position)
        return True

    def _decide(self, needs: list[Need], lists: list[Item]) -> list[list[Demand]] | None:
        """Decide lists with one viable alternative; return the viable ones of each other list, None if one has none."""
        found = []
        rooms = {claim: self._room(claim, needs, lists) for claim in {item.claim for item in lists}}
        for item in list(lists):
            viable = self._viable(item, rooms[item.claim] + item.least)
            if not viable:
                self._accuse(item.alternatives)
                return None
            if len(viable) == 1:
                lists.remove(item)
                self.chosen[item] = viable[0]
                rooms[item.claim] -= viable[0].count - item.least
                needs.append(Need.whole(viable[0]))
            else:
                found.append(viable)
        return found

    def viable(self, item: Item, needs: Sequence[Need], lists: Sequence[Item]) -> list[Demand]:
        """List the alternatives that can be filled if nothing else is, and leave the claim room for the others."""
        return self._viable(item, self._room(item.claim, needs, lists) + item.least)

    def _viable(self, item: Item, room: int) -> list[Demand]:
        return [
            demand
            for demand in item.alternatives
            if demand.count <= room
            and not demand.is_impossible
            and self.board.open_to(demand).bit_count() >= demand.count
        ]

    def has_room(self, rest: Rest) -> bool:
        """Tell whether no claim becomes too large, if all lists are filled by as few devices as possible."""
        return all(
            self._room(claim, rest.needs, rest.lists) >= 0 for claim in {item.claim for item in self.board.items}
        )

    def _room(self, claim: int, needs: Sequence[Need], lists: Sequence[Item]) -> int:
        """Count the devices that a claim may still get when all this is filled by as few as possible."""
        room = MAX_RESULTS - self.board.sizes[claim]
        room -= sum(need.missing for need in needs if need.demand.claim == claim)
        return room - sum(item.least for item in lists if item.claim == claim)

    def _match(self, needs: list[Need], lists: Sequence[Sequence[Demand]]) -> list[Need] | None:
        """Restrict constraints to values that all their requests can have; None if a constraint has no such value."""
        indexes = {id(need): index for index, need in enumerate(needs)}
        for bond in bonds_of(needs, lists):
            places = [(indexes[id(need)], column) for need, column in bond.needs]
            values = self.values(replace(bond, needs=[(needs[index], column) for index, column in places]))
            if values is None:
                continue
            if not values:
                self._accuse([need.demand for need, _ in bond.needs])
                return None
            if len(values) == 1 or bond.lists:
                self._impose(bond.number, frozenset(values))
            for index, column in places:
                demand, missing, mask = needs[index]
                needs[index] = Need(demand, missing, mask & column.with_any(values))
        return needs

    def _impose(self, number: int, values: Elements) -> None:
        state = self.board.states[number]
        if isinstance(state, Match) and state.common != values:
            self.board.impose(number, values)

    def values(self, bond: Bond) -> list[Value] | None:
        """List the values that an undecided matchAttribute constraint may have; None if there is nothing to decide."""
        state = self.board.states[bond.number]
        if not isinstance(state, Match) or (state.common is not None and len(state.common) == 1):
            return None
        total = bond.least
        if state.common is None and total == 1:
            return None
        known = bond.values
        possible = known if state.common is None else [one for one in known if one in state.common]
        return [value for value in possible if self._suffices(value, bond, total)]

    def _suffices(self, value: Value, bond: Bond, total: int) -> bool:
        """Tell whether there are enough devices with the value for each need and list, and for all of them together."""
        union = 0
        for need, column in bond.needs:
            mask = need.mask & column.groups.get(value, 0)
            if mask.bit_count() < need.missing:
                return False
            union |= mask
        for alternatives in bond.lists:
            is_possible = False
            for demand, column in alternatives:
                mask = self.board.open_to(demand) & column.groups.get(value, 0)
                if mask.bit_count() >= demand.count:
                    is_possible = True
                    union |= mask
            if not is_possible:
                return False
        return union.bit_count() >= total or bool(union & self.board.shareable) or self.board.gives_twice


@dataclass(frozen=True, slots=True)
class Bond:
    """A constraint, the needs and lists that it covers, and what it looks at; of a list it covers all alternatives."""

    number: int
    needs: Sequence[tuple[Need, Column]]
    lists: Sequence[Sequence[tuple[Demand, Column]]]

    @property
    def least(self) -> int:
        """The least number of devices that are still to be chosen under it."""
        least = [min(demand.count for demand, _ in alternatives) for alternatives in self.lists]
        return sum(need.missing for need, _ in self.needs) + sum(least)

    @property
    def values(self) -> Collection[Value]:
        """The values that may come into question: those of the need with the fewest, without needs those of a list."""
        if self.needs:
            return min((column.groups for _, column in self.needs), key=len)
        return dict.fromkeys(value for _, column in self.lists[0] for value in column.groups)


def bonds_of(needs: Sequence[Need], lists: Sequence[Sequence[Demand]]) -> list[Bond]:
    """List the constraints of these needs, and of lists with these alternatives left."""
    covered: dict[int, list[Sequence[tuple[Demand, Column]]]] = {}
    for alternatives in lists:
        columns: dict[int, list[tuple[Demand, Column]]] = {}
        for demand in alternatives:
            for number, column in demand.ties:
                columns.setdefault(number, []).append((demand, column))
        for number, ties in columns.items():
            if len(ties) == len(alternatives) and all(demand.count for demand, _ in ties):
                covered.setdefault(number, []).append(ties)
    found = ties_of(needs)
    numbers = dict.fromkeys([*found, *covered])
    return [Bond(number, found.get(number, ()), covered.get(number, ())) for number in numbers]


def ties_of(needs: Sequence[Need]) -> dict[int, list[tuple[Need, Column]]]:
    """Map each constraint to the needs that it covers, with what it looks at."""
    found: dict[int, list[tuple[Need, Column]]] = {}
    for need in needs:
        for number, column in need.demand.ties:
            found.setdefault(number, []).append((need, column))
    return found
