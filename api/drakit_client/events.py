"""Kubernetes Events, the place where users look first when something does not happen.

Repeated events raise a count instead of piling up, as client-go's recorder does; a failed write is logged and dropped,
because no component may stall on telling what it does.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from datetime import UTC, datetime
from typing import Literal

from drakit_api.limits import DNS_SUBDOMAIN_LENGTH
from drakit_client.connection import Connection, Object
from drakit_client.errors import REQUEST_FAILURES, AlreadyExists, NotFound
from drakit_client.resources import EVENTS

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]
# core/v1 Event limits the message to 1024 bytes (k8s.io/kubernetes/pkg/apis/core/validation/events.go).
_MESSAGE_BYTES = 1024
_REMEMBERED = 4096


def timestamp() -> str:
    """Now, as ``metav1.Time`` prints it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def reference(obj: Object) -> Object:
    """ObjectReference to an object that carries its own kind and apiVersion."""
    metadata = obj["metadata"]
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
    """Writes events of one component; ``host`` is the node it runs on, if any."""

    def __init__(self, connection: Connection, component: str, *, host: str = "") -> None:
        self._connection = connection
        self._source = {"component": component, **({"host": host} if host else {})}
        self._counts: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def event(self, regarding: Object, event_type: EventType, reason: str, message: str) -> None:
        """Record in the background. ``regarding`` is an object with kind and apiVersion, or an ObjectReference."""
        target = reference(regarding) if "metadata" in regarding else regarding
        task = asyncio.get_running_loop().create_task(self._record(target, event_type, reason, _clip(message)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def flush(self) -> None:
        """Wait until all events so far are written or dropped."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _record(self, target: Object, event_type: EventType, reason: str, message: str) -> None:
        try:
            await self._write(target, event_type, reason, message)
        except REQUEST_FAILURES as error:
            log.warning("event %s of %s %s dropped: %s", reason, target.get("kind"), target.get("name"), error)

    async def _write(self, target: Object, event_type: EventType, reason: str, message: str) -> None:
        namespace = target.get("namespace") or "default"
        name = _name(target, event_type, reason, message)
        count = self._counted(name)
        if count > 1:
            try:
                await self._repeat(name, namespace, count)
                return
            except NotFound:
                self._counts[name] = 1
        told = {"involvedObject": target, "type": event_type, "reason": reason, "message": message}
        try:
            await self._connection.create(EVENTS, self._first(name, namespace, told), namespace)
        except AlreadyExists:
            # Told before this process started, or by a request whose answer got lost.
            known = await self._connection.get(EVENTS, name, namespace)
            self._counts[name] = (known.get("count") or 0) + 1
            await self._repeat(name, namespace, self._counts[name])

    def _counted(self, name: str) -> int:
        """How often an event has been told, this time included."""
        count = self._counts[name] = self._counts.pop(name, 0) + 1
        while len(self._counts) > _REMEMBERED:
            del self._counts[next(iter(self._counts))]
        return count

    def _first(self, name: str, namespace: str, told: Object) -> Object:
        now = timestamp()
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

    async def _repeat(self, name: str, namespace: str, count: int) -> None:
        await self._connection.patch(EVENTS, name, {"count": count, "lastTimestamp": timestamp()}, namespace)


def _name(target: Object, event_type: EventType, reason: str, message: str) -> str:
    """The same for the same event of the same object; a DNS subdomain, as the name of the object is."""
    identity = "\0".join([str(target.get("uid")), target["name"], event_type, reason, message])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    beginning = target["name"][: DNS_SUBDOMAIN_LENGTH - len(digest) - 1].rstrip("-.")
    return f"{beginning}.{digest}"


def _clip(message: str) -> str:
    encoded = message.encode()
    if len(encoded) <= _MESSAGE_BYTES:
        return message
    return encoded[: _MESSAGE_BYTES - 3].decode(errors="ignore") + "..."
