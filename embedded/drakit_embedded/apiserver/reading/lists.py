"""GET of a collection: pages, and the resourceVersion that a watch can continue from.

Pages are of one version: later ones are computed from the history, so a change between two pages neither doubles nor
loses an object. They expire after some minutes (``storage.aging``), also if the history reaches further back. Which
version is asked for follows k8s.io/apiserver/pkg/storage/cacher/delegator, and continue tokens pkg/storage/continue.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.reading import continuation
from drakit_embedded.apiserver.reading.list_options import ListOptions
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.requests import resource_version
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Key, Record, Store

_LIST_TOO_OLD = "The resourceVersion for the provided list is too old."
_PAGE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
# Version in a token for a list that continues with the objects as they are then.
_LATEST = -1


class _Start(NamedTuple):
    """The version to list at, and the key to start after."""

    version: int
    after: Key | None


class Page(NamedTuple):
    """The records of a page, and its ListMeta."""

    records: list[Record]
    metadata: Object


class Found(NamedTuple):
    """The records of a collection at one version, which no longer change."""

    records: list[Record]
    start: _Start
    namespace: str | None
    options: ListOptions
    # How selectors see a record.
    seen: Callable[[Record], Record]

    def page(self) -> Page:
        """Select the records, and cut them to one page."""
        records, options = self.records, self.options
        chosen = options.selection
        # Version 0 asks for the cache, which ignores the limit.
        limit = options.limit if options.version != "0" else 0
        if chosen:
            records = [record for record in records if chosen.matches(self.seen(record))]
        metadata: Object = {"resourceVersion": str(self.start.version)}
        if 0 < limit < len(records):
            rest = len(records) - limit
            records = records[:limit]
            metadata["continue"] = continuation.encode(self.start.version, records[-1].key, self.namespace)
            if not chosen:
                metadata["remainingItemCount"] = rest
        return Page(records, metadata)


def found(store: Store, served: Served, namespace: str | None, options: ListOptions) -> Found:
    """List the selected objects as they are now, or were at a version.

    Raises:
        StatusError: 400 or 410 for a bad or expired token or version, 504 for a version that is yet to come.
    """
    start = _start(store, options, namespace)
    return Found(_records(store, served, namespace, start, options), start, namespace, options, served.seen)


def _records(store: Store, served: Served, namespace: str | None, start: _Start, options: ListOptions) -> list[Record]:
    if start.version == store.version:
        return served.collection.select(namespace, start.after)
    is_expired = start.version < store.oldest_listed
    records = None if is_expired else served.collection.select_at(start.version, namespace, start.after)
    if records is None:
        raise _too_old(start, namespace) if options.token else statuses.expired(_LIST_TOO_OLD)
    return records


def _too_old(start: _Start, namespace: str | None) -> StatusError:
    """Build the 410 for an expired token, with a token by which the rest can be listed as it is now."""
    refusal = statuses.expired(_PAGE_TOO_OLD)
    assert start.after is not None
    refusal.metadata = {"continue": continuation.encode(_LATEST, start.after, namespace)}
    return refusal


def _start(store: Store, options: ListOptions, namespace: str | None) -> _Start:
    try:
        version = resource_version(options.version)
    except ValueError as error:
        raise statuses.bad_request(f"invalid resource version: {error}") from None
    if options.token:
        token = _Start(*continuation.decode(options.token, namespace))
        if version:
            raise statuses.bad_request("specifying resource version is not allowed when using continue")
        if token.version > store.version:
            raise statuses.too_large_version(token.version, store.version)
        return token if token.version > 0 else _Start(store.version, token.after)
    if version is not None and version > store.version:
        raise statuses.too_large_version(version, store.version)
    # A page of a list is of exactly that version, also without ``resourceVersionMatch``.
    if version and (options.match == "Exact" or (options.limit > 0 and not options.match)):
        return _Start(version, None)
    return _Start(store.version, None)
