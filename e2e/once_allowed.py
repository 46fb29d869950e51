"""A scheduler that stalls between its look at the lease and its write, as a stopped process does."""

from __future__ import annotations

from drakit_allocator.scheduler.leadership.lease import LeaseLost


class OnceAllowed:
    """The permission of such a scheduler: its first look is in time, the next one comes too late."""

    def __init__(self) -> None:
        self._looks = 0

    def check(self) -> None:
        """Raises ``LeaseLost``, but for the first time."""
        self._looks += 1
        if self._looks > 1:
            raise LeaseLost("expired")
