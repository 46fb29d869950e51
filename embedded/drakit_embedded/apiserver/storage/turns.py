"""Writes, one at a time: short ones at once, long ones in a thread while the event loop answers reads.

From the object that is read to the one that is stored, a write is one piece of code without an await, so that nothing
changes under it. Of a large object that takes seconds. Such a write is done in a thread, and other writes wait for it.
Reads do not: nothing that they see changes but by a commit of the store, which is made in the loop's thread.

How long a write takes is seen by its size, or by the last one of its kind: the rules of a custom resource and the
expressions of policies may take as long for a few bytes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from drakit_embedded.serving.background import Background

T = TypeVar("T")
# Bytes of JSON, sent and stored, of which a write takes longer than others should wait for: some 50 ms. A slice of 52
# devices has 40 KB.
LONG_BYTES = 64 * 1024
_LONG_SECONDS = 0.05


class Turns:
    """The turns of all writes of one server."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._thread = Background("drakit-writes")
        # Of which kinds the last write took long for its size.
        self._costly: set[str] = set()

    async def take(self, write: Callable[[], T], size: int, kind: str = "") -> T:
        """Run a write that reads, builds and stores about ``size`` bytes of a kind, in its turn."""
        work = partial(self._measured, write, kind) if kind and size < LONG_BYTES else write
        if not self._is_long(size, kind) and not self._lock.locked():
            return work()
        async with self._lock:
            return await self._thread.run_to_the_end(work) if self._is_long(size, kind) else work()

    def _is_long(self, size: int, kind: str) -> bool:
        return size >= LONG_BYTES or kind in self._costly

    def _measured(self, write: Callable[[], T], kind: str) -> T:
        """Run a write; what counts is the time of its own thread, not that of the event loop beside it."""
        began = time.thread_time()
        try:
            return write()
        finally:
            is_costly = time.thread_time() - began >= _LONG_SECONDS
            (self._costly.add if is_costly else self._costly.discard)(kind)

    async def close(self) -> None:
        """Wait for the write under way; there are no more."""
        async with self._lock:
            self._thread.close()
