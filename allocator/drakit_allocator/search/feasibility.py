"""Whether what is still to be filled can be filled at all, in whatever order is the easiest.

Upstream's order decides which solution is wanted, but not how to find out whether there is one. Here the tightest
choice comes first, consequences are drawn before the next choice, what does not depend on each other is filled
separately, and a state that failed is remembered together with all states that are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from drakit_allocator.attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.bounds import Bounds
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.independence import split
from drakit_allocator.search.levels import Level, Outcome
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.prices import PriceBound
from drakit_allocator.search.propagation import Propagation, bonds_of
from drakit_allocator.search.state import State
from drakit_allocator.search.structure import Structure

_REMEMBERED_STATES = 200_000  # of either kind, dead ones and sound ones; what comes later is not remembered
_PRICES_AFTER = 20  # states
_STEPS_AT_FIRST, _STEPS = 100, 2  # towards better prices, and in each state after that
_FRUITLESS, _SELDOM = 20, 8  # who proves nothing so many times in a row is asked in one of eight states


class _Device(NamedTuple):
    """Choose a device for a need, or decide against it."""

    need: Need


class _Cell(NamedTuple):
    """Choose for one place of a need a part and a class of devices there, or decide against all that are alike."""

    need: Need
    mask: int
    alike: int


class _Alternative(NamedTuple):
    """Choose one of the alternatives of a list."""

    item: Item
    viable: list[Demand]


class _Value(NamedTuple):
    """Choose the value of a matchAttribute constraint."""

    constraint: int
    values: list[Value]


class Feasibility:
    """Answers for one board; the solution stays on the board and its alternatives in ``propagation.chosen``."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.propagation = Propagation(board)
        self.structure = Structure(board)
        self._bounds = Bounds(board, self.structure, self.propagation)
        self._dead: set[Hashable] = set()  # keys of states without a solution
        self._sound: set[Hashable] = set()  # and of needs of one part that can be filled by themselves
        self._patience: int | None = None  # choices left until the question is given up; None: as many as it takes
        self.gave_up = False  # the last time that something was tried out
        self._prices = PriceBound(board)
        self._effort = 0  # states looked at since the last fresh start
        self._fruitless = 0

    def try_out(self, rest: Rest, patience: int) -> Level:
        """The same as a question, but FAILED may mean no more than that so many choices were not enough."""
        self._patience = patience
        outcome = yield self.question(rest)
        self.gave_up = self._patience == 0
        self._patience = None
        return outcome

    def question(self, rest: Rest) -> Level:
        """Ends SOLVED, with a solution on the board, or FAILED, with the board as it was."""
        board, mark = self.board, self.board.mark
        keys: list[Hashable] = []
        while True:
            narrowed = self.propagation.narrow(rest)
            if narrowed is None or not self._bounds.allow(narrowed):
                break
            rest = narrowed
            if not rest.needs and not rest.lists:
                return Outcome.SOLVED
            if self._is_too_dear(rest):
                break
            parts = split(board, self.structure, rest)
            if len(parts) > 1:
                if (yield self._all(parts)) is Outcome.SOLVED:
                    return Outcome.SOLVED
                break
            state = State(self.structure, rest)
            key = state.key()
            if key in self._dead:
                break
            keys.append(key)
            if (yield self._each_alone(rest)) is not Outcome.SOLVED:
                break
            if self._patience is not None:
                if not self._patience:
                    break
                self._patience -= 1
            choice = self._tightest(rest, state)
            if isinstance(choice, _Cell):
                if (yield self.question(rest.confined(choice.need, choice.mask))) is Outcome.SOLVED:
                    return Outcome.SOLVED
                rest = rest.instead(choice.need, choice.need.without(choice.alike))
                continue
            if not isinstance(choice, _Device):
                if (yield self._options(rest, choice)) is Outcome.SOLVED:
                    return Outcome.SOLVED
                break
            position = self._pick(rest, choice.need)
            if (yield self._with(rest, choice.need, position)) is Outcome.SOLVED:
                return Outcome.SOLVED
            alike = state.alike(position)
            rest = rest.instead(choice.need, choice.need.without(alike))
        board.back_to(mark)
        if self._patience != 0 and len(self._dead) < _REMEMBERED_STATES:
            self._dead.update(keys)
        return Outcome.FAILED

    def is_hopeless(self, rest: Rest) -> bool:
        """Whether it can be seen without choosing anything that there is no solution."""
        mark = self.board.mark
        narrowed = self.propagation.narrow(rest)
        is_hopeless = narrowed is None or not self._bounds.allow(narrowed)
        self.board.back_to(mark)
        self._effort = self._fruitless = 0
        return is_hopeless

    def _is_too_dear(self, rest: Rest) -> bool:
        """Ask for prices, which takes longer than other bounds, where these did not decide the matter soon."""
        if self._patience is not None or not self._prices.is_useful:
            return False
        self._effort += 1
        if self._effort < _PRICES_AFTER:
            return False
        if self._effort == _PRICES_AFTER:
            return not self._prices.allows(rest, _STEPS_AT_FIRST)
        if self._fruitless > _FRUITLESS and self._effort % _SELDOM:
            return False
        is_too_dear = not self._prices.allows(rest, _STEPS)
        self._fruitless = 0 if is_too_dear else self._fruitless + 1
        return is_too_dear

    def merged(self, rest: Rest) -> tuple[Rest, list[list[Need]]]:
        """Needs that can have the same devices under the same constraints are one need; and which were put together.

        Five requests for one device are then no more work than one request for five.
        """
        crowds: dict[Hashable, list[Need]] = {}
        times = Counter(need.demand.number for need in rest.needs)
        for need in rest.needs:
            demand = need.demand
            is_apart = self.board.gives_twice or need.mask & self.board.shareable or not need.missing
            claim = demand.claim if rest.lists else 0
            ties = tuple(number for number, _ in demand.ties)
            kind = self.structure.kinds.of_demand[demand.number]
            is_apart = is_apart or times[demand.number] > 1
            key = (demand.number, need.mask) if is_apart else (kind, need.mask, ties, claim)
            crowds.setdefault(key, []).append(need)
        needs = [Need(crowd[0].demand, sum(need.missing for need in crowd), crowd[0].mask) for crowd in crowds.values()]
        return Rest(needs, rest.lists), [crowd for crowd in crowds.values() if len(crowd) > 1]

    def _all(self, parts: list[Rest]) -> Level:
        """Every part, one after the other: none of them can help another one."""
        for part in parts:
            if (yield self.question(part)) is not Outcome.SOLVED:
                return Outcome.FAILED
        return Outcome.SOLVED

    def _each_alone(self, rest: Rest) -> Level:
        """Whether the needs that have no other part than the same one can be filled together, without all others."""
        mark = self.board.mark
        touched = [part for part in self.structure.joint if any(need.mask & part.mask for need in rest.needs)]
        for part in touched if len(touched) > 1 else ():
            inside = [need for need in rest.needs if not need.mask & ~part.mask]
            if self.structure.has_offers(part) or len(inside) < 2:
                continue
            alone = Rest(inside, [])
            key = State(self.structure, alone).key()
            if key in self._sound:
                continue
            if (yield self.question(alone)) is not Outcome.SOLVED:
                return Outcome.FAILED
            self.board.back_to(mark)
            if len(self._sound) < _REMEMBERED_STATES:
                self._sound.add(key)
        return Outcome.SOLVED

    def _with(self, rest: Rest, need: Need, position: int) -> Level:
        mark = self.board.mark
        self.board.put(need.demand, position)
        outcome = yield self.question(rest.instead(need, need.after(position)))
        if outcome is not Outcome.SOLVED:
            self.board.back_to(mark)
        return outcome

    def _options(self, rest: Rest, choice: _Alternative | _Value) -> Level:
        mark = self.board.mark
        for option in self._easiest_first(choice.viable) if isinstance(choice, _Alternative) else choice.values:
            if isinstance(choice, _Alternative):
                assert isinstance(option, Demand)
                self.propagation.chosen[choice.item] = option
                left = rest.plus(Need.whole(option), without=choice.item)
            else:
                assert isinstance(option, Value)
                self.board.impose(choice.constraint, frozenset((option,)))
                left = rest
            if (yield self.question(left)) is Outcome.SOLVED:
                return Outcome.SOLVED
            self.board.back_to(mark)
        return Outcome.FAILED

    def _easiest_first(self, alternatives: Sequence[Demand]) -> list[Demand]:
        """Few devices before many, and those of which there are many before those of which there are few."""
        open_to = self.board.open_to
        return sorted(alternatives, key=lambda one: (one.count, -open_to(one).bit_count()))

    def _tightest(self, rest: Rest, state: State) -> _Device | _Cell | _Alternative | _Value:
        """The choice with the fewest possibilities. Single devices of parts that offer numbers come last."""
        blame = self.propagation.blame
        choices: list[tuple[float, int, _Device | _Cell | _Alternative | _Value]] = []
        lists = []
        for item in rest.lists:
            viable = self.propagation.viable(item, rest.needs, rest.lists)
            lists.append(viable)
            choices.append((len(viable) / blame(viable), 1, _Alternative(item, viable)))
        for bond in bonds_of(rest.needs, lists):
            values = self.propagation.values(bond) if bond.needs else None
            if values:
                families = {self.structure.kinds.family(column) for _, column in bond.needs}
                values = state.different(families.pop(), values)
                cost = len(values) / blame([need.demand for need, _ in bond.needs])
                choices.append((cost, 0, _Value(bond.number, values)))
        settled = []
        for need in rest.needs:
            cells = state.cells(need)
            if not cells:
                surplus = need.mask.bit_count() - need.missing + 1
                choices.append((surplus / blame([need.demand]), 2, _Device(need)))
            elif len(cells) == 1:
                settled.append(need)
            else:
                mask, alike = cells[0]
                kinds = len({one for _, one in cells})
                choices.append((kinds / blame([need.demand]), 3, _Cell(need, mask, alike)))
        if not choices:
            return _Device(min(settled, key=lambda need: need.mask.bit_count() - need.missing))
        return min(choices, key=lambda choice: choice[:2])[2]

    def _pick(self, rest: Rest, need: Need) -> int:
        """The device that takes the fewest others away from all needs."""
        wanted = 0
        for other in rest.needs:
            wanted |= other.mask
        return self.board.gentlest(need.demand, need.mask, wanted)
