"""Running a benchmark's coroutine so that Ctrl-C and SIGTERM end it in order.

``asyncio.run`` cancels it in the middle of whatever runs when Ctrl-C comes: if that is about to end the future that is
awaited, asyncio prints the traceback of an ``InvalidStateError``. Here the loop hears signals between its steps.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from drakit_client.processes.readiness import told_to_stop
from drakit_kind.processes.concurrency import first_of

T = TypeVar("T")


def run(benchmark: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``; the first signal cancels it, and once it has cleaned up this raises ``KeyboardInterrupt``."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    results: list[T] = []

    async def to_its_end() -> None:
        results.append(await benchmark)

    async def or_until_told() -> None:
        await first_of(to_its_end(), told_to_stop().wait())

    try:
        asyncio.run(or_until_told())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if not results:
        raise KeyboardInterrupt
    return results[0]
