"""Lists expire with time: every five minutes those of versions that are more than five minutes old.

kube-apiserver has etcd compacted in these intervals (``--etcd-compaction-interval``), after which neither a page nor a
list of an older version can be had. Its watches go on, as they are served from a cache that knows no compaction; here,
too, they end only where the history does, which is forgotten by number and size. Source:
k8s.io/apiserver/pkg/storage/etcd3/compact.go.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3

from drakit_embedded.apiserver.storage.store import Store
from drakit_embedded.apiserver.storage.turns import Turns

log = logging.getLogger(__name__)

# DefaultCompactInterval of k8s.io/apiserver/pkg/storage/storagebackend
INTERVAL_SECONDS = 300.0


class Aging:
    """Lets the lists of a store expire while it runs. ``seconds`` is the interval; 0: they never do."""

    def __init__(self, store: Store, turns: Turns, seconds: float) -> None:
        self._store, self._turns, self._seconds = store, turns, seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; what is listed from now on expires after one to two intervals."""
        if self._seconds:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End; nothing expires any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self._turns.take(self._store.expire_lists, 0)
            except sqlite3.Error as error:
                log.warning("lists of old versions do not expire: the data file cannot be written (%s)", error)
