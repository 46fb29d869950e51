"""Turns of work: what evaluates expensive expressions stops in between, so that others on its event loop are served.

One evaluation may take a fifth of a second, and a node may have hundreds of devices that each need one. They are needed
deep inside of what is not asynchronous; so where a turn is over, an exception ends all of it. What was found out until
then is remembered: whoever began it begins again, and comes further each time.
"""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager

# After so long, other tasks on an event loop have their turn.
SECONDS = 0.02


class TurnOver(Exception):
    """More is to be evaluated, in another turn."""


class _Turn(threading.local):
    """The turns of a thread, one after the other. They are one object, as a decision has thousands of them."""

    seconds = SECONDS
    ends: float | None = None
    has_evaluated = False

    def __enter__(self) -> None:
        self.ends = time.monotonic() + self.seconds
        self.has_evaluated = False

    def __exit__(self, *error: object) -> None:
        self.ends = None


_turn = _Turn()


def turn(seconds: float | None = None) -> AbstractContextManager[None, None]:
    """Let evaluations inside of this block end it after some seconds (``SECONDS``), but not before one is done."""
    _turn.seconds = SECONDS if seconds is None else seconds
    return _turn


def evaluate_one() -> None:
    """Count an evaluation that is about to begin. Raises ``TurnOver`` if the turn has no time left for it."""
    if _turn.ends is None:
        return
    if _turn.has_evaluated and time.monotonic() > _turn.ends:
        raise TurnOver
    _turn.has_evaluated = True
