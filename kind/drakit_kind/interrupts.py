"""Ending a long command in order, whichever way it is told to end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

# As shells say it: 128 and the number of SIGINT.
INTERRUPTED_STATUS = 130
_RAISING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_in_order_on_signals() -> None:
    """The first of Ctrl-C, SIGTERM and a closed terminal interrupts this process; what comes after it does nothing.

    It would cut off the clean-up, which has bounds: a closed terminal says so twice, and so does who is impatient.
    Nothing is ignored, as the programs that the clean-up starts would inherit that.
    """
    heard = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        if not heard:
            heard = True
            raise KeyboardInterrupt

    for number in _RAISING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and means it
            signal.signal(number, interrupt)


@contextmanager
def held_back() -> Iterator[None]:
    """What a signal would raise in the block is raised at its end.

    For starting a process: interrupted between fork and the end of ``Popen``, nobody would know of it. The process that
    is started hears signals as ever, as what is handled here has its default there. Signals come to the main thread,
    so in another one there is nothing to hold back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: handler for number in _RAISING if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


@contextmanager
def continued_by_the_same_command(kept: str) -> Iterator[None]:
    """Told to end, this process leaves the block in order, and then says that what is ``kept`` is not lost.

    ``kept`` is as in "what is built"; the exit status is ``INTERRUPTED_STATUS``.
    """
    try:
        end_in_order_on_signals()
        yield
    except KeyboardInterrupt:
        click.echo(f"stopped; {kept} so far is kept, and the same command continues from it", err=True)
        sys.exit(INTERRUPTED_STATUS)
