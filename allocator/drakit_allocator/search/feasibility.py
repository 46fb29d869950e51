"""Whether what is still to be filled can be filled at all, in whatever order is the easiest.

Upstream's order decides which solution is wanted, but not how to find out whether there is one. Here the tightest
choice comes first, consequences are drawn before the next choice, what does not depend on each other is filled
separately, and a state that failed is remembered together with all states that are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.bounds.bounds import Bounds
from drakit_allocator.search.bounds.prices import PriceBound
from drakit_allocator.search.branches import Branch, Branches, CellBranch, DeviceBranch, ListBranch, ValueBranch
from drakit_allocator.search.demands import Demand
from drakit_allocator.search.independence import split
from drakit_allocator.search.levels import Level, Outcome
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.propagation import Propagation
from drakit_allocator.search.state import State
from drakit_allocator.search.symmetry.structure import Structure

_REMEMBERED_STATES = 200_000  # of either kind, dead ones and sound ones; what comes later is not remembered
_PRICES_AFTER = 20  # states
_STEPS_AT_FIRST, _STEPS = 100, 2  # towards better prices, and in each state after that
_FRUITLESS, _SELDOM = 20, 8  # who proves nothing so many times in a row is asked in one of eight states


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
        self._branches = Branches(board, self.structure, self.propagation)
        self._prices = PriceBound(board)
        self._effort = 0  # states looked at since the last fresh start
        self._fruitless = 0

    def try_out(self, rest: Rest, patience: int) -> Level:
        """Ask as ``question`` does, but give up after ``patience`` choices: with ``gave_up``, FAILED proves nothing."""
        self._patience = patience
        outcome = yield self.question(rest)
        self.gave_up = self._patience == 0
        self._patience = None
        return outcome

    def question(self, rest: Rest) -> Level:
        """Find any solution: end SOLVED with it on the board, or FAILED with the board as it was."""
        board, mark = self.board, self.board.mark
        keys: list[Hashable] = []
        while (narrowed := self._narrowed(rest)) is not None:
            rest = narrowed
            if not rest.needs and not rest.lists:
                return Outcome.SOLVED
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
            if (yield self._each_alone(rest)) is not Outcome.SOLVED or self._is_out_of_patience():
                break
            branch = self._branches.tightest(rest, state)
            if (yield self._take(rest, branch)) is Outcome.SOLVED:
                return Outcome.SOLVED
            if isinstance(branch, ListBranch | ValueBranch):
                break
            alike = state.alike(branch.position) if isinstance(branch, DeviceBranch) else branch.alike
            rest = rest.instead(branch.need, branch.need.without(alike))
        board.back_to(mark)
        if self._patience != 0 and len(self._dead) < _REMEMBERED_STATES:
            self._dead.update(keys)
        return Outcome.FAILED

    def _narrowed(self, rest: Rest) -> Rest | None:
        """Draw consequences, and return what is left; None where they, or a bound, rule out a solution."""
        narrowed = self.propagation.narrow(rest)
        if narrowed is None or not self._bounds.allow(narrowed):
            return None
        is_filled = not narrowed.needs and not narrowed.lists
        return None if not is_filled and self._is_too_dear(narrowed) else narrowed

    def _is_out_of_patience(self) -> bool:
        if self._patience:
            self._patience -= 1
            return False
        return self._patience is not None

    def is_hopeless(self, rest: Rest) -> bool:
        """Tell whether it can be seen without choosing anything that there is no solution.

        A new question begins here: prices are not asked for until it has taken some states.
        """
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
        """Join needs that can have the same devices under the same constraints; and return which were put together.

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
        """Fill every part, one after the other: none of them can help another one."""
        for part in parts:
            if (yield self.question(part)) is not Outcome.SOLVED:
                return Outcome.FAILED
        return Outcome.SOLVED

    def _each_alone(self, rest: Rest) -> Level:
        """Tell whether each part can fill the needs that it alone can fill, were there no others."""
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

    def _take(self, rest: Rest, branch: Branch) -> Level:
        """Tell whether there is a solution with what is chosen; for lists and values, with any of them."""
        if isinstance(branch, CellBranch):
            return (yield self.question(rest.confined(branch.need, branch.mask)))
        if isinstance(branch, DeviceBranch):
            return (yield self._with(rest, branch.need, branch.position))
        return (yield self._options(rest, branch))

    def _with(self, rest: Rest, need: Need, position: int) -> Level:
        mark = self.board.mark
        self.board.put(need.demand, position)
        outcome = yield self.question(rest.instead(need, need.after(position)))
        if outcome is not Outcome.SOLVED:
            self.board.back_to(mark)
        return outcome

    def _options(self, rest: Rest, branch: ListBranch | ValueBranch) -> Level:
        mark = self.board.mark
        for option in branch.alternatives if isinstance(branch, ListBranch) else branch.values:
            left = rest
            if isinstance(branch, ListBranch):
                assert isinstance(option, Demand)
                self.propagation.chosen[branch.item] = option
                left = rest.plus(Need.whole(option), without=branch.item)
            else:
                assert isinstance(option, Value)
                self.board.impose(branch.constraint, frozenset((option,)))
            if (yield self.question(left)) is Outcome.SOLVED:
                return Outcome.SOLVED
            self.board.back_to(mark)
        return Outcome.FAILED
