"""Keeps one long decision from holding up everything else in the event loop.

Renewing the lease, bindings on their way and, where a whole cluster lives in one process, its API server all wait while
a decision computes. Nearly all decisions take less than a millisecond and are made in one go. One that takes longer
gives way again and again, and has to check at the end whether what it was based on still holds.
"""

from __future__ import annotations

import asyncio
import time

# Seconds of computing between two pauses, and of a pause at most: half of the time is left to others if they need it.
_TURN = 0.01
# A pass of the event loop that takes less (seconds) had nothing to do.
_IDLE = 0.00003
_IDLE_PASSES = 3


class Pace:
    """The time that one decision takes."""

    def __init__(self) -> None:
        self.gave_way = False
        self._next = time.monotonic() + _TURN

    async def step(self) -> None:
        """Let others have their turn, if this decision has had its own."""
        if time.monotonic() >= self._next:
            self.gave_way = True
            await _pause()
            self._next = time.monotonic() + _TURN


async def _pause() -> None:
    """Let other tasks run for several passes: a request to a server in the same loop takes more than one."""
    begin = now = time.monotonic()
    idle = 0
    while now - begin < _TURN and idle < _IDLE_PASSES:
        await asyncio.sleep(0)
        before, now = now, time.monotonic()
        idle = idle + 1 if now - before < _IDLE else 0
