"""The entries of ``metadata.managedFields``: one for each manager, operation, version and subresource.

They are kept as they are written; their ``fieldsV1`` are trees (``fieldsets``).
k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go and capmanagers.go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver.managedfields import elements, fieldsets
from drakit_embedded.apiserver.managedfields.fieldsets import Tree

Entry = dict[str, Any]
UPDATE, APPLY = "Update", "Apply"
_FIELDS_TYPE = "FieldsV1"
# DefaultMaxUpdateManagers: beyond it, the oldest are merged into one.
_MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"


class MalformedEntries(ValueError):
    """A client's ``managedFields`` that cannot be read."""


class Identity(NamedTuple):
    """What identifies an entry. A manager that applies has one entry for all versions."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    def __str__(self) -> str:
        """Print the manager as messages do."""
        text = quote(self.manager)
        if self.subresource:
            text += f" with subresource {quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


def identity(entry: Entry) -> Identity:
    """Read the identity of an entry: manager, operation, version of an update, subresource."""
    operation = entry["operation"]
    version = entry["apiVersion"] if operation == UPDATE else ""
    return Identity(entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def made(who: Identity, api_version: str, fields: Tree, time: str | None) -> Entry:
    """Build an entry; ``fields`` may come in any order."""
    entry = {
        "manager": who.manager,
        "operation": who.operation,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": _FIELDS_TYPE,
        "fieldsV1": fieldsets.sorted_tree(fields),
        "subresource": who.subresource,
    }
    return {key: value for key, value in entry.items() if value or key == "fieldsV1"}


def read(content: list[Entry]) -> list[Entry]:
    """Read the entries that a client wrote, sorted as they are stored; of those of one identity the last counts.

    Raises:
        MalformedEntries: if one of them cannot be an entry.
    """
    found: dict[Identity, Entry] = {}
    for index, entry in enumerate(content):
        if entry.get("operation") not in (UPDATE, APPLY):
            raise MalformedEntries("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise MalformedEntries("apiVersion must not be empty")
        form = entry.get("fieldsType") or ""
        if form != _FIELDS_TYPE:
            what = f"invalid fieldsType {quote(form)}" if form else "missing fieldsType"
            raise MalformedEntries(f"{what} in managed fields entry {index}")
        try:
            fields = fieldsets.parsed(entry.get("fieldsV1") or {})
        except elements.MalformedElement as error:
            raise MalformedEntries(str(error)) from None
        who = identity(entry)
        found[who] = made(who, entry["apiVersion"], fields, entry.get("time"))
    return in_order(list(found.values()))


def in_order(entries: list[Entry]) -> list[Entry]:
    """Sort entries as they are stored: appliers first, then by time."""
    return sorted(entries, key=_rank) if len(entries) > 1 else entries


def _rank(entry: Entry) -> tuple[str, ...]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def capped(entries: list[Entry]) -> list[Entry]:
    """Merge the oldest entries of updates, by version, until there are ten or each version has only one."""
    updaters = [entry for entry in entries if entry["operation"] == UPDATE]
    excess = len(updaters) - _MOST_UPDATERS
    if excess <= 0:
        return entries
    kept = {identity(entry): entry for entry in entries}
    first: dict[str, Identity] = {}
    # Collected first, to build the entries "ancient-changes" from at the end.
    merged: dict[Identity, list[Tree]] = {}
    for entry in sorted(updaters, key=lambda entry: (entry.get("time") or "", name(identity(entry)))):
        if excess == 0:
            break
        who, version = identity(entry), entry["apiVersion"]
        if version not in first:
            first[version] = who
            continue
        bucket = Identity(_ANCIENT, UPDATE, version, "")
        if bucket not in merged:
            before = kept[bucket] if bucket in kept else kept.pop(first[version])
            merged[bucket] = [before["fieldsV1"]]
        if who != bucket:
            merged[bucket].append(entry["fieldsV1"])
        kept[bucket] = {**entry, "manager": _ANCIENT}
        del kept[who]
        if who == bucket:
            del merged[who]
        excess -= 1
    for bucket, trees in merged.items():
        kept[bucket] = made(bucket, bucket.api_version, fieldsets.union_of(trees), kept[bucket].get("time"))
    return list(kept.values())


def name(who: Identity) -> str:
    """Build the text by which conflicts, and entries of one time, are sorted (BuildManagerIdentifier)."""
    pairs = zip(("manager", "operation", "apiVersion", "subresource"), who, strict=True)
    return "{" + ",".join(f"{quote(key)}:{quote(value)}" for key, value in pairs if value) + "}"


def same_but_times(one: list[Entry], other: list[Entry]) -> bool:
    """Check whether nothing but the times of entries differs."""
    return len(one) == len(other) and all(
        {**entry, "time": None} == {**others, "time": None} for entry, others in zip(one, other, strict=True)
    )
