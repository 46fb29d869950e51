"""The first solution in upstream's order, found by asking for each device whether there is a solution with it.

Most pods need no questions: taking the first device that leaves enough for every other request, one after the other,
ends with a solution, and as nothing was passed over that could have been in one, it is the first. Only where that gets
stuck is it asked whether there is any solution; and while one is known, only devices before its own are asked about.
"""

from __future__ import annotations

from itertools import islice

from drakit_allocator.devices.columns import bits
from drakit_allocator.requests import MAX_RESULTS
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.feasibility import Feasibility
from drakit_allocator.search.levels import Level, Outcome
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.repair import Known, Repair
from drakit_allocator.search.state import State

_ONE_BY_ONE = 2  # devices that are asked about before all others are asked about together
_PATIENCE = 30  # choices until these are asked about one by one after all


class FirstSolution:
    """Finds it on one board; ``chosen`` are the alternatives taken, by item."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.chosen: dict[Item, Demand] = {}

    def start(self) -> Level:
        """Solve the whole problem: end SOLVED with the solution on the board, or FAILED."""
        board = self.board
        if not self._has_hope(0):
            return Outcome.FAILED
        if all(self._fill(number) for number in range(len(board.items))):
            return Outcome.SOLVED
        board.back_to(0)
        return (yield _Questions(self).start())

    def rest(self, number: int) -> Rest:
        """Return all items from this one on."""
        items = self.board.items[number:]
        needs = [Need.whole(item.alternatives[0]) for item in items if not item.is_list]
        return Rest(needs, [item for item in items if item.is_list])

    def _has_hope(self, number: int, lost: int = 0, demand: Demand | None = None) -> bool:
        """Tell whether each item from this one on can be filled if nothing else is.

        Known to be so before these devices were lost, because ``demand`` was given one, it is asked only of those whom
        that concerns.
        """
        claim = -1 if demand is None or not demand.ties else demand.claim
        return all(
            any(map(self._is_viable, item.alternatives))
            for item in islice(self.board.items, number, None)
            if demand is None or item.reach & lost or item.claim == claim
        )

    def _is_viable(self, demand: Demand) -> bool:
        return not demand.is_impossible and self.board.open_to(demand).bit_count() >= demand.count

    def _fill(self, number: int) -> bool:
        """Take what comes first; False if that gets stuck, or whether it is right is a question."""
        item = self.board.items[number]
        for demand in item.alternatives:
            if item.is_list and not self._is_viable(demand):
                continue
            if item.is_list and self._may_exceed(item.claim):
                return False
            self.chosen[item] = demand
            return self._fill_demand(number, demand)
        return False

    def _may_exceed(self, claim: int) -> bool:
        items = [item for item in self.board.items if item.claim == claim]
        return sum(max(demand.count for demand in item.alternatives) for item in items) > MAX_RESULTS

    def _fill_demand(self, number: int, demand: Demand) -> bool:
        board = self.board
        left = board.open_to(demand)
        missing = demand.count
        while missing:
            if left.bit_count() < missing:
                return False
            mark, short, bit = board.mark, board.short, left & -left
            left ^= bit
            board.put(demand, bit.bit_length() - 1)
            rest = left & board.open_to(demand)
            if rest.bit_count() >= missing - 1 and self._has_hope(number + 1, bit | board.short & ~short, demand):
                left = rest
                missing -= 1
            else:
                board.back_to(mark)
        return True


class _Questions:
    """Goes through items and devices in upstream's order, and asks about those before the ones of a known solution.

    Its levels always end SOLVED, except those of ``start`` and ``_ask``.
    """

    def __init__(self, first: FirstSolution) -> None:
        self._first = first
        self._board = first.board
        self._asked = Feasibility(first.board)
        self._repair = Repair(first.board, self._asked)
        self._known: list[int] = []  # the devices of a solution, by demand
        self._alternatives: dict[Item, Demand] = {}
        self._ruled_out = 0  # devices that were asked about together
        self._gave_up = False

    def start(self) -> Level:
        if (yield self._ask(self._first.rest(0))) is not Outcome.SOLVED:
            return Outcome.FAILED
        for number, item in enumerate(self._board.items):
            demand = item.alternatives[0]
            if item.is_list:
                yield self._choose(number, item)
                demand = self._alternatives[item]
            self._first.chosen[item] = demand
            yield self._fill(number, demand)
        return Outcome.SOLVED

    def _ask(self, rest: Rest, patience: int | None = None) -> Level:
        """Tell whether there is a solution, which is then known; the board stays as it was.

        With ``patience``, FAILED means nothing if the search gave up.
        """
        self._gave_up = False
        board, mark = self._board, self._board.mark
        if not self._asked.propagation.has_room(rest):
            return Outcome.FAILED
        merged, crowds = self._asked.merged(rest)
        if self._asked.is_hopeless(merged):
            return Outcome.FAILED
        known = Known(self._known, self._alternatives) if self._known else None
        if (yield self._repair.attempt(rest, known)) is Outcome.SOLVED:
            self._keep(mark)
            return Outcome.SOLVED
        before = list(board.held)
        if patience is None:
            outcome = yield self._asked.question(merged)
        else:
            outcome = yield self._asked.try_out(merged, patience)
            self._gave_up = self._asked.gave_up
        if outcome is Outcome.SOLVED:
            self._keep(mark)
            for crowd in crowds:
                self._share_out(crowd, before[crowd[0].demand.number])
        return outcome

    def _keep(self, mark: int) -> None:
        """Take the solution off the board and keep it in mind."""
        self._known = list(self._board.held)
        self._alternatives |= self._asked.propagation.chosen
        self._board.back_to(mark)

    def _share_out(self, crowd: list[Need], before: int) -> None:
        """Give each of the needs that were filled as one its own devices, the first need the first ones."""
        first = crowd[0].demand.number
        positions = bits(self._known[first] & ~before)
        self._known[first] = before
        for need in crowd:
            self._known[need.demand.number] |= sum(1 << position for position in islice(positions, need.missing))

    def _choose(self, number: int, item: Item) -> Level:
        """Find the first alternative with which there is a solution."""
        for demand in item.alternatives:
            if demand is self._alternatives[item]:
                break
            if demand.is_impossible:
                continue
            outcome = yield self._ask(self._first.rest(number + 1).plus(Need.whole(demand)))
            if outcome is Outcome.SOLVED:
                self._alternatives[item] = demand
                break
        return Outcome.SOLVED

    def _fill(self, number: int, demand: Demand) -> Level:
        """Put the first devices with which there is a solution."""
        need = Need.whole(demand)
        while need.missing:
            need = need.within(self._board.open_to(demand))
            yield self._first_device(need, self._first.rest(number + 1))
            last = self._board.held[demand.number].bit_length()
            need = Need(demand, need.missing - 1, need.mask & (-1 << last))
        return Outcome.SOLVED

    def _first_device(self, need: Need, later: Rest) -> Level:
        """Put the first device with which there is a solution: that of the known one, unless one before it will do."""
        board = self._board
        state: State | None = None
        hopeless, failed = 0, 0
        while before := self._before_known(need) & ~hopeless:
            if failed == _ONE_BY_ONE and before & (before - 1):
                yield self._ask_together(need, later, before)
                hopeless |= self._ruled_out
            else:
                state = state or State(self._asked.structure, later.plus(need))
                position = (before & -before).bit_length() - 1
                mark = board.mark
                board.put(need.demand, position)
                after = Need(need.demand, need.missing - 1, need.mask & (-1 << position + 1))
                if (yield self._ask(later.plus(after))) is Outcome.SOLVED:
                    return Outcome.SOLVED
                board.back_to(mark)
                hopeless |= state.alike(position)
            failed += 1
        known = self._known[need.demand.number] & need.mask
        board.put(need.demand, (known & -known).bit_length() - 1)
        return Outcome.SOLVED

    def _before_known(self, need: Need) -> int:
        known = self._known[need.demand.number] & need.mask
        return need.mask & ((known & -known) - 1)

    def _ask_together(self, need: Need, later: Rest, asked: int) -> Level:
        """Ask for many devices at once whether the first may be one of them; for half of those before it if it is."""
        self._ruled_out = 0
        while asked:
            outcome = yield self._ask(later.plus(need).confined(need, asked), _PATIENCE)
            if outcome is Outcome.SOLVED:
                asked = self._before_known(need) & ~self._ruled_out
                half = (asked.bit_length() + (asked & -asked).bit_length()) // 2
                asked &= (1 << half) - 1
            elif self._gave_up:
                break
            else:
                self._ruled_out |= asked
                asked = self._before_known(need) & ~self._ruled_out
        return Outcome.SOLVED
