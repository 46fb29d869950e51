"""How objects leave the server: plain, as table rows, or as metadata alone, as the ``Accept`` header asks.

The plain form is put together from stored bytes; nothing is decoded or encoded for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from drakit_embedded.apiserver import tables
from drakit_embedded.apiserver.statuses import Object, not_acceptable
from drakit_embedded.apiserver.store import Record

if TYPE_CHECKING:
    from drakit_embedded.apiserver.catalog import Served

JSON = "application/json"
_encode = msgspec.json.Encoder().encode
_META = "meta.k8s.io"
_TABLE_VERSIONS = ("v1", "v1beta1")
_ACCEPTABLE = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")

Transform = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]


class Form(Protocol):
    """An encoder of records for one kind and one ``Accept`` header; ``key`` tells forms of equal output."""

    key: str
    content_type: str

    def one(self, record: Record) -> bytes:
        """A single object."""
        ...

    def many(self, records: Sequence[Record], metadata: Object) -> bytes:
        """A list with its ListMeta."""
        ...


class Plain:
    """The object as stored, with kind and apiVersion in front; items of a list have neither."""

    content_type = JSON

    def __init__(self, served: Served) -> None:
        kind = served.kind
        self._served = served
        self._head = f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",'.encode()
        self._list_head = f'{{"kind":"{kind.list_kind}","apiVersion":"{kind.api_version}","metadata":'.encode()
        self.key = f"{kind.api_version}/{kind.plural}"

    def one(self, record: Record) -> bytes:
        return self._head + self._served.body(record)[1:]

    def many(self, records: Sequence[Record], metadata: Object) -> bytes:
        if self._served.converter is None:
            items = b",".join([record.body for record in records])
        else:
            items = b",".join([self._served.body(record) for record in records])
        return b"".join((self._list_head, _encode(metadata), b',"items":[', items, b"]}\n"))


class Partial:
    """PartialObjectMetadata: what garbage collectors and metadata informers want to know of every kind."""

    content_type = JSON

    def __init__(self, served: Served, version: str) -> None:
        self._api_version = f"{_META}/{version}"
        self.key = f"{self._api_version} of {served.kind.api_version}/{served.kind.plural}"

    def _item(self, record: Record) -> Object:
        return {
            "kind": "PartialObjectMetadata",
            "apiVersion": self._api_version,
            "metadata": record.object()["metadata"],
        }

    def one(self, record: Record) -> bytes:
        return _encode(self._item(record))

    def many(self, records: Sequence[Record], metadata: Object) -> bytes:
        return _encode(
            {
                "kind": "PartialObjectMetadataList",
                "apiVersion": self._api_version,
                "metadata": metadata,
                "items": [self._item(record) for record in records],
            }
        )


class Table:
    """``meta.k8s.io/v1`` Table, which ``kubectl get`` prints; a row carries as much of its object as was asked for."""

    content_type = JSON

    def __init__(self, served: Served, version: str, include: str) -> None:
        self._served = served
        self._api_version = f"{_META}/{version}"
        self._include = include
        self._printer = tables.printer(served.kind.group, served.kind.plural)
        self.key = f"table {version} {include} of {served.kind.api_version}/{served.kind.plural}"

    def one(self, record: Record) -> bytes:
        metadata = {"resourceVersion": str(record.version)}
        return self.many([record], metadata)

    def many(self, records: Sequence[Record], metadata: Object) -> bytes:
        return _encode(
            {
                "kind": "Table",
                "apiVersion": self._api_version,
                "metadata": metadata,
                "columnDefinitions": self._printer.columns,
                "rows": [self._row(record) for record in records],
            }
        )

    def _row(self, record: Record) -> Object:
        obj = record.object()
        row: Object = {"cells": self._printer.cells(obj)}
        if self._include == "Object":
            row["object"] = msgspec.Raw(_encode(self._served.object(record)))
        elif self._include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": self._api_version,
                "metadata": obj["metadata"],
            }
        return row


def negotiate(accept: str, served: Served, include: str, *, listing: bool) -> Form:
    """The first form of the ``Accept`` header that can be given; 406 if there is none."""
    transform, version = _preferred(accept, listing)
    if transform == "Table":
        return Table(served, version, include or "Metadata")
    if transform:
        return Partial(served, version)
    return served.plain


@lru_cache(maxsize=512)
def _preferred(accept: str, listing: bool) -> tuple[Transform, str]:
    if not accept:
        return "", ""
    partial: Transform = "PartialObjectMetadataList" if listing else "PartialObjectMetadata"
    for clause in accept.split(","):
        media, *words = [word.strip() for word in clause.split(";")]
        if media not in (JSON, "*/*", "application/*"):
            continue
        options = dict(word.partition("=")[::2] for word in words)
        wanted = options.get("as", "")
        if not wanted:
            return "", ""
        if options.get("g") == _META and options.get("v") in _TABLE_VERSIONS:
            if wanted == "Table":
                return "Table", options["v"]
            if wanted == partial:
                return partial, options["v"]
    raise not_acceptable(_ACCEPTABLE[:1])
