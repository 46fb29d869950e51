"""What a write other than apply does to the entries: whoever changes a field owns it, and nobody owns what is gone.

k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go, managedfieldsupdater.go and
sigs.k8s.io/structured-merge-diff/v6/merge/update.go.
"""

from __future__ import annotations

from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.managedfields import entries, fieldsets, reset_fields, versions
from drakit_embedded.apiserver.managedfields.entries import UPDATE, Entry, Identity
from drakit_embedded.apiserver.managedfields.versions import Comparisons, UnknownVersion
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.scheme.kinds import Kind

# Manager of the fields that an object without entries had before its first apply.
_BEFORE_FIRST_APPLY = "before-first-apply"
_NOTHING: Object = {}


class Writer(NamedTuple):
    """Who writes: the manager, the kind in the version of the request, and the subresource ("" for none)."""

    manager: str
    kind: Kind
    subresource: str = ""

    def identity(self, operation: str) -> Identity:
        """Build the identity of the writer's entry."""
        version = self.kind.api_version if operation == UPDATE else ""
        return Identity(self.manager or "unknown", operation, version, self.subresource)


def track(writer: Writer, old: Object | None, new: Object) -> None:
    """Set the entries of ``new``, which has its defaults and is about to replace ``old``."""
    given = new["metadata"].pop("managedFields", None)
    live: list[Entry] = old["metadata"].get("managedFields", []) if old is not None else []
    current = live if writer.subresource else _current(given, live)
    if current or old is None:
        try:
            current = _updated(writer, current, old if old is not None else _NOTHING, new)
        except (AttributeError, KeyError, TypeError):
            # A custom resource that its schema cannot hold: the entries stay, and its rules refuse it later.
            if writer.kind.definition is None:
                raise
    if current:
        new["metadata"]["managedFields"] = current


def _current(given: list[Entry] | None, live: list[Entry]) -> list[Entry]:
    """Choose the entries that a client sent, if they can be read, or those of the stored object (decodeLiveOrNew)."""
    if given is None or given == live:
        return live
    if given in ([], [{}]):
        return []
    try:
        return entries.read(given)
    except entries.MalformedEntries:
        return live


def before_first_apply(writer: Writer, live: Object) -> list[Entry]:
    """Build the entries of an object that has none yet: one unknown manager owns all of it."""
    return _updated(writer._replace(manager=_BEFORE_FIRST_APPLY), [], _NOTHING, live)


def _updated(writer: Writer, current: list[Entry], old: Object, new: Object) -> list[Entry]:
    kind = writer.kind
    differences = versions.of_stored(kind, old, new, reset_fields.of(kind, writer.subresource))
    mine = differences.of(kind.api_version)
    if not mine.touched:
        return current
    left = remaining(current, differences)
    if mine.changed:
        left = _taken(writer.identity(UPDATE), kind.api_version, mine.changed, left, current)
    return entries.in_order(entries.capped(left))


def remaining(current: list[Entry], differences: Comparisons) -> list[Entry]:
    """Remove from the entries what was changed or removed; those of unknown versions are dropped."""
    kept = []
    for entry in current:
        try:
            touched = differences.of(entry["apiVersion"]).touched
        except UnknownVersion:
            continue
        fields = entry["fieldsV1"]
        left = fieldsets.difference(fields, touched)
        if left:
            kept.append(entry if left is fields else {**entry, "fieldsV1": left})
    return kept


def _taken(
    who: Identity, api_version: str, fields: fieldsets.Tree, left: list[Entry], before: list[Entry]
) -> list[Entry]:
    """Add to the entries the fields that the writer owns now."""
    others = [entry for entry in left if entries.identity(entry) != who]
    if len(others) < len(left):
        previous = next(entry for entry in left if entries.identity(entry) == who)
        fields = fieldsets.union(fields, previous["fieldsV1"])
    # Most writers own the same fields each time.
    stood = next((entry for entry in before if entries.identity(entry) == who), None)
    if stood is not None and stood["fieldsV1"] == fields:
        return [*others, {**stood, "time": metadata.timestamp()}]
    return [*others, entries.made(who, api_version, fields, metadata.timestamp())]
