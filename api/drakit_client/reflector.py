"""A local copy of one collection, kept current by list and watch; objects that cannot be read are left as they were.

Everything that reacts to a cluster needs the same loop: list, watch from there, list again when the server has
forgotten that version, wait longer each time it is away. A component that wrote its own would lose events at the one
moment when nobody looks, so this is the only one.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.typed_objects import ObjectMeta
from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, Expired, NotFound
from drakit_client.resources import Resource

log = logging.getLogger(__name__)

Key = tuple[str, str]
# Called with (old, new): (None, new) for an addition, (old, None) for a deletion. Must not block. One that raises is
# told in the log, with the object, and called again at the object's next change: no object may end a component.
# Objects are of the kind that is followed: handlers name it.
Handler = Callable[[Any, Any], None]
# Makes what is stored of an object as the server sent it, which it may change in place.
Transform = Callable[[Object], Object]

_BACKOFF = Backoff(0.05, 5.0)
# As in client-go (tools/cache/reflector.go, handleAnyWatch): one that ends so soon, without any event, has failed.
_SHORT_WATCH = 1.0
_REMEMBERED = 1000
_pause = asyncio.sleep


def key_of(obj: ReadOnlyObject) -> Key:
    """Return ``(namespace, name)``; the namespace is empty for cluster-scoped objects."""
    metadata: ObjectMeta = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class Reflector:
    """Mirror of one collection. Treat the objects in ``store`` as read-only: they are shared with all readers."""

    def __init__(
        self,
        connection: Connection,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        on_change: Iterable[Handler] = (),
        transform: Transform | None = None,
        while_served: bool = False,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """With ``while_served``, ``run`` raises ``NotFound`` when the kind is not served; without, it tries again.

        ``failed`` is told of each failure after which it is tried again.
        """
        self.resource = resource
        self.store: dict[Key, Any] = {}
        self.resource_version = ""
        self._connection = connection
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._handlers = list(on_change)
        self._transform = transform
        self._while_served = while_served
        self._failed = failed
        self._told: set[tuple[str, str, str]] = set()
        self._synced = asyncio.Event()
        self._forgotten = 0  # how often in a row no version has been known since the last list

    def get(self, name: str, namespace: str = "") -> Any | None:
        """Return the object as last seen; None if there is none."""
        return self.store.get((namespace, name))

    def on_change(self, handler: Handler) -> None:
        """Call ``handler(old, new)`` for every later change."""
        self._handlers.append(handler)

    @property
    def has_synced(self) -> bool:
        """Whether the first list is in the store."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Wait until the first list is in the store and its handlers have run."""
        await self._synced.wait()

    async def run(self) -> None:
        """Follow the collection until cancelled."""
        failures = 0
        while True:
            try:
                if not self.resource_version:
                    await self.list_now()
                    failures = 0
                await self._watch()
                failures = 0
            except Expired as error:
                self.resource_version = ""
                # It happens to everybody now and then; only a server that forgets every version is to be spared.
                if self._forgotten:
                    await self._wait(_BACKOFF.seconds(self._forgotten), error)
                self._forgotten += 1
            except (*REQUEST_FAILURES, ValueError) as error:
                if self._while_served and isinstance(error, NotFound):
                    raise
                failures += 1
                if self._failed is not None:
                    self._failed(error)
                await self._wait(_BACKOFF.seconds(failures), error)

    async def _wait(self, delay: float, error: Exception) -> None:
        log.debug("%s: %s; again in %.2f s", self.resource.plural, error or type(error).__name__, delay)
        await _pause(delay * random.uniform(0.5, 1.0))  # noqa: S311

    async def list_now(self) -> None:
        """Bring the store up to date, once; raises what the API server answers, which ``run`` would try again."""
        listed, left_out = await self._connection.list_readable(
            self.resource,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        # Items of a list come without their type, the same objects in a watch with it.
        typed = {"kind": self.resource.kind, "apiVersion": self.resource.api_version}
        fresh = {key_of(item): typed | item for item in listed["items"]}
        # What cannot be read any more stays as it was last seen: an allocated claim that disappeared would be taken
        # for devices that are free.
        kept = {unreadable.key for unreadable in left_out}
        for key in [key for key in self.store if key not in fresh and key not in kept]:
            self._apply(key, None)
        for key, obj in fresh.items():
            self._apply(key, obj)
        self.resource_version = listed["metadata"]["resourceVersion"]
        self._synced.set()

    def forget(self) -> None:
        """Handle all objects as deleted, for a kind that is no longer there; ``run`` begins with a list."""
        self.resource_version = ""
        for key in list(self.store):
            self._apply(key, None)

    async def _watch(self) -> None:
        began, seen = time.monotonic(), False
        async for event in self._connection.watch(
            self.resource,
            self._namespace,
            resource_version=self.resource_version,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        ):
            seen, self._forgotten = True, 0
            obj = event["object"]
            self.resource_version = obj["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self._apply(key_of(obj), None if event["type"] == "DELETED" else obj)
        if not seen and time.monotonic() - began < _SHORT_WATCH:
            raise ConnectionError("the server ended the watch at once")

    def _apply(self, key: Key, new: Object | None) -> None:
        old = self.store.get(key)
        if new is None:
            self.store.pop(key, None)
        elif old is not None and old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):
            return
        else:
            if self._transform is not None:
                new = self._transform(new)
            self.store[key] = new
        if old is None and new is None:
            return
        if old is not None and new is not None and old["metadata"].get("uid") != new["metadata"].get("uid"):
            # Deleted and created again between two lists: consumers must see both.
            self._notify(old, None)
            old = None
        self._notify(old, new)

    def _notify(self, old: Object | None, new: Object | None) -> None:
        for handler in self._handlers:
            try:
                handler(old, new)
            except Exception as error:
                changed = new if new is not None else old
                assert changed is not None
                self._tell(changed, error)

    def _tell(self, obj: Object, error: Exception) -> None:
        """Log what an object does to a handler: in full for the first time, then only at level debug."""
        name = "/".join(part for part in key_of(obj) if part)
        text = f"{self.resource.plural} {name}: ignored, this change cannot be handled"
        cause = (name, type(error).__name__, str(error))
        if cause in self._told:
            log.debug("%s: %s", text, error)
            return
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told.add(cause)
        log.error("%s: %s", text, str(error) or type(error).__name__, exc_info=error)
