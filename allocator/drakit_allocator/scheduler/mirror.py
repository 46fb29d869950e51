"""Reflectors that can be told to start over, and that wait for a kind to be installed.

When a scheduler gets the lease, others have written in the meantime, and a watch says nothing about how far behind it
is. Listing again does: whatever was written before the list is in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, ApiError, NotFound
from drakit_client.reflector import Handler, Reflector
from drakit_client.resources import Resource

log = logging.getLogger(__name__)
# What every user sees, also without -v.
_news = logging.getLogger("scheduler")

_RETRY = 0.2  # seconds
# Whether a kind is installed is looked up so often: a watch on its definition needs a right that few have.
_LOOK_AGAIN = 2.0


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


class LateMirror:
    """Follows a collection whose kind may be installed, removed and installed again while the scheduler runs."""

    def __init__(
        self, connection: Connection, resource: Resource, handler: Handler, *, remedy: str, roles: str
    ) -> None:
        """``remedy`` says in the log what to do about a kind that is not there, ``roles`` which ones may read it."""
        self._connection = connection
        self._resource = resource
        self._name = f"{resource.kind} ({resource.group})"
        self._remedy = remedy
        self._roles = roles
        self._reflector = Reflector(
            connection, resource, on_change=[handler], while_served=True, failed=self._failed_to_follow
        )
        self._is_lacking = False
        self._is_refused = False
        self._looked = asyncio.Event()

    async def run(self) -> None:
        """Follow the collection, as long as it is there, until cancelled."""
        while True:
            await self._await_kind()
            try:
                await self._reflector.run()
            except NotFound:
                # What is installed anew may have another history.
                self._reflector.resource_version = ""

    async def synced(self) -> None:
        """Wait until the first list has been handled, or it is known that there is nothing to list."""
        waits = [asyncio.create_task(event) for event in (self._looked.wait(), self._reflector.synced())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _await_kind(self) -> None:
        """Wait until there is something to follow; meanwhile there are no objects."""
        while why := await self._lack():
            if not self._is_lacking:
                self._is_lacking = True
                _news.warning("%s: %s", self._name, why)
                self._reflector.forget()
            self._looked.set()
            await asyncio.sleep(_LOOK_AGAIN)
        if self._is_lacking:
            self._is_lacking = False
            _news.info("%s: it is followed now", self._name)
        self._is_refused = False

    async def _lack(self) -> str:
        """Say why the collection cannot be followed, and what to do; "" if it can. Waits for a server that is away.

        A server refuses whoever has no rights before it looks whether there is such a kind, and the rights may come
        with the kind.
        """
        while True:
            try:
                await self._connection.json("GET", self._resource.path(), params={"limit": "1"})
            except NotFound:
                return f"the kind is not installed; it is followed as soon as it is there: {self._remedy}"
            except REQUEST_FAILURES as error:
                if isinstance(error, ApiError) and error.is_forbidden:
                    missing = f"the right to list and watch it is missing: {error.message}"
                    return f"{missing}; it is followed as soon as the right is there: bind {self._roles}"
                log.debug("%s: %s", self._resource.plural, str(error) or type(error).__name__)
                await asyncio.sleep(_RETRY)
            else:
                return ""

    def _failed_to_follow(self, error: Exception) -> None:
        """Tell of a right that is lost while the collection is followed; other failures pass."""
        if isinstance(error, ApiError) and error.is_forbidden and not self._is_refused:
            self._is_refused = True
            lost = f"it can no longer be read: {error.message}; what was read before still counts"
            _news.warning("%s: %s; bind %s", self._name, lost, self._roles)
