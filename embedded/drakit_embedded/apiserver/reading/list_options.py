"""What a request for a collection asks for: selection, page, version, and whether changes are to follow.

Decoded and checked as a whole before anything is done, in the order of kube-apiserver: numbers, selectors, combinations
(``ValidateListOptions`` in k8s.io/apimachinery/pkg/apis/meta/internalversion/validation), fields of the kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.reading import field_selectors, selectors
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.statuses import Cause
from drakit_embedded.apiserver.storage.store import Record, Topic

_FORBIDDEN, _UNSUPPORTED = "FieldValueForbidden", "FieldValueNotSupported"
_NOT_OLDER, _EXACT = "NotOlderThan", "Exact"


class Selection(NamedTuple):
    """Requirements of a label and a field selector; if ``topic`` is given, only objects of it can meet them."""

    labels: Sequence[selectors.Requirement]
    fields: Sequence[selectors.Requirement]
    topic: Topic | None

    def matches(self, record: Record) -> bool:
        """Check whether a record is selected."""
        return all(holds(record.labels) for holds in self.labels) and all(holds(record.fields) for holds in self.fields)

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)


class ListOptions(NamedTuple):
    """metav1.ListOptions with defaults."""

    selection: Selection
    watch: bool
    bookmarks: bool
    # ``resourceVersion`` as it was sent; empty for the newest.
    version: str
    match: str
    seconds: int
    limit: int
    token: str
    initial_events: bool


def decode(served: Served, query: Query, *, watch: bool = False, name: str | None = None) -> ListOptions:
    """Decode and check the options in a query.

    ``watch`` and ``name`` are for the older watch paths, which say in the path that it is a watch, and of which object.

    Raises:
        StatusError: 400 or 422 for options that are malformed or do not go together.
    """
    seconds, limit = query.number("timeoutSeconds") or 0, query.number("limit") or 0
    labels = selectors.parse_labels(query.text("labelSelector"))
    terms = field_selectors.parse(query.text("fieldSelector"))
    watching = watch or query.flag("watch")
    version, match, token = query.text("resourceVersion"), query.text("resourceVersionMatch"), query.text("continue")
    initial = query.flag("sendInitialEvents") if query.given("sendInitialEvents") else None
    if watching and initial is None and not match and version in ("", "0"):
        # A watch without a start version begins with the current objects (SetListOptionsDefaults).
        initial, match = True, _NOT_OLDER
    faults = _watch_faults(match, initial, token) if watching else _list_faults(version, match, initial, token)
    if faults:
        raise statuses.invalid("ListOptions", "meta.k8s.io", "", faults)
    if name is not None:
        terms = (field_selectors.Term("metadata.name", True, name), *terms)
    fields = field_selectors.requirements(terms, served.fields, served.kind) if terms else ()
    return ListOptions(
        selection=Selection(labels, fields, field_selectors.topic(terms, served.fields)),
        watch=watching,
        bookmarks=query.flag("allowWatchBookmarks"),
        version=version,
        match=match,
        seconds=seconds,
        limit=limit,
        token=token,
        initial_events=bool(initial),
    )


def _list_faults(version: str, match: str, initial: bool | None, token: str) -> list[Cause]:
    faults = []
    if match:
        if not version:
            faults.append(_forbidden_match("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if token:
            faults.append(_forbidden_match("resourceVersionMatch is forbidden when continue is provided"))
        if match not in (_EXACT, _NOT_OLDER):
            faults.append(_unsupported_match(match, f'"{_EXACT}", "{_NOT_OLDER}", ""'))
        if match == _EXACT and version == "0":
            faults.append(_forbidden_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        message = "Forbidden: sendInitialEvents is forbidden for list"
        faults.append(Cause(_FORBIDDEN, "sendInitialEvents", message))
    return faults


def _watch_faults(match: str, initial: bool | None, token: str) -> list[Cause]:
    faults = []
    if initial is not None and match != _NOT_OLDER:
        faults.append(_forbidden_match(f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER}"))
    if match:
        if initial is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            faults.append(_forbidden_match(why))
        if match != _NOT_OLDER:
            faults.append(_unsupported_match(match, f'"{_NOT_OLDER}"'))
        if token:
            faults.append(_forbidden_match("resourceVersionMatch is forbidden when continue is provided"))
    return faults


def _forbidden_match(why: str) -> Cause:
    return Cause(_FORBIDDEN, "resourceVersionMatch", f"Forbidden: {why}")


def _unsupported_match(match: str, supported: str) -> Cause:
    message = f"Unsupported value: {quote(match)}: supported values: {supported}"
    return Cause(_UNSUPPORTED, "resourceVersionMatch", message)
