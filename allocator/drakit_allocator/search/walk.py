"""The walk in upstream's order that leaves out nothing, for problems in which visiting a device may be fatal.

Where a selector fails on a device, or mode All meets a constraint, whether the allocation ends with an error depends on
which devices are visited on the way, so the way itself is part of the answer (``allocateOne`` of
``structured/internal/experimental/allocator_experimental.go``). It is also what faster searches are compared with.
"""

from __future__ import annotations

from drakit_allocator.devices.columns import bits
from drakit_allocator.errors import AllocationError
from drakit_allocator.requests import MAX_RESULTS
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.levels import Level, Outcome
from drakit_allocator.search.values import Match


def is_walk_needed(board: Board) -> bool:
    """Tell whether some device may be fatal, or satisfies a constraint only if it is the first to be chosen."""
    for demand in board.demands:
        if demand.count > MAX_RESULTS:  # given up before any of its devices is visited
            continue
        if demand.faults or (demand.takes_all and _may_conflict(board, demand)):
            return True
        for _, column in demand.ties:
            if demand.domain & column.unknown or any(demand.domain >> position & 1 for position in column.faults):
                return True
    return False


def _may_conflict(board: Board, demand: Demand) -> bool:
    """Tell whether a constraint may refuse a device that the demand, which is of mode All, must get."""
    for number, column in demand.ties:
        before = [(other, known) for other in board.demands for one, known in other.ties if one == number]
        before = [(other, known) for other, known in before if _may_precede(other, demand)]
        if demand.domain & ~column.having:
            return True
        elements = [known.elements[at] for other, known in before for at in bits(other.domain & known.having)]
        if isinstance(board.states[number], Match):
            if elements and not frozenset.intersection(*elements):
                return True
        elif sum(map(len, elements)) > len(frozenset().union(*elements)):
            return True
    return False


def _may_precede(other: Demand, demand: Demand) -> bool:
    """Tell whether ``other`` may have devices, or gets them itself, when those of ``demand`` are visited."""
    parent = demand.request.parent
    is_instead = parent is not None and (other.claim, other.request.parent) == (demand.claim, parent)
    return other is demand or (other.number < demand.number and other.count <= MAX_RESULTS and not is_instead)


class Walk:
    """A walk over one board; ``chosen`` are the alternatives taken, by item."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.chosen: dict[Item, Demand] = {}

    def start(self) -> Level:
        """Solve the whole problem. The level raises ``AllocationError`` where upstream fails on a device."""
        return self._items(0)

    def _items(self, number: int) -> Level:
        """Search for devices for an item and all after it."""
        items = self.board.items
        if number >= len(items):
            return Outcome.SOLVED
        item = items[number]
        outcome = yield self._list(number) if item.is_list else self._fill(number, item.alternatives[0])
        if outcome is Outcome.EXCEEDED and number and items[number - 1].claim != item.claim:
            # Too many devices in a later claim may be cured by any other choice in an earlier one.
            return Outcome.FAILED
        return outcome

    def _list(self, number: int) -> Level:
        """Try the subrequests of a prioritized list in order."""
        ended = Outcome.EXCEEDED
        for demand in self.board.items[number].alternatives:
            outcome = yield self._fill(number, demand)
            if outcome is Outcome.SOLVED:
                return outcome
            if outcome is Outcome.FAILED:
                ended = outcome
        return ended

    def _fill(self, number: int, demand: Demand) -> Level:
        """Fill an item by this alternative, and all items after it."""
        self.chosen[self.board.items[number]] = demand
        if demand.takes_all and not demand.domain:
            return Outcome.FAILED
        return (yield self._devices(number, demand, demand.count, demand.domain))

    def _devices(self, number: int, demand: Demand, missing: int, left: int) -> Level:
        """Visit one device after the other; those of one request are taken in increasing order only.

        With mode All there is no choice, and no solution without the next device.
        """
        board = self.board
        if not missing:
            return (yield self._items(number + 1))
        if missing > MAX_RESULTS - board.sizes[demand.claim]:
            return Outcome.EXCEEDED
        mark = board.mark
        for position in bits(left):
            bit = 1 << position
            if not board.is_taken(demand, position) and not demand.unusable & bit and self._visit(demand, position):
                outcome = yield self._devices(number, demand, missing - 1, left & -(bit << 1))
                if outcome is Outcome.SOLVED:
                    return outcome
                board.back_to(mark)
                if outcome is Outcome.EXCEEDED or demand.takes_all:
                    return outcome
            if demand.takes_all:
                return Outcome.FAILED
        return Outcome.FAILED

    def _visit(self, demand: Demand, position: int) -> bool:
        """Put a device that is not taken, if that is possible. Raises ``AllocationError`` in upstream's order."""
        board, bit = self.board, 1 << position
        if position in demand.faults:
            raise demand.faults[position]
        if board.is_short(demand, position):
            return False
        for number, column in demand.ties:
            if position in column.faults:
                raise column.faults[position]
            if not board.states[number].allowed(column) & bit:
                if demand.takes_all:
                    why = "because a claim constraint would not be satisfied"
                    name = board.device(position).name
                    raise AllocationError(f"{demand.request.label}: cannot add device {name} {why}")
                return False
        if not board.open_to(demand) & bit:
            return False
        board.put(demand, position)
        return True
