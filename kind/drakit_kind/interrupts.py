"""Ending a long command in order, whichever way it is told to end."""

from __future__ import annotations

import signal
from types import FrameType


def end_in_order_on_signals() -> None:
    """SIGTERM and a closed terminal end this process as Ctrl-C does, so that nothing goes on without it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and means it
            signal.signal(number, interrupt)
