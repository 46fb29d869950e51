"""What the server knows: every object once as encoded bytes, and the recent changes that watches resume from.

An object is encoded when it changes and never again: answers, lists and watch events are made of the same bytes.
Decoded objects are not kept, because a slice of 40 KB takes a third of a megabyte as Python objects and decodes in
0.2 ms; whoever needs one decodes a copy of its own and may change it freely.

All methods are synchronous and called from one event loop, so a read-check-write sequence between two awaits is a
transaction; long ones are made in a thread (``turns``), and their changes in the loop's. Versions are numbers here and
strings in objects.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import raw_extensions
from drakit_api.typed_objects import ObjectMeta
from drakit_embedded.apiserver.storage.journal import Change, Journal
from drakit_embedded.apiserver.storage.limits import StoredKind, TooLargeError
from drakit_embedded.serving.background import LoopThread

Key = tuple[str, str]
EventType = Literal["ADDED", "MODIFIED", "DELETED"]
# Reads the values that field selectors of a kind can ask for.
FieldValues = Callable[[Object], dict[str, str]]
# Called with the position of a change.
Wake = Callable[[int], None]

HISTORY_EVENTS = 10_000
HISTORY_BYTES = 64 * 1024 * 1024
_COMPACT_BATCH = 512
_EMBEDDING = frozenset(f"{plural}.resource.k8s.io" for plural in raw_extensions.PLURALS)
log = logging.getLogger(__name__)

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Index(NamedTuple):
    """What of an object selectors and preconditions ask for."""

    uid: str
    labels: dict[str, str]
    fields: dict[str, str]

    @staticmethod
    def of(obj: Object, fields: FieldValues) -> Index:
        """Read it from a decoded object."""
        metadata: ObjectMeta = obj["metadata"]
        return Index(metadata.get("uid", ""), metadata.get("labels") or {}, fields(obj))


@dataclass(slots=True, eq=False)
class Record:
    """One version of one object. ``body`` is its JSON without kind and apiVersion, which are the API version's.

    The index of what comes from a file is made when it is asked for: to decode a thousand slices would take longer than
    all the rest of a start.
    """

    key: Key
    version: int
    body: bytes
    index: Index | FieldValues
    # Bodies in other API versions, encoded on first use, by what tells these (``Served.form_key``).
    converted: dict[str, bytes] = field(default_factory=dict)
    # Embedded objects as the client sent them, if they are encoded otherwise; only updates need them.
    texts: raw_extensions.Texts | None = None
    # Whether this process has validated it; objects from a file may be of another process with other gates.
    is_valid: bool = False
    # Of a custom resource: the API version in which it is stored.
    api_version: str = ""

    @property
    def uid(self) -> str:
        """``metadata.uid``, or the empty string."""
        return self._indexed().uid

    @property
    def labels(self) -> dict[str, str]:
        """``metadata.labels``."""
        return self._indexed().labels

    @property
    def fields(self) -> dict[str, str]:
        """Values of the fields that selectors of the kind can ask for, by path."""
        return self._indexed().fields

    def _indexed(self) -> Index:
        if not isinstance(self.index, Index):
            self.index = Index.of(self.object(), self.index)
        return self.index

    def object(self) -> Object:
        """Decode a copy, without kind and apiVersion."""
        decoded: Object = _decode(self.body)
        if self.texts is not None:
            raw_extensions.restore(decoded, self.texts)
        return decoded


@dataclass(slots=True, eq=False)
class Event:
    """One change: ``record`` is the new state (the last one if deleted), ``previous`` the one that it replaced."""

    version: int
    type: EventType
    record: Record
    previous: Record | None
    collection: Collection


class Topic(NamedTuple):
    """The objects that have a value in one of the fields that selectors can ask for."""

    path: str
    value: str


class Collection:
    """All objects of one kind, in the order of their keys, and the recent changes to them."""

    def __init__(self, kind: str, fields: FieldValues, stored: StoredKind | None = None) -> None:
        self.kind = kind
        self.fields = fields
        self.stored = stored
        self.records: dict[Key, Record] = {}
        # Changes up to this version are no longer in the history.
        self.forgotten = 0
        # The newest encoded events, which watchers share, and whose number they limit; by (version, type and form).
        self.lines: dict[tuple[int, str], bytes] = {}
        self._keys: list[Key] = []
        self._events: list[Event] = []
        self._dropped = 0
        self._wakers: set[Wake] = set()
        # Listeners to changes of one topic only, by its path and value.
        self._topics: dict[str, dict[str, set[Wake]]] = {}

    def get(self, namespace: str, name: str) -> Record | None:
        """Look up the current version of an object."""
        return self.records.get((namespace, name))

    def select(self, namespace: str | None, after: Key | None = None) -> list[Record]:
        """List current records in key order: of one namespace, or (None) of all; only those after a key, if given."""
        keys, records = self._keys, self.records
        start, end = _key_range(keys, namespace, after)
        return [records[key] for key in keys[start:end]]

    def select_at(self, version: int, namespace: str | None, after: Key | None) -> list[Record] | None:
        """List records as of an older version; None if the history does not reach back to it."""
        if version < self.forgotten:
            return None
        past: dict[Key, Record | None] = {}
        for event in reversed(self.events_after(version)):
            past[event.record.key] = event.previous
        if not past:
            return self.select(namespace, after)
        then = {**self.records, **past}
        # Sorted except for objects that have been deleted since, so sorting is quick.
        keys = [*self._keys, *(key for key in past if key not in self.records)]
        keys.sort()
        start, end = _key_range(keys, namespace, after)
        return [record for key in keys[start:end] if (record := then[key]) is not None]

    def events_after(self, version: int) -> list[Event]:
        """List the events newer than a version that is still known."""
        start = bisect_right(self._events, version, key=lambda event: event.version)
        return self._events[start:]

    def position(self, version: int) -> int | None:
        """Find where a watch from ``version`` starts reading; None if events since then have been forgotten."""
        if version < self.forgotten:
            return None
        return self._dropped + bisect_right(self._events, version, key=lambda event: event.version)

    def read(self, position: int) -> list[Event] | None:
        """List the events from a position on; None if some of them have been forgotten."""
        if position < self._dropped:
            return None
        return self._events[position - self._dropped :]

    def subscribe(self, wake: Wake, topic: Topic | None = None) -> Callable[[], None]:
        """Call ``wake`` after each change, or only of objects that are or were of a topic; the result ends that."""
        if topic is None:
            self._wakers.add(wake)
            return lambda: self._wakers.discard(wake)
        by_value = self._topics.setdefault(topic.path, {})
        by_value.setdefault(topic.value, set()).add(wake)

        def end() -> None:
            wakers = by_value.get(topic.value, set())
            wakers.discard(wake)
            if not wakers:
                by_value.pop(topic.value, None)

        return end

    def apply(self, event: Event) -> None:
        """Show a stored change to readers and watches."""
        key = event.record.key
        if event.type == "DELETED":
            del self.records[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            if key not in self.records:
                insort(self._keys, key)
            self.records[key] = event.record
        self._events.append(event)
        self._tell(event, self._dropped + len(self._events) - 1)

    def _tell(self, event: Event, position: int) -> None:
        for wake in self._wakers:
            wake(position)
        states = [event.record] if event.previous is None else [event.record, event.previous]
        for path, by_value in self._topics.items():
            if not by_value:
                continue  # No watch listens; reading the field may mean decoding the body.
            for value in {state.fields.get(path, "") for state in states}:
                for wake in by_value.get(value, ()):
                    wake(position)

    def describe(self, fields: FieldValues, stored: StoredKind, version: int) -> None:
        """Declare anew what selectors can ask for and how the kind is stored.

        Watches cannot resume from before ``version``, as what they saw was of another kind or schema.
        """
        self.fields, self.stored, self.forgotten = fields, stored, max(self.forgotten, version)
        self.lines.clear()
        for record in self.records.values():
            record.index = fields
            record.converted.clear()

    def forget_oldest(self) -> None:
        """Drop the oldest event from the history."""
        self.forgotten = max(self.forgotten, self._events[0].version)
        del self._events[0]
        self._dropped += 1


def _record(collection: Collection, key: Key, version: int, obj: Object, form: Object, stored_in: str) -> Record:
    """Build a record; ``form`` is how the object is stored, in which parts may be ``msgspec.Raw``."""
    # Of a custom resource, the object may be in another version than its stored form.
    index = Index.of(form if stored_in else obj, collection.fields)
    record = Record(key, version, _encode(form), index, api_version=stored_in)
    if collection.kind in _EMBEDDING:
        record.texts = raw_extensions.texts_of(form)
    return record


def _row(record: Record) -> bytes:
    """Put together what the file keeps of a record; JSON that is printed in one line has no end of a line in it."""
    more = record.texts if record.texts is not None else record.api_version or None
    return record.body if more is None else record.body + b"\n" + _encode(more)


def _check_size(collection: Collection, record: Record, replaced: int) -> None:
    """Raise ``TooLargeError`` if etcd would not take a record that replaces a version (0: none)."""
    if collection.stored is not None:
        collection.stored.check(*record.key, record.body, record.texts, replaced)


def _key_range(keys: list[Key], namespace: str | None, after: Key | None) -> tuple[int, int]:
    start, end = 0, len(keys)
    if namespace is not None:
        start = bisect_left(keys, (namespace, ""))
        end = bisect_left(keys, (namespace + "\0", ""))
    if after is not None:
        start = max(start, bisect_right(keys, after))
    return start, end


class Store:
    """All collections, one version counter, and the journal that outlives the process (if there is a file)."""

    def __init__(self, data_file: Path | None = None, *, events: int | None = None, size: int | None = None) -> None:
        self.version = 0
        self._collections: dict[str, Collection] = {}
        self._journal = Journal(data_file) if data_file is not None else None
        self._limit_events, self._limit_bytes = events or HISTORY_EVENTS, size or HISTORY_BYTES
        self._history: deque[Event] = deque()
        self._history_bytes = 0
        # The newest version that is no longer in the history.
        self._compacted = 0
        # Lists of versions before this one are expired, though the history may have them: watches continue from it.
        self.oldest_listed = 0
        self._noted = 0
        # The loop in which changes are made and announced, whichever thread computed them.
        self.home: LoopThread | None = None
        # Rows to be deleted: outside the history, and not the newest of an object.
        self._superseded: list[int] = []

    def collection(self, kind: str, fields: FieldValues, stored: StoredKind | None = None) -> Collection:
        """Declare a kind; all are declared before ``load``. Sizes are bounded of those that say how they are stored."""
        return self._collections.setdefault(kind, Collection(kind, fields, stored))

    def named(self, kind: str) -> Collection:
        """Look up the collection of a declared kind (``pods``, ``deviceclasses.resource.k8s.io``)."""
        return self._collections[kind]

    def load(self) -> None:
        """Read the journal: afterwards everything is as it was when the last server wrote its last change.

        Raises ``JournalError`` if the file is damaged, and leaves it as it is.
        """
        if self._journal is None:
            self.version = 1
            return
        with self._journal.reading():
            self._compacted = self._journal.compacted()
            self.oldest_listed = self._journal.oldest_listed()
            version = max(self._journal.last_version(), 1)
            for change in self._journal.changes():
                collection = self._collections.get(change.kind) or self.collection(change.kind, lambda _: {})
                self._replay(collection, change)
        self._journal.check()
        self.version = version
        for collection in self._collections.values():
            collection.forgotten = max(collection.forgotten, self._compacted)
        self._tell_too_large()

    def _tell_too_large(self) -> None:
        """Name the objects that a former release has taken and that no write can replace by anything as large."""
        for collection in self._collections.values():
            for key, record in collection.records.items():
                try:
                    _check_size(collection, record, record.version)
                except TooLargeError as error:
                    name = "/".join(part for part in key if part)
                    log.warning(
                        "%s %s is larger than etcd would take (%s): it is served; delete it, or make it smaller",
                        *(collection.kind, name, error),
                    )

    def _replay(self, collection: Collection, change: Change) -> None:
        key = (change.namespace, change.name)
        body, _, more = change.body.partition(b"\n")
        record = Record(key, change.version, body, collection.fields)
        if more:
            found = _decode(more)
            if isinstance(found, str):
                record.api_version = found
            else:
                record.texts = tuple(found)
        previous = collection.records.get(key)
        if change.deleted and previous is None:
            # Files of former versions lack the replaced objects of the history, so watches cannot resume there.
            self._superseded.append(change.version)
            self._compacted = max(self._compacted, change.version)
            return
        kind: EventType = "DELETED" if change.deleted else "MODIFIED" if previous else "ADDED"
        self._remember(Event(change.version, kind, record, previous, collection))

    def close(self) -> None:
        """Compact the journal and close its file, if there is one."""
        if self._journal is None:
            return
        try:
            self._compact()
        finally:
            self._journal.close()

    def put(
        self,
        collection: Collection,
        key: Key,
        obj: Object,
        form: Object | None = None,
        *,
        stored_in: str = "",
        dry_run: bool = False,
    ) -> Record:
        """Create or replace an object, or only make a ``draft``; ``form`` is how it is stored, if not as it is.

        ``stored_in`` is the API version of the stored form of a custom resource.
        ``metadata.resourceVersion`` is set in what is stored; kind and apiVersion must be gone. Raises
        ``TooLargeError``, and changes nothing, if etcd would not take the object.
        """
        if dry_run:
            return self.draft(collection, key, obj, form, stored_in=stored_in)
        return self._commit(collection, key, obj, form, stored_in)

    def draft(
        self, collection: Collection, key: Key, obj: Object, form: Object | None = None, *, stored_in: str = ""
    ) -> Record:
        """Build the record that ``put`` would store, for a dry run; its version is that of the stored object, or 0."""
        stored = collection.records.get(key)
        return _record(collection, key, stored.version if stored else 0, obj, form or obj, stored_in)

    def delete(self, collection: Collection, key: Key, obj: Object) -> Record:
        """Remove an object; ``obj`` is its last state, which watchers get with the version of the deletion."""
        stored_in = collection.records[key].api_version if key in collection.records else ""
        return self._commit(collection, key, obj, None, stored_in, deleted=True)

    def _commit(
        self,
        collection: Collection,
        key: Key,
        obj: Object,
        form: Object | None,
        stored_in: str,
        *,
        deleted: bool = False,
    ) -> Record:
        previous, version, form = collection.records.get(key), self.version + 1, form or obj
        kind: EventType = "DELETED" if deleted else "MODIFIED" if previous else "ADDED"
        form["metadata"]["resourceVersion"] = str(version)
        record = _record(collection, key, version, obj, form, stored_in)
        if not deleted:
            _check_size(collection, record, previous.version if previous else 0)
        event = Event(version, kind, record, previous, collection)
        if self.home is None:
            self._make(event)
        else:
            self.home.call(lambda: self._make(event))
        return record

    def _make(self, event: Event) -> None:
        """Write a change to the journal; from here on it survives the end of this process."""
        record, deleted = event.record, event.type == "DELETED"
        assert event.version == self.version + 1, "two writes at once"
        if self._journal is not None:
            self._journal.append(Change(event.version, event.collection.kind, *record.key, deleted, _row(record)))
        self.version = event.version
        self._remember(event)

    def _remember(self, event: Event) -> None:
        event.collection.apply(event)
        self._history.append(event)
        self._history_bytes += len(event.record.body)
        while len(self._history) > self._limit_events or self._history_bytes > self._limit_bytes:
            self._forget(self._history.popleft())
        if len(self._superseded) >= _COMPACT_BATCH:
            self._compact()

    def _forget(self, event: Event) -> None:
        self._history_bytes -= len(event.record.body)
        event.collection.forget_oldest()
        self._compacted = max(self._compacted, event.version)
        # The row that an event replaced stays in the file as long as the event is in the history.
        if event.previous is not None:
            self._superseded.append(event.previous.version)
        if event.type == "DELETED":
            self._superseded.append(event.version)

    def _compact(self) -> None:
        if not self.version:
            # The file has not been read completely, and perhaps cannot be.
            return
        if self._journal is not None and self._superseded:
            self._journal.compact(self._superseded, self._compacted, self.version, self.oldest_listed)
        self._superseded.clear()

    def expire_lists(self) -> None:
        """Expire the lists of all versions up to the last call; called at intervals, in a turn of its own.

        As with etcd, where the compactor's own note is a change (k8s.io/apiserver/pkg/storage/etcd3/compact.go), this
        takes a version, so that also what was listed while nothing else changed will expire.
        """
        oldest, version = self._noted or self.oldest_listed, self.version + 1
        if self._journal is not None:
            self._journal.compact(self._superseded, self._compacted, version, oldest)
            self._superseded.clear()
        self.version = self._noted = version
        self.oldest_listed = oldest

    def collections(self) -> Iterator[Collection]:
        """Iterate over the collections of all declared kinds."""
        return iter(self._collections.values())
