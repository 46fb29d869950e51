"""Consequences of what is on the board, drawn before anything is chosen.

A demand with just enough devices left gets them; a value that some request cannot have is given up for all requests of
its constraint; a list with one alternative left is decided. What is put on the board here is in every solution.
"""

from __future__ import annotations

from collections.abc import Sequence

from drakit_allocator.attributes import Value
from drakit_allocator.columns import bits
from drakit_allocator.requests import MAX_RESULTS
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.values import Column, Match


class Propagation:
    """Draws consequences on one board; ``chosen`` are the alternatives decided on, by item."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.chosen: dict[Item, Demand] = {}

    def narrow(self, rest: Rest) -> Rest | None:
        """What remains to be filled, None if that is impossible. What follows is put on the board either way."""
        needs, lists = list(rest.needs), list(rest.lists)
        if any(self._room(claim, needs, lists) < 0 for claim in {item.claim for item in self.board.items}):
            return None
        while True:
            before = self.board.mark
            narrowed = self._fill(needs)
            if narrowed is None:
                return None
            needs = narrowed
            decided = self._decide(needs, lists)
            if decided is None:
                return None
            valued = self._match(needs)
            if valued is None:
                return None
            if self.board.mark == before and not decided and valued == needs:
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
                return None
            if surplus:
                kept.append(Need(demand, missing, mask))
            elif not self._put_all(demand, mask):
                return None
        return kept

    def _put_all(self, demand: Demand, mask: int) -> bool:
        for position in bits(mask):
            if not self.board.open_to(demand) >> position & 1:
                return False
            self.board.put(demand, position)
        return True

    def _decide(self, needs: list[Need], lists: list[Item]) -> bool | None:
        """Take the only alternative where there is one; whether some list was decided, None if one has none."""
        decided = False
        for item in list(lists):
            viable = self.viable(item, needs, lists)
            if not viable:
                return None
            if len(viable) == 1:
                lists.remove(item)
                self.chosen[item] = viable[0]
                needs.append(Need.whole(viable[0]))
                decided = True
        return decided

    def viable(self, item: Item, needs: Sequence[Need], lists: Sequence[Item]) -> list[Demand]:
        """The alternatives that can be filled if nothing else is, and leave the claim room for the others."""
        room = self._room(item.claim, needs, [other for other in lists if other is not item])
        return [
            demand
            for demand in item.alternatives
            if demand.count <= room
            and not demand.is_impossible
            and self.board.open_to(demand).bit_count() >= demand.count
        ]

    def _room(self, claim: int, needs: Sequence[Need], lists: Sequence[Item]) -> int:
        """How many more devices a claim may get when all this is filled by as few as possible."""
        room = MAX_RESULTS - self.board.sizes[claim]
        room -= sum(need.missing for need in needs if need.demand.claim == claim)
        return room - sum(min(demand.count for demand in item.alternatives) for item in lists if item.claim == claim)

    def _match(self, needs: list[Need]) -> list[Need] | None:
        """Leave the values that all requests of a constraint can have; impose one that is the only one."""
        indexes = {id(need): index for index, need in enumerate(needs)}
        for number, ties in ties_of(needs).items():
            places = [(indexes[id(need)], column) for need, column in ties]
            values = self.values(number, [(needs[index], column) for index, column in places])
            if values is None:
                continue
            if not values:
                return None
            if len(values) == 1:
                self.board.impose(number, values[0])
            for index, column in places:
                demand, missing, mask = needs[index]
                needs[index] = Need(demand, missing, mask & column.with_any(values))
        return needs

    def values(self, number: int, ties: list[tuple[Need, Column]]) -> list[Value] | None:
        """Values that an undecided matchAttribute constraint may have; None where there is nothing to decide."""
        state = self.board.states[number]
        if not isinstance(state, Match) or (state.common is not None and len(state.common) == 1):
            return None
        total = sum(need.missing for need, _ in ties)
        if state.common is None and total == 1:
            return None
        ties = sorted(ties, key=lambda tie: tie[0].mask.bit_count())
        first = ties[0][1]
        possible = first.groups if state.common is None else [one for one in first.groups if one in state.common]
        return [value for value in possible if self._suffices(value, ties, total)]

    def _suffices(self, value: Value, ties: list[tuple[Need, Column]], total: int) -> bool:
        """Whether there are enough devices with the value for each need, and for all of them together."""
        union = 0
        for need, column in ties:
            mask = need.mask & column.groups.get(value, 0)
            if mask.bit_count() < need.missing:
                return False
            union |= mask
        return union.bit_count() >= total or bool(union & self.board.shareable) or self.board.has_admin


def ties_of(needs: Sequence[Need]) -> dict[int, list[tuple[Need, Column]]]:
    """Constraint -> the needs that it covers, with what it looks at."""
    found: dict[int, list[tuple[Need, Column]]] = {}
    for need in needs:
        for number, column in need.demand.ties:
            found.setdefault(number, []).append((need, column))
    return found
