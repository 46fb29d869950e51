"""Watches: each reads the history of its collection at its own pace, so a slow client costs nothing but its connection.

There are no queues. A change wakes the watchers that it may concern: those of its collection, except who asked for the
objects of another node or name. Each reads the history from the first change that woke it, and writes what it has not
written yet; the lines are encoded once for all watchers of the same form. A watcher that falls behind the history is
told so (410) and lists again. Protocol: k8s.io/apiserver/pkg/endpoints/handlers/watch.go and pkg/storage/cacher.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator

import msgspec
from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.reading import conversions
from drakit_embedded.apiserver.reading.list_options import ListOptions
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.requests import resource_version
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Event, Record, Store
from drakit_embedded.apiserver.wire.forms import Form
from drakit_embedded.serving.background import Stretch

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_SHORTEST_SECONDS = 1800
_BOOKMARK_SECONDS = 55.0
# Bytes up to which waiting lines are joined to one write.
_WRITE_BYTES = 32 * 1024
# Watchers that are woken together ask for the same lines at almost the same time.
_SHARED_LINES = 64
_encode = msgspec.json.Encoder().encode


class Watch:
    """One watch request, checked and ready to be streamed."""

    def __init__(self, store: Store, served: Served, namespace: str | None, options: ListOptions, form: Form) -> None:
        self._store, self._served, self._collection, self._form = store, served, served.collection, form
        self.kind, self.namespace = served.kind, namespace
        # How many events were sent.
        self.sent = 0
        self._selection = options.selection
        self._plain = namespace is None and not self._selection
        self._bookmarks = options.bookmarks
        self._seconds = options.seconds or _SHORTEST_SECONDS * random.uniform(1, 2)  # noqa: S311
        begins = options.initial_events
        self._end_marked = begins and options.bookmarks
        # Taken together: changes that happen while the initial objects are sent follow after them, once.
        self._version = store.version
        asked = _asked(options.version)
        # For a version that is yet to come, wait, and send nothing before it.
        self._after = asked if asked > store.version else 0
        position = self._collection.position(store.version if begins else asked or store.version)
        # Position of the first unread change that may concern this watch; None while it sleeps.
        self._unread: int | None = position or 0
        self._initial = self._collection.select(namespace) if begins else []
        if not served.is_converting:
            self._initial = [record for record in self._initial if self._selection.matches(record)]
        self._refused = self._refusal(asked, known=begins or position is not None, there=not (begins and self._after))
        self._wake = asyncio.Event()
        self._bookmark_due = False
        self._ended = False

    def _refusal(self, asked: int, *, known: bool, there: bool) -> StatusError | None:
        """Build the error event with which the watch ends at once, if its version is too old or yet to come."""
        if not known:
            return statuses.expired(f"too old resource version: {asked} ({self._collection.forgotten})")
        return None if there else statuses.too_large_version(asked, self._store.version)

    def end(self) -> None:
        """End the stream after what it is writing now."""
        self._ended = True
        self._wake.set()

    def _changed(self, position: int) -> None:
        """Wake the watch, which reads from ``position`` on: earlier changes do not concern it."""
        if self._unread is None:
            self._unread = position
            self._wake.set()

    def _mark(self) -> None:
        self._bookmark_due = True
        self._wake.set()

    async def stream(self, response: web.StreamResponse) -> None:
        """Write events until the time is over, the client has gone or ``end`` is called."""
        loop = asyncio.get_running_loop()
        unsubscribe = self._collection.subscribe(self._changed, self._selection.topic)
        timer = loop.call_later(self._seconds, self.end)
        ticker = loop.call_later(_BOOKMARK_SECONDS, self._mark) if self._bookmarks else None
        try:
            if self._refused is not None:
                await response.write(error_line(self._refused))
                return
            await self._write_initial(response)
            while True:
                self._wake.clear()
                # Fixed when the changes are read: others happen while they are sent.
                version = self._store.version
                if not await self._write_changes(response):
                    return
                if self._bookmark_due:
                    self._bookmark_due = False
                    await response.write(self._bookmark(version))
                    ticker = loop.call_later(_BOOKMARK_SECONDS, self._mark)
                if self._ended:
                    return
                await self._wake.wait()
        except StatusError as error:
            # An object cannot be converted to the version that is watched.
            await response.write(error_line(error))
        finally:
            unsubscribe()
            timer.cancel()
            if ticker is not None:
                ticker.cancel()

    async def _write_initial(self, response: web.StreamResponse) -> None:
        if self._served.is_converting:
            await conversions.prepared(self._served, self._initial)
            self._initial = [record for record in self._initial if self._matches(record)]
        stretch = Stretch()
        for piece in _pieces(_line(self._next_form(), "ADDED", record) for record in self._initial):
            await response.write(piece)
            await stretch.pause()
        self.sent += len(self._initial)
        self._initial.clear()
        if self._end_marked:
            await response.write(self._bookmark(self._version, {_INITIAL_EVENTS_END: "true"}))

    async def _write_changes(self, response: web.StreamResponse) -> bool:
        """Write what has happened since; False ends the watch."""
        events = self._collection.read(self._unread) if self._unread is not None else []
        self._unread = None
        if events is None:
            gone = statuses.expired("too old resource version: the watch fell behind the history that is kept")
            await response.write(error_line(gone))
            return False
        if self._served.is_converting:
            await conversions.prepared(self._served, self._shown(events))
        stretch = Stretch()
        for piece in _pieces(self._lines(events)):
            await response.write(piece)
            await stretch.pause()
        return True

    def _shown(self, events: list[Event]) -> Iterator[Record]:
        """List the records that have to be converted for some events."""
        for event in events:
            if self.namespace is not None and event.record.key[0] != self.namespace:
                continue
            yield event.record
            if event.previous is not None and self._selection:
                yield event.previous

    def _matches(self, record: Record) -> bool:
        return self._selection.matches(self._served.seen(record))

    def _lines(self, events: list[Event]) -> Iterator[bytes]:
        for event in events:
            if event.version <= self._after:
                continue
            for line in (self._shared(event, event.type, event.record),) if self._plain else self._selected(event):
                self.sent += 1
                yield line

    def _selected(self, event: Event) -> Iterator[bytes]:
        """Convert a change to this watch's events: what is newly selected is added, what no longer is, deleted."""
        if self.namespace is not None and event.record.key[0] != self.namespace:
            return
        before = event.previous is not None and self._matches(event.previous)
        now = event.type != "DELETED" and self._matches(event.record)
        if now:
            yield self._shared(event, "MODIFIED" if before else "ADDED", event.record)
        elif before and event.type == "DELETED":
            yield self._shared(event, "DELETED", event.record)
        elif before and event.previous is not None:
            yield _line(self._next_form(), "DELETED", self._at_version(event.previous, event.version))

    def _shared(self, event: Event, kind: str, record: Record) -> bytes:
        form = self._next_form()
        lines, key = self._collection.lines, (event.version, f"{kind} {form.key}")
        line = lines.get(key)
        if line is None:
            if len(lines) >= _SHARED_LINES:
                del lines[next(iter(lines))]
            line = lines[key] = _line(form, kind, record)
        return line

    def _at_version(self, record: Record, version: int) -> Record:
        """Copy an object as it was last selected, with the version of the change by which it no longer is."""
        seen = self._served.seen(record)
        obj = seen.object()
        obj["metadata"]["resourceVersion"] = str(version)
        body = _encode(obj)
        converted = dict.fromkeys(seen.converted, body) if seen is not record else {}
        return Record(record.key, version, body, seen.index, converted, api_version=record.api_version)

    def _next_form(self) -> Form:
        form = self._form
        self._form = form.later
        return form

    def _bookmark(self, version: int, annotations: Object | None = None) -> bytes:
        metadata: Object = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        return _encode({"type": "BOOKMARK", "object": self._next_form().bookmark(metadata)}) + b"\n"


def _line(form: Form, kind: str, record: Record) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), form.one(record))


def _pieces(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Join small events to fewer writes, so that a burst is sent at once; a large one is not copied for it."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= _WRITE_BYTES:
            yield _joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(lines: list[bytes]) -> bytes:
    return lines[0] if len(lines) == 1 else b"".join(lines)


def _asked(version: str) -> int:
    """Parse the version to start from; 0 for any."""
    try:
        return resource_version(version) or 0
    except ValueError as error:
        # Unlike for a list, the real server answers 500, although the client is at fault.
        raise StatusError(500, "", str(error)) from None


def error_line(error: StatusError) -> bytes:
    """Encode the ERROR event that ends a watch."""
    return _encode({"type": "ERROR", "object": error.status()}) + b"\n"


class Watches:
    """The watches under way, so that a stopping server can end them, and counts of all events sent."""

    def __init__(self) -> None:
        self._active: set[Watch] = set()
        self._sent = Counter[tuple[str, str, str]]()

    def __len__(self) -> int:
        return len(self._active)

    def active(self) -> Iterator[tuple[Kind, str]]:
        """Iterate over the watches under way: kind, and scope as in metrics (``cluster`` or ``namespace``)."""
        for watch in self._active:
            yield watch.kind, "cluster" if watch.namespace is None else "namespace"

    def sent(self) -> Counter[tuple[str, str, str]]:
        """Count the events sent, by group, version and plural."""
        counted = Counter(self._sent)
        for watch in self._active:
            counted[_resource(watch)] += watch.sent
        return counted

    async def run(self, watch: Watch, response: web.StreamResponse) -> None:
        """Stream one watch until it ends, and add its events to those sent."""
        self._active.add(watch)
        try:
            await watch.stream(response)
        finally:
            self._active.discard(watch)
            self._sent[_resource(watch)] += watch.sent

    def end_of(self, storage: str) -> None:
        """End the watches of a collection (``crontabs.stable.example.com``), whose kind has changed or is gone."""
        for watch in [each for each in self._active if each.kind.storage == storage]:
            watch.end()

    def end_all(self) -> None:
        """End every watch under way."""
        for watch in list(self._active):
            watch.end()


def _resource(watch: Watch) -> tuple[str, str, str]:
    return watch.kind.group, watch.kind.version, watch.kind.plural
