"""Kubernetes Events, the place where users look first when something does not happen.

Repeated events raise a count instead of piling up, as client-go's recorder does (k8s.io/client-go/tools/record); a
failed write is logged and dropped, because no component may stall on telling what it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import Coroutine
from typing import Any, Literal

from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.limits import DNS_SUBDOMAIN_LENGTH
from drakit_api.typed_objects import ObjectMeta
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, AlreadyExists, NotFound
from drakit_client.resources import EVENTS

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]
# core/v1 Event limits the message to 1024 bytes (k8s.io/kubernetes/pkg/apis/core/validation/events.go).
_MESSAGE_BYTES = 1024
_REMEMBERED = 4096
# From so many events on that differ in their message only, within so many seconds of each other, they become one
# (defaultAggregateMaxEvents and defaultAggregateIntervalInSeconds in events_cache.go).
_SIMILAR_EVENTS = 10
_SIMILAR_SECONDS = 600.0
_COMBINED = "(combined from similar events): "


def reference(obj: Object) -> Object:
    """Make an ObjectReference to an object that carries its own kind and apiVersion."""
    metadata: ObjectMeta = obj["metadata"]
    wanted = {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    return {key: value for key, value in wanted.items() if value}


class EventRecorder:
    """Writes events of one component; ``host`` is the node it runs on, if any.

    ``combines``: events that differ in their message only become one when they are many. kube-scheduler's recorder,
    which is that of events.k8s.io, does not do that.
    """

    def __init__(self, connection: Connection, component: str, *, host: str = "", combines: bool = True) -> None:
        self._connection = connection
        self._similar = _SimilarEvents() if combines else None
        self._source = {"component": component, **({"host": host} if host else {})}
        self._counts: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def event(self, regarding: Object, event_type: EventType, reason: str, message: str) -> None:
        """Record in the background. ``regarding`` is an object with kind and apiVersion, or an ObjectReference."""
        target = reference(regarding) if "metadata" in regarding else regarding
        self._start(target, reason, self._write(target, event_type, reason, _clip(message)))

    def once(self, regarding: Object, event_type: EventType, reason: str, message: str, *, about: str) -> None:
        """Record in the background what is to be told only once of the object, whoever else tells it, or has told it.

        ``about`` tells it from other events of the same reason, such as those of another generation.
        """
        target = reference(regarding) if "metadata" in regarding else regarding
        self._start(target, reason, self._write_once(target, event_type, reason, _clip(message), about))

    def _start(self, target: Object, reason: str, writing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._record(target, reason, writing))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def flush(self) -> None:
        """Wait until all events so far are written or dropped."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _record(self, target: Object, reason: str, writing: Coroutine[Any, Any, None]) -> None:
        try:
            await writing
        except REQUEST_FAILURES as error:
            log.warning("event %s of %s %s dropped: %s", reason, target.get("kind"), target.get("name"), error)

    async def _write(self, target: Object, event_type: EventType, reason: str, message: str) -> None:
        namespace = target.get("namespace") or "default"
        name = _name(target, event_type, reason, message)
        if self._similar is not None and self._similar.are_many(similar := _name(target, event_type, reason), message):
            name, message = similar, _clip(_COMBINED + message)
        count = self._counted(name)
        if count > 1:
            try:
                await self._repeat(name, namespace, count, message)
                return
            except NotFound:
                self._counts[name] = 1
        told = {"involvedObject": target, "type": event_type, "reason": reason, "message": message}
        try:
            await self._connection.create(EVENTS, self._first(name, namespace, told), namespace)
        except AlreadyExists:
            # The event was written before this process started, or by a request whose answer got lost.
            known = await self._connection.get(EVENTS, name, namespace)
            self._counts[name] = (known.get("count") or 0) + 1
            await self._repeat(name, namespace, self._counts[name], message)

    async def _write_once(self, target: Object, event_type: EventType, reason: str, message: str, about: str) -> None:
        namespace = target.get("namespace") or "default"
        told = {"involvedObject": target, "type": event_type, "reason": reason, "message": message}
        event = self._first(_name(target, event_type, reason, about), namespace, told)
        with contextlib.suppress(AlreadyExists):
            await self._connection.create(EVENTS, event, namespace)

    def _counted(self, name: str) -> int:
        """Count how often an event has been told, this time included."""
        count = self._counts[name] = self._counts.pop(name, 0) + 1
        while len(self._counts) > _REMEMBERED:
            del self._counts[next(iter(self._counts))]
        return count

    def _first(self, name: str, namespace: str, told: Object) -> Object:
        now = gotime.now()
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            **told,
            "source": self._source,
            "reportingComponent": self._source["component"],
            "reportingInstance": self._source.get("host", ""),
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }

    async def _repeat(self, name: str, namespace: str, count: int, message: str) -> None:
        change = {"count": count, "lastTimestamp": gotime.now(), "message": message}
        await self._connection.patch(EVENTS, name, change, namespace)


class _SimilarEvents:
    """The messages of events that are otherwise the same (EventAggregate in events_cache.go)."""

    def __init__(self) -> None:
        # By the name of the event: its messages, and when the last one came.
        self._seen: dict[str, tuple[set[str], float]] = {}

    def are_many(self, name: str, message: str) -> bool:
        """Take in a message; whether there are too many for an event each."""
        now = time.monotonic()
        messages, last = self._seen.pop(name, (set(), now))
        if now - last > _SIMILAR_SECONDS:
            messages = set()
        messages.add(message)
        self._seen[name] = messages, now
        while len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        if len(messages) < _SIMILAR_EVENTS:
            return False
        messages.pop()
        return True


def _name(target: Object, event_type: EventType, reason: str, message: str = "") -> str:
    """Name an event: the same for the same event of the same object; a DNS subdomain, as the object's name is."""
    identity = "\0".join([str(target.get("uid")), target["name"], event_type, reason, message])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    beginning = target["name"][: DNS_SUBDOMAIN_LENGTH - len(digest) - 1].rstrip("-.")
    return f"{beginning}.{digest}"


def _clip(message: str) -> str:
    encoded = message.encode()
    if len(encoded) <= _MESSAGE_BYTES:
        return message
    return encoded[: _MESSAGE_BYTES - 3].decode(errors="ignore") + "..."
