"""The search for devices: the first solution in upstream's order, without going through all that upstream goes through.

A *board* (``board.py``) says which devices each request can still get. There are two ways to search it: the *walk*
visits devices exactly as upstream does, and is used where visiting a device may be fatal; otherwise
``first_solution.py`` asks, device by device in upstream's order, whether there is a solution with that device.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from drakit_allocator.candidates import Candidates, Situation
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.requests import ClaimRequests, Request
from drakit_allocator.search.board import Board
from drakit_allocator.search.first_solution import FirstSolution
from drakit_allocator.search.levels import Level, Outcome
from drakit_allocator.search.walk import Walk, is_walk_needed

_STEPS_BETWEEN_CLOCKS = 256

# For each request of each claim in turn: the number of the alternative, and its devices as bits.
Choice = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up: upstream's filter timeout as a ``time.monotonic`` moment, and a bound on steps."""

    deadline: float | None = None
    steps: int | None = None


NO_LIMITS = Limits()


class Search:
    """One search: the claims, their candidates on the node, and how far it has come.

    ``prunes=False`` walks as upstream does in any case, to compare answers with.
    """

    def __init__(
        self,
        situation: Situation,
        claims: list[ClaimRequests],
        candidates: Mapping[Request, Candidates],
        limits: Limits = NO_LIMITS,
        *,
        prunes: bool = True,
    ) -> None:
        self.situation = situation
        self.limits = limits
        self.steps = 0
        self.board = Board(situation, claims, candidates)
        self._way = Walk(self.board) if not prunes or is_walk_needed(self.board) else FirstSolution(self.board)
        self._stack: list[Level] = []
        self._outcome: Outcome | None = None  # of the level that was left last

    def run(self) -> bool:
        """Tell whether there is a solution. Raises ``AllocationError``."""
        found: bool | None = None
        while found is None:
            found = self.walk(_STEPS_BETWEEN_CLOCKS)
        return found

    def walk(self, steps: int) -> bool | None:
        """Go on for at most so many steps; return what ``run`` returns, or None if the search has not ended.

        For callers that have other things to do in between. Raises ``AllocationError``.
        """
        if not self._stack:
            self._stack.append(self._way.start())
        for _ in range(steps):
            self._count_step()
            try:
                level = self._stack[-1]
                self._stack.append(next(level) if self._outcome is None else level.send(self._outcome))
                self._outcome = None
            except StopIteration as ended:
                self._stack.pop()
                self._outcome = ended.value
                if not self._stack:
                    if self._outcome is Outcome.EXCEEDED:
                        raise AllocationError("allocation max size exceeded") from None
                    return self._outcome is Outcome.SOLVED
        return None

    def _count_step(self) -> None:
        self.steps += 1
        if self.limits.steps is not None and self.steps > self.limits.steps:
            raise AllocationAborted(f"filter operation aborted: no answer after {self.limits.steps} steps")
        is_time_to_look = self.limits.deadline is not None and self.steps % _STEPS_BETWEEN_CLOCKS == 1
        if is_time_to_look and time.monotonic() > (self.limits.deadline or 0.0):
            raise AllocationAborted("filter operation aborted: context deadline exceeded")

    def choice(self) -> Choice:
        """Return what the solution takes for each request; to be called once ``run`` or ``walk`` returned True."""
        chosen, held = self._way.chosen, self.board.held
        return tuple([(item.alternatives.index(chosen[item]), held[chosen[item].number]) for item in self.board.items])
