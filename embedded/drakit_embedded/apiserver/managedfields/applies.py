"""Server-side apply: a manager says what it wants of an object, and what it no longer says goes away.

k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go and
sigs.k8s.io/structured-merge-diff/v6/merge/update.go.
"""

from __future__ import annotations

from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding
from drakit_api.objects.raw_extensions import KINDS, print_sorted
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.managedfields import (
    conflicts,
    entries,
    fieldsets,
    lastapplied,
    merging,
    reset_fields,
    shapes,
    typechecks,
    updates,
    versions,
)
from drakit_embedded.apiserver.managedfields.comparisons import of_configuration
from drakit_embedded.apiserver.managedfields.completion import completed
from drakit_embedded.apiserver.managedfields.conflicts import Conflicts
from drakit_embedded.apiserver.managedfields.entries import APPLY, Entry
from drakit_embedded.apiserver.managedfields.fieldsets import Tree
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.managedfields.versions import UnknownVersion
from drakit_embedded.apiserver.scheme import metadata, structures
from drakit_embedded.apiserver.scheme.kinds import Kind

_WRONG_TIME = "parsing time "


def applied(writer: Writer, stored: Object | None, config: Object, *, force: bool) -> Object:
    """Apply a configuration to an object, and set its new entries; the result is in the version of the request.

    ``stored`` is the object in the version of the request, too.

    Raises:
        StatusError: 409 if another manager owns what would change, 400 or 500 for a malformed configuration.
    """
    kind = writer.kind
    check(kind, config)
    if stored is not None and kind.definition is not None:
        _check_stored(kind, stored)
    live = shown = completed(stored or {}, kind, kind.api_version)
    if kind.definition is not None and stored is not None and (wrong := typechecks.faults(live, kind)):
        raise statuses.StatusError(500, "", f"failed to create typed live object ({_named(kind, live)}): {wrong}")
    if kind.kind in KINDS and kind.definition is None:
        # Objects in raw extensions are compared as values, and encoded anew only if they changed.
        live, config = print_sorted(completed(shown, kind, kind.api_version)), print_sorted(config)
    current: list[Entry] = stored["metadata"].get("managedFields", []) if stored is not None else []
    if not current and stored is not None:
        current = updates.before_first_apply(writer, stored)
    step = _Application(writer, live, config, current)
    fought = step.conflicts
    if writer.manager == lastapplied.MANAGER and fought:
        fought = lastapplied.without_allowed(fought, live, kind)
    if fought and not force:
        raise conflicts.refusal(fought)
    found = dict(step.object) if step.changed else shown
    now = step.entries()
    kept = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    found["metadata"] = {**kept, **({"managedFields": now} if now else {})}
    if writer.manager == lastapplied.MANAGER:
        lastapplied.renew(found, config)
    return found


def check(kind: Kind, config: Object) -> None:
    """Check what can be checked of a configuration without the object.

    Raises:
        StatusError: 400 for one of another type, or with managed fields; 500 if it is malformed.
    """
    found_version, found_kind = _text(config.get("apiVersion")), _text(config.get("kind"))
    if (found_version, found_kind) != (kind.api_version, kind.kind):
        raise statuses.bad_request(f"invalid object type: {_type_text(found_version, found_kind)}")
    unread = _unread_managed_fields(config.get("metadata"))
    if unread == "":
        raise statuses.bad_request("metadata.managedFields must be nil")
    wrong = typechecks.faults(config, kind)
    if wrong:
        raise statuses.StatusError(500, "", f"failed to create typed patch object ({_named(kind, config)}): {wrong}")
    if unread and unread.startswith(_WRONG_TIME) and kind.definition is None:
        raise unconvertible(kind, config, unread)


def _unread_managed_fields(meta: Any) -> str | None:
    """Say why the managed fields in metadata cannot be read, and so are overlooked; None if there are none."""
    entries = meta.get("managedFields") if isinstance(meta, dict) else None
    if not isinstance(entries, list):
        return None
    try:
        for entry in entries:
            decoding.decode_part(structures.others(), "meta/v1.ManagedFieldsEntry", entry, "ManagedFieldsEntry", "")
    except decoding.DecodeError as error:
        return str(error)
    return ""


def _check_stored(kind: Kind, stored: Object) -> None:
    """Check an object that may have been written under another schema than it has now."""
    wrong = typechecks.faults(stored, kind, may_repeat=True)
    if wrong:
        raise statuses.StatusError(500, "", f"failed to create typed live object ({_named(kind, stored)}): {wrong}")


def unconvertible(kind: Kind, config: Object, why: str) -> statuses.StatusError:
    """Build the refusal of a merged object that its Go type cannot hold."""
    what = f"failed to convert new object ({_named(kind, config)}) to proper version"
    into = _type_text(kind.api_version, kind.kind)
    return statuses.StatusError(500, "", f"{what}: unable to convert unstructured object to {into}: {why}")


def _named(kind: Kind, config: Object) -> str:
    """Name a configuration as error messages do (objectGVKNN)."""
    meta = config.get("metadata")
    named = meta if isinstance(meta, dict) else {}
    where = f"{_text(named.get('namespace'))}/{_text(named.get('name'))}"
    return f"{where}; {_type_text(kind.api_version, kind.kind)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _type_text(api_version: str, kind: str) -> str:
    """Print a GroupVersionKind as Go does."""
    return f"{api_version if '/' in api_version else '/' + api_version}, Kind={kind}"


class _Application:
    """The apply of one configuration to one object."""

    def __init__(self, writer: Writer, live: Object, config: Object, current: list[Entry]) -> None:
        self._kind, self._current, self._me = writer.kind, current, writer.identity(APPLY)
        self._shape = shapes.plain(self._kind, self._kind.api_version)
        reset = reset_fields.of(self._kind, writer.subresource)
        self._fields = fieldsets.without_below(of_configuration(config, self._shape), reset)
        self._before = next((entry for entry in current if entries.identity(entry) == self._me), None)
        self.object = self._pruned(merging.merged(live, config, self._shape))
        self.changed = self.object != live
        self._differences = versions.of_plain(self._kind, live, self.object, reset)
        self.conflicts: Conflicts = conflicts.found(current, self._me, self._differences)

    def entries(self) -> list[Entry]:
        """Compute the entries after the apply; an entry's time is when its manager last changed something."""
        others = [entry for entry in self._current if entry is not self._before]
        left = updates.remaining(others, self._differences)
        mine = fieldsets.difference(self._fields, shapes.NEVER_OWNED)
        if mine:
            time = metadata.timestamp() if self.changed else (self._before or {}).get("time")
            left.append(entries.made(self._me, self._kind.api_version, mine, time))
        return entries.in_order(left)

    def _pruned(self, merged: Object) -> Object:
        """Remove what the manager applied last time, does not apply any more, and nobody else owns."""
        last = self._before
        if last is None or not last["fieldsV1"]:
            return merged
        try:
            there = versions.as_plain(merged, self._kind, last["apiVersion"])
        except UnknownVersion:
            return merged
        pruner = _Pruner(self._kind, last)
        pruned = pruner.with_owned(there, self._owned_by_version())
        return pruner.back(pruner.with_dangling(there, pruned))

    def _owned_by_version(self) -> dict[str, Tree]:
        """Collect what all managers own, by API version; of this manager, what it applies now."""
        owned = {self._kind.api_version: self._fields}
        for entry in self._current:
            if entry is not self._before:
                version = entry["apiVersion"]
                owned[version] = fieldsets.union(owned.get(version, {}), entry["fieldsV1"])
        return owned


class _Pruner:
    """Removes from an object what a manager applied last time, in the version of that time."""

    def __init__(self, kind: Kind, last: Entry) -> None:
        self._kind, self._last, self._version = kind, last, last["apiVersion"]

    def with_owned(self, merged: Object, owned: dict[str, Tree]) -> Object:
        """Remove what the manager applied last time, and put back what somebody owns now (addBackOwnedItems)."""
        shape = shapes.plain(self._kind, self._version)
        pruned: Object = merging.without(merged, merging.with_named_fields(self._last["fieldsV1"], shape), shape)
        version = self._version
        for other in sorted(owned, key=lambda name: name != version):
            try:
                merged, pruned = (self._seen(obj, version, other) for obj in (merged, pruned))
            except UnknownVersion:
                continue
            version = other
            pruned = self._kept(merged, pruned, owned[other], version)
        return self._seen(pruned, version, self._version)

    def _kept(self, merged: Object, pruned: Object, owned: Tree, version: str) -> Object:
        shape = shapes.plain(self._kind, version)
        kept = fieldsets.union(self._named(pruned, version), merging.with_named_fields(owned, shape))
        gone = fieldsets.difference(self._named(merged, version), kept)
        found: Object = merging.without(merged, gone, shape)
        return found

    def with_dangling(self, merged: Object, pruned: Object) -> Object:
        """Put back into the pruned object what the manager did not own (addBackDanglingItems)."""
        shape = shapes.plain(self._kind, self._version)
        gone = fieldsets.difference(self._named(merged, self._version), self._named(pruned, self._version))
        last = merging.with_named_fields(self._last["fieldsV1"], shape)
        found: Object = merging.without(merged, fieldsets.intersection(gone, last), shape)
        return found

    def back(self, obj: Object) -> Object:
        """Convert an object back to the version of the request."""
        return self._seen(obj, self._version, self._kind.api_version)

    def _named(self, obj: Object, version: str) -> Tree:
        shape = shapes.plain(self._kind, version)
        return merging.with_named_fields(of_configuration(obj, shape), shape)

    def _seen(self, obj: Object, version: str, other: str) -> Object:
        if version == other:
            return obj
        return versions.as_plain(obj, versions.in_version(self._kind, version), other)
