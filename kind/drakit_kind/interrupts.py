"""Ending a long command in order, whichever way it is told to end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from drakit_client.processes.ending_signals import ENDING, INTERRUPTED_STATUS, raised_afterwards


def end_in_order_on_signals() -> None:
    """Let the first of Ctrl-C, SIGTERM and a closed terminal interrupt this process, and ignore later ones.

    A second signal would cut off the clean-up, which is bounded anyway: a closed terminal sends two, and so do
    impatient users. The handler stays in place, because programs that the clean-up starts would inherit an ignored
    signal.
    """
    heard = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        if not heard:
            heard = True
            raise KeyboardInterrupt

    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and means it
            signal.signal(number, interrupt)


@contextmanager
def held_back() -> Iterator[None]:
    """Delay what a signal would raise in this block to its end.

    Use it to start a process: an exception between fork and the end of ``Popen`` would leave a process that nobody
    knows of. The started process gets signals as usual, because handlers are not inherited. Signals reach the main
    thread only, so in any other thread this does nothing.
    """
    with raised_afterwards() as (numbers, came):
        for number in numbers:
            signal.signal(number, lambda number, _: came.append(number))
        yield


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
