"""Running a benchmark's coroutine so that Ctrl-C and SIGTERM end it in order.

``asyncio.run`` cancels it in the middle of whatever runs when Ctrl-C comes: if that is about to end the future that is
awaited, asyncio prints the traceback of an ``InvalidStateError``. Here the loop hears signals between its steps.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_ENDING = (signal.SIGINT, signal.SIGTERM)


def run(benchmark: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``; the first signal cancels it, and once it has cleaned up this raises ``KeyboardInterrupt``."""
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    try:
        return asyncio.run(_heard(benchmark))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


async def _heard(benchmark: Coroutine[Any, Any, T]) -> T:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in _ENDING:
        loop.add_signal_handler(number, _cancel_once, task)
    return await benchmark


def _cancel_once(task: asyncio.Task[Any]) -> None:
    if not task.cancelling():
        task.cancel()
