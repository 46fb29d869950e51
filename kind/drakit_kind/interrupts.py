"""Ending a long command in order, whichever way it is told to end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

# As shells say it: 128 and the number of SIGINT.
INTERRUPTED_STATUS = 130


def end_in_order_on_signals() -> None:
    """SIGTERM and a closed terminal end this process as Ctrl-C does, so that nothing goes on without it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and means it
            signal.signal(number, interrupt)


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
