"""What a driver tells about itself, a line for each change of state, and how often it repeats what stays wrong."""

from __future__ import annotations

import time
from collections.abc import Callable

Report = Callable[[str], None]

# Often enough for whoever looks at the end of a log, and seldom enough not to fill it.
REMIND_SECONDS = 30.0


class Problem(str):
    """A line about something that does not work; logs show it as a warning."""

    __slots__ = ()


class Reminders:
    """Decides which problems are worth a line: a new one at once, one that stays the same again after a while."""

    def __init__(self, seconds: float = REMIND_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._told: dict[str, tuple[str, float]] = {}

    def due(self, about: str, problem: str) -> bool:
        """Tell whether ``problem`` of ``about`` is to be told now; if so, it counts as told."""
        last, when = self._told.get(about, ("", 0.0))
        now = self._clock()
        if problem == last and now - when < self._seconds:
            return False
        self._told[about] = (problem, now)
        return True

    def over(self, about: str) -> None:
        """Forget the problem of ``about``: if it comes again, it is a new one."""
        self._told.pop(about, None)
