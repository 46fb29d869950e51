"""GET of a collection: selection, pages, and the resourceVersion that a watch can continue from.

Pages are of one version: later ones are computed from the history, so a change between two pages neither doubles nor
loses an object. Parameters follow k8s.io/apiserver/pkg/storage/cacher and pkg/storage/continue.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drakit_embedded.apiserver import continuation, selectors, statuses
from drakit_embedded.apiserver.catalog import Served
from drakit_embedded.apiserver.forms import Form, Parts
from drakit_embedded.apiserver.requests import Query, resource_version
from drakit_embedded.apiserver.statuses import Cause, Object
from drakit_embedded.apiserver.store import Key, Record, Store

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


class Selection(NamedTuple):
    """Requirements of a label and a field selector."""

    labels: Sequence[selectors.Requirement]
    fields: Sequence[selectors.Requirement]

    def matches(self, record: Record) -> bool:
        """Whether a record is selected."""
        return all(holds(record.labels) for holds in self.labels) and all(holds(record.fields) for holds in self.fields)

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)


def selection(served: Served, query: Query) -> Selection:
    """The selectors of a request; 400 for one that cannot be read."""
    labels, fields = query.text("labelSelector"), query.text("fieldSelector")
    return Selection(
        selectors.parse_labels(labels) if labels else (),
        selectors.parse_fields(fields, served.fields, served.kind.kind, served.kind.api_version) if fields else (),
    )


def listed(store: Store, served: Served, namespace: str | None, query: Query, form: Form) -> Parts:
    """The encoded answer to a list request."""
    chosen = selection(served, query)
    limit = query.number("limit") or 0
    token = query.text("continue")
    version, after = _start(store, namespace, query, token)
    records = _records(store, served, namespace, version, after, token)
    if chosen:
        records = [record for record in records if chosen.matches(record)]
    metadata: Object = {"resourceVersion": str(version)}
    if 0 < limit < len(records):
        rest = len(records) - limit
        records = records[:limit]
        metadata["continue"] = continuation.encode(version, records[-1].key, namespace)
        if not chosen:
            metadata["remainingItemCount"] = rest
    return form.many(records, metadata)


def _records(
    store: Store, served: Served, namespace: str | None, version: int, after: Key | None, token: str
) -> list[Record]:
    if version == store.version:
        return served.collection.select(namespace, after)
    records = served.collection.select_at(version, namespace, after)
    if records is None:
        raise statuses.expired(
            _TOO_OLD if token else f"The resourceVersion for the provided list is too old: {version}"
        )
    return records


def _start(store: Store, namespace: str | None, query: Query, token: str) -> tuple[int, Key | None]:
    """The version to list at, and the key to start after."""
    asked, match = query.text("resourceVersion"), query.text("resourceVersionMatch")
    version = resource_version(asked)
    _check_match(asked, match, token, query)
    if token:
        if version:
            raise statuses.bad_request("specifying resource version is not allowed when using continue")
        return _continued(token, namespace, store)
    if version is not None and version > store.version:
        raise statuses.too_large_version(version, store.version)
    if version and match == "Exact":
        return version, None
    return store.version, None


def _continued(token: str, namespace: str | None, store: Store) -> tuple[int, Key]:
    version, after = continuation.decode(token, namespace)
    if version > store.version:
        raise statuses.too_large_version(version, store.version)
    return version, after


def _check_match(asked: str, match: str, token: str, query: Query) -> None:
    """The combinations that ValidateListOptions refuses (k8s.io/apimachinery/pkg/apis/internalversion/validation)."""
    path, faults = "resourceVersionMatch", []
    if query.text("sendInitialEvents"):
        message = "Forbidden: sendInitialEvents is forbidden for list"
        faults.append(Cause("FieldValueForbidden", "sendInitialEvents", message))
    if match:
        if not asked:
            message = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
            faults.append(Cause("FieldValueForbidden", path, message))
        if token:
            message = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
            faults.append(Cause("FieldValueForbidden", path, message))
        if match not in ("Exact", "NotOlderThan"):
            message = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
            faults.append(Cause("FieldValueNotSupported", path, message))
        if match == "Exact" and asked == "0":
            message = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            faults.append(Cause("FieldValueForbidden", path, message))
    if faults:
        raise statuses.invalid("ListOptions", "meta.k8s.io", "", faults)
