"""Delete: at once, with grace, or when the last finalizer has gone.

After k8s.io/apiserver/pkg/registry/rest/delete.go (BeforeDelete) and registry/generic/registry/store.go. Dependents are
the garbage collector's business; here the propagation policy only decides which finalizer asks for it.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from drakit_api import gotime
from drakit_api.gostrings import quote
from drakit_embedded.apiserver import metadata, statuses
from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.catalog import Served
from drakit_embedded.apiserver.identity.users import LOOPBACK, User
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.statuses import Object
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.wire import bodies

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


class PreconditionsShape(msgspec.Struct):
    """metav1.Preconditions."""

    uid: str | None = None
    resourceVersion: str | None = None


class Options(msgspec.Struct):
    """metav1.DeleteOptions."""

    gracePeriodSeconds: int | None = None
    preconditions: PreconditionsShape | None = None
    orphanDependents: bool | None = None
    propagationPolicy: str | None = None
    dryRun: list[str] | None = None


class Deleted(NamedTuple):
    """The outcome: the object as it was last, and whether it is gone."""

    record: Record
    gone: bool


def options(raw: bytes, content_type: str, query: Query) -> Options:
    """DeleteOptions from the body or, without one, from the query."""
    if raw:
        try:
            body = bodies.parse(raw, content_type, "DeleteOptions")
            found = msgspec.convert(body, Options)
        except msgspec.ValidationError as error:
            raise statuses.bad_request(f"DeleteOptions cannot be read: {error}") from None
    else:
        orphan = query.text("orphanDependents")
        found = Options(
            gracePeriodSeconds=query.number("gracePeriodSeconds"),
            orphanDependents=query.flag("orphanDependents") if orphan else None,
            propagationPolicy=query.text("propagationPolicy") or None,
        )
    if query.dry_run("DeleteOptions"):
        found.dryRun = ["All"]
    _check(found)
    return found


def _check(found: Options) -> None:
    """ValidateDeleteOptions."""
    faults = []
    policy = found.propagationPolicy
    if policy is not None and found.orphanDependents is not None:
        message = f"Invalid value: {quote(policy)}: orphanDependents and deletionPropagation cannot be both set"
        faults.append(statuses.Cause("FieldValueInvalid", "propagationPolicy", message))
    if policy not in (None, "Foreground", "Background", "Orphan"):
        supported = '"Foreground", "Background", "Orphan", "nil"'
        message = f"Unsupported value: {quote(policy or '')}: supported values: {supported}"
        faults.append(statuses.Cause("FieldValueNotSupported", "propagationPolicy", message))
    if found.dryRun not in (None, [], ["All"]):
        message = f'Unsupported value: {found.dryRun}: supported values: "All"'
        faults.append(statuses.Cause("FieldValueNotSupported", "dryRun", message))
    if faults:
        raise statuses.invalid("DeleteOptions", "meta.k8s.io", "", faults)


def delete(
    api: Api, served: Served, key: Key, wanted: Options, *, user: User = LOOPBACK, admitted: bool = False
) -> Deleted:
    """DELETE of one object; ``admitted`` is for what an admitted eviction deletes."""
    kind = served.kind
    record = served.collection.records.get(key)
    if record is None:
        raise statuses.absent(kind.plural, kind.group, key[1])
    _check_preconditions(served, record, wanted.preconditions)
    obj = record.object()
    before = record.object()
    if not admitted:
        request = Attributes(user, "DELETE", kind, key[0], key[1], old=before, dry_run=bool(wanted.dryRun))
        api.admission.admit(request, api)
        api.admission.validate(request, api)
    finalizers = _finalizers(obj["metadata"].get("finalizers") or [], wanted)
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        obj["metadata"].pop("finalizers", None)
    pending = _begin_graceful(served, obj, wanted)
    if not pending and not finalizers and not _held(served, obj):
        return Deleted(remove(api, served, key, obj, dry_run=bool(wanted.dryRun)), True)
    if not pending:
        _mark(obj)
        if served.strategy.finalizers_in_spec:
            # Its registry marks it by itself (k8s.io/kubernetes/pkg/registry/core/namespace/storage).
            del obj["metadata"]["deletionGracePeriodSeconds"]
    if served.strategy.on_deletion is not None:
        served.strategy.on_deletion(obj)
    if obj == before:
        return Deleted(record, False)
    if wanted.dryRun:
        return Deleted(api.store.draft(served.collection, key, obj), False)
    return Deleted(api.store.put(served.collection, key, obj), False)


def _check_preconditions(served: Served, record: Record, wanted: PreconditionsShape | None) -> None:
    if wanted is None:
        return
    kind, name = served.kind, record.key[1]
    # Not the plural, as elsewhere: BeforeDelete puts the kind where the resource belongs.
    if wanted.uid is not None and wanted.uid != record.uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({record.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise statuses.conflict(kind.kind, kind.group, name, why)
    if wanted.resourceVersion is not None and wanted.resourceVersion != str(record.version):
        why = (
            f"the ResourceVersion in the precondition ({wanted.resourceVersion}) does not match the ResourceVersion in "
            f"record ({record.version}). The object might have been modified"
        )
        raise statuses.conflict(kind.kind, kind.group, name, why)


def _finalizers(present: list[str], wanted: Options) -> list[str]:
    """The finalizers that the propagation policy leaves or adds (deletionFinalizersForGarbageCollection)."""
    policy = wanted.propagationPolicy
    if wanted.orphanDependents is not None:
        policy = "Orphan" if wanted.orphanDependents else "Background"
    if policy is None:
        return present
    kept = [name for name in present if name not in (_ORPHAN, _FOREGROUND)]
    added = {"Orphan": [_ORPHAN], "Foreground": [_FOREGROUND]}.get(policy, [])
    return kept + added


def _begin_graceful(served: Served, obj: Object, wanted: Options) -> bool:
    """Start or shorten a graceful deletion; True while someone else has to finish it."""
    if served.strategy.grace is None:
        return False
    meta, asked = obj["metadata"], wanted.gracePeriodSeconds
    if asked is not None and asked < 0:
        asked = 1
    if meta.get("deletionTimestamp"):
        return _shorten(meta, asked)
    seconds = served.strategy.grace(obj, asked)
    _mark(obj, seconds)
    return seconds > 0


def _shorten(meta: Object, asked: int | None) -> bool:
    granted = meta.get("deletionGracePeriodSeconds") or 0
    if granted == 0:
        return False
    if asked is None or asked >= granted:
        return True
    if asked == 0:
        return False
    started = gotime.seconds(meta["deletionTimestamp"]) - granted
    left = started + asked - int(time.time())
    meta["deletionTimestamp"] = metadata.timestamp(max(left, 0))
    meta["deletionGracePeriodSeconds"] = asked if left > 0 else 1
    return True


def _mark(obj: Object, seconds: int = 0) -> None:
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = metadata.timestamp(seconds)
        if meta.get("generation"):
            meta["generation"] += 1
    meta["deletionGracePeriodSeconds"] = seconds


def _held(served: Served, obj: Object) -> bool:
    """A namespace stays while its own finalizers are there, which are in its spec."""
    return served.strategy.finalizers_in_spec and bool((obj.get("spec") or {}).get("finalizers"))


def done(served: Served, obj: Object) -> bool:
    """Whether an update has taken away the last thing that a deletion was waiting for."""
    meta = obj["metadata"]
    waiting = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return bool(meta.get("deletionTimestamp")) and not waiting and not _held(served, obj)


def remove(api: Api, served: Served, key: Key, obj: Object, *, dry_run: bool) -> Record:
    """Take an object out; the result is its last state."""
    if dry_run:
        return api.store.draft(served.collection, key, obj)
    return api.store.delete(served.collection, key, obj)
