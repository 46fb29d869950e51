"""Who owns the replicas of a workload when they are set through its scale.

A Scale has entries of its own, made of those of the workload for this one field, and turned back into them.
k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go.
"""

from __future__ import annotations

from drakit_embedded.apiserver.managedfields import entries, fieldsets
from drakit_embedded.apiserver.managedfields.conflicts import Conflicts
from drakit_embedded.apiserver.managedfields.entries import APPLY, UPDATE, Entry, Identity
from drakit_embedded.apiserver.managedfields.updates import Writer

_SCALE_VERSION = "autoscaling/v1"
# Where workloads have their replicas.
PATH = ("spec", "replicas")


def after(writer: Writer, current: list[Entry], *, before: int, now: int, path: tuple[str, ...] = PATH) -> list[Entry]:
    """Compute the entries of an object whose replicas, at ``path``, a Scale has set from ``before`` to ``now``."""
    version, replicas = writer.kind.api_version, tuple(f"f:{key}" for key in path)
    owners = {_in_scale(entry) for entry in current if entry["apiVersion"] == version and _owns(entry, replicas)}
    if owners and before != now:
        # A Scale omits zero replicas, and an absent field has no owner.
        owners = {Identity(writer.manager or "unknown", UPDATE, _SCALE_VERSION, "scale")} if now else set()
    kept = [_kept(entry, owners, replicas) for entry in current if entry["apiVersion"] == version]
    found = {entries.identity(entry): entry for entry in kept if entry["fieldsV1"]}
    for owner in owners - found.keys():
        # New owners get an entry in the version of the workload, without a time.
        entry = entries.made(owner, version, fieldsets.of([replicas]), None)
        found[entries.identity(entry)] = entry
    return entries.in_order(list(found.values()))


def owners(writer: Writer, current: list[Entry], path: tuple[str, ...]) -> Conflicts:
    """Find who else owns the replicas, as seen in a Scale."""
    replicas, me = tuple(f"f:{key}" for key in path), writer.identity(APPLY)
    theirs = [_in_scale(entry) for entry in current if _owns(entry, replicas) and entries.identity(entry) != me]
    return {who: fieldsets.of([("f:spec", "f:replicas")]) for who in sorted(theirs, key=entries.name)}


def _owns(entry: Entry, replicas: tuple[str, ...]) -> bool:
    return fieldsets.has(entry["fieldsV1"], replicas)


def _in_scale(entry: Entry) -> Identity:
    who = entries.identity(entry)
    return who._replace(api_version=_SCALE_VERSION) if who.operation == UPDATE else who


def _kept(entry: Entry, owners: set[Identity], replicas: tuple[str, ...]) -> Entry:
    """Keep an entry's ownership of the replicas only if it is among ``owners``."""
    if not _owns(entry, replicas) or entries.identity(entry) in owners:
        return entry
    return {**entry, "fieldsV1": fieldsets.difference(entry["fieldsV1"], fieldsets.of([replicas]))}
