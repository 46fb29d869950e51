"""Deleting the ResourceSlices of a node whose drivers nobody can reach (cm/dra/plugin, wipeResourceSlices).

Without this, pods would be scheduled to devices that no kubelet can prepare, and be stuck there.
"""

from __future__ import annotations

import asyncio
import logging

from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, NotFound
from drakit_client.resources import RESOURCE_SLICES

log = logging.getLogger(__name__)

_BACKOFF = Backoff(1.0, 300.0)


class SliceWipes:
    """The deletions of ResourceSlices under way for one node."""

    def __init__(self, connection: Connection, node: str) -> None:
        self._connection = connection
        self._node = node
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> bool:
        """Whether slices are still to be deleted."""
        return bool(self._tasks)

    def start(self, driver: str = "") -> None:
        """Delete the slices of a driver, or of all drivers, in the background."""
        task = asyncio.create_task(self._wipe(driver))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel the deletions that have not succeeded yet."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _wipe(self, driver: str) -> None:
        selector = f"spec.nodeName={self._node}" + (f",spec.driver={driver}" if driver else "")
        for delay in _BACKOFF.pauses():
            try:
                await self._connection.request("DELETE", RESOURCE_SLICES.path(), params={"fieldSelector": selector})
            except NotFound:
                return
            except REQUEST_FAILURES as error:
                log.info("%s: deleting ResourceSlices %s: %s; again in %.0f s", self._node, selector, error, delay)
                await asyncio.sleep(delay)
            else:
                return
