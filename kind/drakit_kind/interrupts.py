"""Ending a long command in order, whichever way it is told to end."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import click

T = TypeVar("T")

# The exit status that shells give: 128 plus the number of SIGINT.
INTERRUPTED_STATUS = 130
_RAISING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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

    for number in _RAISING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and means it
            signal.signal(number, interrupt)


@contextmanager
def held_back() -> Iterator[None]:
    """Delay what a signal would raise in this block to its end.

    Use it to start a process: an exception between fork and the end of ``Popen`` would leave a process that nobody
    knows of. The started process gets signals as usual, because handlers are not inherited. Signals reach the main
    thread only, so in any other thread this does nothing.
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


def run_until_told(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the main thread as ``asyncio.run`` does; a signal that is handled cancels it.

    Once it has cleaned up, this raises what the signal's handler raises, else ``KeyboardInterrupt``.

    The loop hears signals between its steps. Under ``asyncio.run`` a handler raises in the middle of whatever runs,
    which asyncio's own parts do not bear; and a signal that comes just before the loop waits is heard only when
    something else wakes it.
    """
    handlers = {number: handler for number in _RAISING if callable(handler := signal.getsignal(number))}
    came: list[int] = []

    async def heard() -> T:
        task = asyncio.current_task()
        assert task is not None

        def tell(number: int) -> None:
            if not came:
                task.cancel()
            came.append(number)

        for number in handlers:
            asyncio.get_running_loop().add_signal_handler(number, tell, number)
        return await work

    try:
        return asyncio.run(heard())
    except asyncio.CancelledError:
        if not came:
            raise
        raise KeyboardInterrupt from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


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
