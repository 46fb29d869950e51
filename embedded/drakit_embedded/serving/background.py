"""Work that would keep an event loop from everything else, done in a thread.

Python runs one thread at a time, and changes between them every few milliseconds (``sys.getswitchinterval``), here more
often: the work takes no less time, but whoever asks something small meanwhile is answered. One piece of work is done
after the other, because each thread more would make the loop wait longer for its turn.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
# Seconds after which a busy loop lets other threads run.
_STRETCH_SECONDS = 0.01
# A tenth of Python's default, with which half of small requests took 60 to 90 ms beside a long one; now 13.
_INTERVAL_SECONDS = 0.0005


class Background:
    """A single worker thread, started on first use."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in the thread, unless the caller is cancelled before it begins."""
        return await self._begin(work)

    async def run_to_the_end(self, work: Callable[[], T]) -> T:
        """Run ``work``, and wait for its end even if cancelled: nothing may happen before it is over."""
        done = self._begin(work)
        cancelled = False
        while not done.done():
            try:
                await asyncio.wait((done,))
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            done.exception()
            raise asyncio.CancelledError
        return done.result()

    def _begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._pool, contextvars.copy_context().run, _do, work)

    def close(self) -> None:
        """Drop waiting work and begin no more; what runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Interpreter:
    """How Python runs this process while something long is done in any thread of it; afterwards it is as it was before.

    It changes between threads more often. A loop that answers a small request gives up its turn ten times or more, at
    each reading, writing and decrypting, and waits for the next one as long as an interval takes.

    It collects no garbage. What is read of a large body is a tree of as many objects, without cycles. While it grows,
    the collector would go through all of it again and again, a tenth of a second at a time, in which no other thread
    gets a turn.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._collected, self._interval = False, 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._collected, self._interval = gc.isenabled(), sys.getswitchinterval()
                gc.disable()
                sys.setswitchinterval(_INTERVAL_SECONDS)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                sys.setswitchinterval(self._interval)
                if self._collected:
                    gc.enable()


_interpreter = _Interpreter()


def _do(work: Callable[[], T]) -> T:
    with _interpreter:
        return work()


class LoopThread:
    """The thread of the running event loop, in which other threads have done what must be done there."""

    def __init__(self) -> None:
        self._loop, self._ident = asyncio.get_running_loop(), threading.get_ident()

    def call(self, function: Callable[[], T]) -> T:
        """Call a function in the loop, wait for it if called from another thread, and return its result."""
        if threading.get_ident() == self._ident:
            return function()
        done: Future[T] = Future()

        def call() -> None:
            try:
                done.set_result(function())
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(call)
        return done.result()


class Stretch:
    """Measures how long a coroutine has run without a pause, and makes one."""

    def __init__(self) -> None:
        self._until = time.monotonic() + _STRETCH_SECONDS

    async def pause(self) -> None:
        """Yield to other tasks, if it is time."""
        if time.monotonic() >= self._until:
            await asyncio.sleep(0)
            self._until = time.monotonic() + _STRETCH_SECONDS
