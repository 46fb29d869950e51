"""How objects leave the server: plain, as table rows, or as metadata alone, as the ``Accept`` header asks.

The plain form is put together from stored bytes; nothing is decoded or encoded for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError, bad_request
from drakit_embedded.apiserver.storage.store import Record
from drakit_embedded.apiserver.wire import negotiation, tables
from drakit_embedded.apiserver.wire.negotiation import Conversion

JSON = "application/json"
_encode = msgspec.json.Encoder().encode
_META = "meta.k8s.io"
# A list of a thousand slices is 40 MB: it is sent in pieces, to avoid a second and third copy in memory.
_CHUNK_BYTES = 256 * 1024
_META_VERSIONS = ("v1", "v1beta1")
_INCLUDES = ("", "Metadata", "Object", "None")


class Parts(NamedTuple):
    """An encoded list that has not been put together: the bodies are those of the store, separated by commas."""

    head: bytes
    bodies: Sequence[bytes] = ()
    tail: bytes = b""

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return len(self.head) + sum(map(len, self.bodies)) + max(len(self.bodies) - 1, 0) + len(self.tail)

    def whole(self) -> bytes:
        """Join all parts."""
        return b"".join((self.head, b",".join(self.bodies), self.tail))

    def chunks(self) -> Iterator[bytes]:
        """Join all parts to chunks of moderate size."""
        yield self.head
        first = size = 0
        for index, body in enumerate(self.bodies):
            size += len(body)
            if size >= _CHUNK_BYTES:
                separator = b"," if index + 1 < len(self.bodies) else b""
                yield b",".join(self.bodies[first : index + 1]) + separator
                first, size = index + 1, 0
        yield b",".join(self.bodies[first:]) + self.tail


class Form(Protocol):
    """An encoder of records for one kind and one ``Accept`` header; ``key`` tells forms of equal output."""

    key: str
    content_type: str
    # Whether objects go out as they are stored, which takes no time.
    is_stored: bool

    @property
    def later(self) -> Form:
        """The form of all objects of a watch but the first."""
        ...

    def one(self, record: Record) -> bytes:
        """Encode a single object."""
        ...

    def many(self, records: Sequence[Record], metadata: Object) -> Parts:
        """Encode a list with its ListMeta."""
        ...

    def bookmark(self, metadata: Object) -> Object:
        """Build an object that tells watchers nothing but what is in its metadata."""
        ...


class Plain:
    """The object as stored, with kind and apiVersion in front; items of a list have neither."""

    content_type = JSON

    def __init__(self, served: Served) -> None:
        kind = served.kind
        self._served, self.is_stored = served, served.is_stored
        self._head = f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",'.encode()
        self._list_head = f'{{"kind":"{kind.list_kind}","apiVersion":"{kind.api_version}","metadata":'.encode()
        if kind.definition is not None:
            # Upstream has no struct of these, but a map, which it prints by its keys.
            self._head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}",'.encode()
        self.key = f"{kind.api_version}/{kind.plural}"

    @property
    def later(self) -> Form:
        """The same form: all events are encoded alike."""
        return self

    def one(self, record: Record) -> bytes:
        """Encode the object in the version of the request."""
        return self._head + self._served.body(record)[1:]

    def many(self, records: Sequence[Record], metadata: Object) -> Parts:
        """Encode the objects in the version of the request."""
        if self._served.is_stored:
            bodies = [record.body for record in records]
        else:
            bodies = [self._served.body(record) for record in records]
        if self._served.kind.definition is not None:
            return self._custom(bodies, metadata)
        head = self._list_head + _encode(metadata) + b',"items":['
        return Parts(head, bodies, b"]}\n")

    def _custom(self, bodies: Sequence[bytes], metadata: Object) -> Parts:
        """Build a list of custom resources, which says the type of each item, too."""
        kind = self._served.kind
        head = f'{{"apiVersion":"{kind.api_version}","items":['.encode()
        tail = f'],"kind":"{kind.list_kind}","metadata":'.encode()
        return Parts(
            head, [self._head + body[1:] for body in bodies], tail + _encode({"continue": "", **metadata}) + b"}\n"
        )

    def bookmark(self, metadata: Object) -> Object:
        """Build a bookmark of the kind that is watched."""
        kind = self._served.kind
        return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}


class _Stored(msgspec.Struct):
    """The metadata of a stored object, decoded without the rest."""

    metadata: msgspec.Raw


_metadata_of = msgspec.json.Decoder(_Stored).decode


class Partial:
    """The form PartialObjectMetadata, which garbage collectors and metadata informers ask for."""

    content_type = JSON
    is_stored = False

    def __init__(self, served: Served, version: str) -> None:
        # Conversion by a program may change labels and annotations.
        self._served = served if served.is_converting else None
        self._api_version = f"{_META}/{version}"
        head = '{"kind":"%s","apiVersion":"%s","metadata":'
        self._head = (head % ("PartialObjectMetadata", self._api_version)).encode()
        self._list_head = (head % ("PartialObjectMetadataList", self._api_version)).encode()
        self.key = f"{self._api_version} of {served.kind.api_version}/{served.kind.plural}"

    @property
    def later(self) -> Form:
        """The same form: all events are encoded alike."""
        return self

    def one(self, record: Record) -> bytes:
        """Encode the metadata as a PartialObjectMetadata."""
        body = record.body if self._served is None else self._served.body(record)
        return b"%b%b}" % (self._head, _metadata_of(body).metadata)

    def many(self, records: Sequence[Record], metadata: Object) -> Parts:
        """Encode the metadata of the objects as a PartialObjectMetadataList."""
        head = self._list_head + _encode(metadata)
        if not records:
            # The real server prints an empty list as null here, unlike elsewhere.
            return Parts(head + b',"items":null}\n')
        return Parts(head + b',"items":[', [self.one(record) for record in records], b"]}\n")

    def bookmark(self, metadata: Object) -> Object:
        """Build a bookmark that is a PartialObjectMetadata."""
        return {"kind": "PartialObjectMetadata", "apiVersion": self._api_version, "metadata": metadata}


class Table:
    """``meta.k8s.io/v1`` Table, which ``kubectl get`` prints; a row carries as much of its object as was asked for.

    Without ``headers`` it does not say what the columns are.
    """

    content_type = JSON
    is_stored = False

    def __init__(self, served: Served, version: str, include: str, *, headers: bool = True) -> None:
        self._served, self._version, self._include = served, version, include
        self._api_version = f"{_META}/{version}"
        self._printer = tables.of_kind(served.kind)
        self._headers = self._printer.columns if headers else None
        named = "table" if headers else "later table"
        self.key = f"{named} {version} {include} of {served.kind.api_version}/{served.kind.plural}"

    @property
    def later(self) -> Form:
        # k8s.io/apiserver/pkg/endpoints/handlers/response.go watchEmbeddedEncoder
        """The form without column definitions, which only the first event of a watch has."""
        return self if self._headers is None else Table(self._served, self._version, self._include, headers=False)

    def one(self, record: Record) -> bytes:
        """Encode a Table with one row."""
        metadata = {"resourceVersion": str(record.version)}
        return _encode(self._table([self._row(record)], metadata))

    def many(self, records: Sequence[Record], metadata: Object) -> Parts:
        """Encode a Table with a row for each object."""
        return Parts(_encode(self._table([self._row(record) for record in records], metadata)))

    def bookmark(self, metadata: Object) -> Object:
        """Build a bookmark that is a Table with one row, in which all cells but those of metadata are empty."""
        cells = self._printer.cells({"metadata": {"name": "", **metadata}})
        if self._include == "Object":
            shown: Object | None = Plain(self._served).bookmark(metadata)
        elif self._include == "None" and "annotations" not in metadata:
            shown = None
        else:
            # An annotation marks the end of the initial events, so it is always sent with its row.
            shown = self._partial(metadata)
        version = {"resourceVersion": metadata["resourceVersion"]}
        return self._table([{"cells": cells, "object": shown}], version)

    def _table(self, rows: list[Object], metadata: Object) -> Object:
        return {
            "kind": "Table",
            "apiVersion": self._api_version,
            "metadata": metadata,
            "columnDefinitions": self._headers,
            "rows": rows,
        }

    def _row(self, record: Record) -> Object:
        obj = self._served.stored(record)
        row: Object = {"cells": self._printer.cells(obj)}
        if self._include == "Object":
            row["object"] = msgspec.Raw(_encode(self._served.object(record)))
        elif self._include == "None":
            row["object"] = None
        else:
            row["object"] = self._partial(obj["metadata"])
        return row

    def _partial(self, metadata: Object) -> Object:
        return {"kind": "PartialObjectMetadata", "apiVersion": self._api_version, "metadata": metadata}


def negotiate(accept: str, served: Served, include: str, *, listing: bool, watching: bool = False) -> Form:
    """Choose the first form in the ``Accept`` header that can be served.

    ``include`` says which objects the rows of a table carry: Metadata (or nothing), Object, None.

    Raises:
        StatusError: 406 if there is none, 400 for a wrong ``include``.
    """
    offered: tuple[str, ...] = negotiation.COLLECTION if listing or watching else negotiation.OBJECT
    if served.kind.definition is not None:
        offered = negotiation.NO_ROUTE  # custom resources come and go, which go-restful's routes do not
    schemas = negotiation.OF_OBJECTS
    conversion = negotiation.accepted(accept, _may_be, offered, schemas=schemas, stream=watching).conversion
    if conversion is None:
        return Plain(served)
    if conversion.kind == "Table":
        if include not in _INCLUDES:
            shown = f"includeObject: Invalid value: {quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
            raise bad_request(f"Unable to convert to Table as requested: {shown}")
        return Table(served, conversion.version, include or "Metadata")
    if not watching:
        _check_partial(conversion.kind, served.kind, listing=listing)
    return Partial(served, conversion.version)


def _may_be(conversion: Conversion | None) -> bool:
    if conversion is None:
        return True
    known = conversion.kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
    return known and conversion.group == _META and conversion.version in _META_VERSIONS


def check_untabled(accept: str) -> None:
    """Refuse with 406 who takes nothing but a table of reviews, which have none (AllowsMediaTypeTransform)."""
    negotiation.accepted(accept, _may_be_untabled, negotiation.OBJECT, schemas=negotiation.OF_OBJECTS)


def _may_be_untabled(conversion: Conversion | None) -> bool:
    return conversion is None or (conversion.kind != "Table" and _may_be(conversion))


def _check_partial(asked: str, kind: Kind, *, listing: bool) -> None:
    package = kind.group.partition(".")[0] or "core"
    custom = kind.definition is not None
    if listing and asked == "PartialObjectMetadata":
        named = "unstructured.UnstructuredList" if custom else f"{package}.{kind.list_kind}"
        why = f"the requested object is a list (*{named})"
    elif not listing and custom and asked == "PartialObjectMetadataList":
        raise StatusError(500, "", "content is not a list")
    elif not listing and asked == "PartialObjectMetadataList":
        why = f"the requested object is not a list (*{package}.{kind.kind})"
    else:
        return
    raise StatusError(406, "NotAcceptable", f"you requested {asked}, but {why}")


def wants_table(accept: str) -> bool:
    """Check whether a table is the first form that can be given."""
    schemas = negotiation.OF_OBJECTS
    conversion = negotiation.accepted(accept, _may_be, negotiation.OBJECT, schemas=schemas).conversion
    return conversion is not None and conversion.kind == "Table"


def scale_table(scale: Object) -> Object:
    """Build the Table of a Scale, which is no kind of its own."""
    printer = tables.printer("autoscaling", "scales")
    return {
        "kind": "Table",
        "apiVersion": f"{_META}/v1",
        "metadata": {"resourceVersion": scale["metadata"].get("resourceVersion", "")},
        "columnDefinitions": printer.columns,
        "rows": [{"cells": printer.cells(scale), "object": scale}],
    }
