"""Writes, one at a time: short ones at once, long ones in a thread while the event loop answers reads.

From the object that is read to the one that is stored, a write is one piece of code without an await, so that nothing
changes under it. Of a large object that takes seconds. Such a write is done in a thread, and other writes wait for it.
Reads do not: nothing that they see changes but by a commit of the store, which is made in the loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from drakit_embedded.serving.background import Background

T = TypeVar("T")
# Bytes of JSON, sent and stored, of which a write takes longer than others should wait for: some 50 ms. A slice of 52
# devices has 40 KB.
LONG_BYTES = 64 * 1024


class Turns:
    """The turns of all writes of one server."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._thread = Background("drakit-writes")

    async def take(self, write: Callable[[], T], size: int) -> T:
        """Run a write that reads, builds and stores about ``size`` bytes, in its turn."""
        if size < LONG_BYTES and not self._lock.locked():
            return write()
        async with self._lock:
            return write() if size < LONG_BYTES else await self._thread.run_to_the_end(write)

    async def close(self) -> None:
        """Wait for the write under way; there are no more."""
        async with self._lock:
            self._thread.close()
