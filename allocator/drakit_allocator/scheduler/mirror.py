"""A reflector that can be told to start over.

When a scheduler gets the lease, others have written in the meantime, and a watch says nothing about how far behind it
is. Listing again does: whatever was written before the list is in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, NotFound
from drakit_client.reflector import Handler, Reflector
from drakit_client.resources import Resource

log = logging.getLogger(__name__)

_RETRY = 0.2  # seconds


async def served(connection: Connection, resource: Resource, *versions: str) -> Resource | None:
    """Return the resource in the first of these versions that the server serves; None if it serves none of them.

    Waits for a server that is away: a kind must not be missing just because it was asked for too early.
    """
    for version in versions:
        while True:
            try:
                await connection.json("GET", resource.in_version(version).path(), params={"limit": "1"})
            except NotFound:
                break
            except REQUEST_FAILURES as error:
                log.info("%s: %s", resource.plural, str(error) or type(error).__name__)
                await asyncio.sleep(_RETRY)
            else:
                return resource.in_version(version)
    return None


class Mirror:
    """Follows one collection and calls a handler for each change."""

    def __init__(self, connection: Connection, resource: Resource, handler: Handler, field_selector: str = "") -> None:
        self._connection = connection
        self._resource = resource
        self._handler = handler
        self._field_selector = field_selector
        self._reflector = self._new()
        self._task: asyncio.Task[None] | None = None

    def get(self, name: str, namespace: str = "") -> Any | None:
        """Return the object as last seen; None if there is none."""
        return self._reflector.get(name, namespace)

    def objects(self) -> Iterable[Any]:
        """Return all objects as last seen."""
        return self._reflector.store.values()

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Follow the collection from now on."""
        self._task = tasks.create_task(self._reflector.run())

    async def synced(self) -> None:
        """Wait until the first list has been handled."""
        await self._reflector.synced()

    async def relist(self, tasks: asyncio.TaskGroup) -> None:
        """List again and wait until all that has changed is handled."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        known = self._reflector.store
        self._reflector = self._new()
        # Starting from what is known, only differences are handled.
        self._reflector.store = known
        self.start(tasks)
        await self.synced()

    def _new(self) -> Reflector:
        return Reflector(
            self._connection, self._resource, field_selector=self._field_selector, on_change=[self._handler]
        )
