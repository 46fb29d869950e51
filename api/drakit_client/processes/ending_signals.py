"""The signals that tell a process to end, heard where what they raise does no harm.

A handler that raises does so in the middle of whatever runs. What must not be cut there, starting a process or a step
of an event loop, puts the signal off until it is done.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, NoReturn, TypeVar

T = TypeVar("T")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The exit status that shells give: 128 plus the number of SIGINT.
INTERRUPTED_STATUS = 130


class Deferred(NamedTuple):
    """Signals that are put off: the numbers of those that have a handler, and those that have come, in order."""

    numbers: tuple[int, ...]
    came: list[int]


@contextmanager
def raised_afterwards() -> Iterator[Deferred]:
    """Let the block handle signals in its own way; those in ``came`` at its end go to their handlers then.

    What is ignored, or ends the process by default, is left as it is. Signals reach the main thread only, so in any
    other thread there are none.
    """
    heard = ENDING if threading.current_thread() is threading.main_thread() else ()
    handlers = {number: handler for number in heard if callable(handler := signal.getsignal(number))}
    deferred = Deferred(tuple(handlers), [])
    try:
        yield deferred
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in deferred.came:
            signal.raise_signal(each)


@contextmanager
def ended_at_once_by_ctrl_c() -> Iterator[None]:
    """End the process on Ctrl-C in this block, which only imports modules, so that there is nothing to clean up.

    What a handler raises there may be lost: importing has callbacks whose errors Python prints and forgets. Who has
    another handler than Python's own keeps it.
    """
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end_at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED_STATUS)


def run_until_told(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as ``asyncio.run`` does; in the main thread, a signal that has a handler cancels it.

    Once it has cleaned up, this raises what the handler raises, else ``KeyboardInterrupt``.

    The loop hears signals between its steps. Under ``asyncio.run`` a handler raises in the middle of whatever runs,
    which asyncio's own parts do not bear; and a signal that comes just before the loop waits is heard only when
    something else wakes it.
    """
    try:
        # Imported here: it takes 30 ms, and not every command that hears signals has a loop.
        import asyncio
    except KeyboardInterrupt:
        work.close()  # else Python warns that nobody has awaited it
        raise

    with raised_afterwards() as (numbers, came):

        async def heard() -> T:
            task = asyncio.current_task()
            assert task is not None

            def tell(number: int) -> None:
                if not came:
                    task.cancel()
                came.append(number)

            for number in numbers:
                asyncio.get_running_loop().add_signal_handler(number, tell, number)
            return await work

        try:
            return asyncio.run(heard())
        except asyncio.CancelledError:
            if not came:
                raise
            raise KeyboardInterrupt from None
