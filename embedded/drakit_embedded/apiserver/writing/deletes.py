"""Delete: at once, with grace, or when the last finalizer has gone.

After k8s.io/apiserver/pkg/registry/rest/delete.go (BeforeDelete) and registry/generic/registry/store.go (Delete).
Dependents are the garbage collector's business; here the propagation policy only decides which finalizer asks for it.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from enum import Enum, auto
from typing import NamedTuple

import msgspec

from drakit_api.golang import gotime
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.requests import Query, dry_run_faults
from drakit_embedded.apiserver.scheme import metadata, structures
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.wire import bodies
from drakit_embedded.apiserver.writing import preconditions
from drakit_embedded.apiserver.writing.intent import OWN, Intent

_KIND = "DeleteOptions"
_NANOS = 1_000_000_000
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


class PreconditionsShape(msgspec.Struct, omit_defaults=True):
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

    def fields(self) -> Object:
        """Build the object of the options, without what was not asked for."""
        found: Object = msgspec.to_builtins(self)
        return {key: value for key, value in found.items() if value is not None and value != []}


class Deleted(NamedTuple):
    """The outcome: the object as it was last, and whether it is gone."""

    record: Record
    gone: bool


def options(raw: bytes, content_type: str, query: Query) -> Options:
    """Read DeleteOptions from the body or, without one, from the query (endpoints/handlers/delete.go)."""
    if raw:
        body = bodies.parse(raw, content_type, "")
        _check_kind(body)
        found = msgspec.convert(structures.decode_options(body, _KIND), Options)
    else:
        found = _of_query(query)
    _check(found)
    return found


def _check_kind(body: Object) -> None:
    """Check the kind of a body: DeleteOptions of any group and version, which is also the default."""
    kind, api_version = body.get("kind") or _KIND, body.get("apiVersion") or "meta.k8s.io/v1"
    if kind == _KIND:
        return
    if api_version == "v1" and kind in structures.UNVERSIONED:
        raise statuses.bad_request(f"converting (v1.{kind}) to (v1.{_KIND}): unknown conversion")
    raise statuses.bad_request(bodies.unregistered(kind, api_version))


def _of_query(query: Query) -> Options:
    wanted = PreconditionsShape(query.text("uid") or None, query.text("resourceVersion") or None)
    return Options(
        gracePeriodSeconds=query.number("gracePeriodSeconds"),
        preconditions=wanted if wanted != PreconditionsShape() else None,
        orphanDependents=query.flag("orphanDependents") if query.text("orphanDependents") else None,
        propagationPolicy=query.text("propagationPolicy") or None,
        dryRun=query.texts("dryRun"),
    )


def _check(found: Options) -> None:
    """Validate the options (ValidateDeleteOptions)."""
    faults = []
    policy = found.propagationPolicy
    if policy is not None and found.orphanDependents is not None:
        message = f"Invalid value: {quote(policy)}: orphanDependents and deletionPropagation cannot be both set"
        faults.append(statuses.Cause("FieldValueInvalid", "propagationPolicy", message))
    if policy not in (None, "Foreground", "Background", "Orphan"):
        supported = '"Foreground", "Background", "Orphan", "nil"'
        message = f"Unsupported value: {quote(policy or '')}: supported values: {supported}"
        faults.append(statuses.Cause("FieldValueNotSupported", "propagationPolicy", message))
    faults += dry_run_faults(found.dryRun or ())
    if faults:
        raise statuses.invalid(_KIND, "meta.k8s.io", "", faults)


def delete(
    api: Api, served: Served, key: Key, wanted: Options, intent: Intent = OWN, *, listed: bool = False
) -> Deleted:
    """DELETE of one object; ``listed`` if the client named the collection. ``wanted`` says whether it is a dry run."""
    record = served.collection.records.get(key)
    if record is None:
        raise statuses.absent(served.kind.plural, served.kind.group, key[1])
    _check(wanted)
    read = served.anew(record)
    obj, before = served.stored(read), served.stored(read)
    _check_preconditions(served, before, wanted)
    begun = _begin(served, obj, wanted)
    if begun is _Begun.PENDING:
        return Deleted(record, False)
    if not intent.admitted:
        request = intent.attributes("DELETE", served.kind, (key[0], "" if listed else key[1]), old=before)
        request.dry_run, request.options = bool(wanted.dryRun), wanted.fields()
        api.admission.admit(request, api)
        api.admission.validate(request, api)
    if begun is _Begun.NOT and not obj["metadata"].get("finalizers"):
        return Deleted(record if wanted.dryRun else remove(api, served, key, before), True)
    updated = record if obj == before else _put(api, served, key, obj, wanted)
    if obj["metadata"].get("finalizers") or begun is _Begun.WAITING:
        return Deleted(updated, False)
    # A pod whose grace period is over is first marked and then deleted, and watchers see both.
    return Deleted(updated if wanted.dryRun else remove(api, served, key, obj), True)


def _put(api: Api, served: Served, key: Key, obj: Object, wanted: Options) -> Record:
    """Store an object that is marked for its deletion."""
    canonical, form = served.strategy.canonical, None
    if canonical is not None and served.kind.definition is not None:
        form = canonical(obj, api)
        served.foresee(key, form)
    dry_run, stored_in = bool(wanted.dryRun), served.stored_in
    return api.store.put(served.collection, key, obj, form, stored_in=stored_in, dry_run=dry_run)


def remove(api: Api, served: Served, key: Key, obj: Object) -> Record:
    """Remove an object for good, and give back what was allocated for it; ``obj`` is its last state."""
    if served.kind.definition is not None:
        # In the version in which it is stored, which is not always that of the request.
        obj = served.collection.records[key].object()
    holding = served.strategy.holding
    with holding(obj, None, api) if holding is not None else nullcontext():
        return api.store.delete(served.collection, key, obj)


def _check_preconditions(served: Served, stored: Object, wanted: Options) -> None:
    asked = wanted.preconditions or PreconditionsShape()
    check = preconditions.check_deletion
    if served.strategy.finalizers_in_spec:
        check = preconditions.check_namespace_deletion
    elif served.strategy.begin_deletion is not None:
        check = preconditions.check_definition_deletion
    check(served.kind, stored, uid=asked.uid, version=asked.resourceVersion)


class _Begun(Enum):
    """How far a deletion has got: nothing to wait for, waiting for others (newly, or as before), grace period over."""

    NOT = auto()
    WAITING = auto()
    PENDING = auto()
    ENDED = auto()


def _begin(served: Served, obj: Object, wanted: Options) -> _Begun:
    """Mark an object for its deletion, with what the propagation policy makes of its finalizers."""
    meta: ObjectMeta = obj["metadata"]
    if served.strategy.finalizers_in_spec and (begun := _begin_namespace(served, obj, wanted)) is not None:
        return begun
    if served.strategy.begin_deletion is not None and not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = metadata.timestamp()
        served.strategy.begin_deletion(obj)
        return _Begun.WAITING
    begun = _begin_graceful(served, obj, wanted)
    if begun is _Begun.PENDING:
        return begun
    _set_finalizers(meta, wanted)
    if begun is _Begun.NOT and meta.get("finalizers"):
        _mark(obj)
    return begun


def _begin_namespace(served: Served, obj: Object, wanted: Options) -> _Begun | None:
    """Mark a namespace as being deleted; None once the finalizers in its spec are gone.

    k8s.io/kubernetes/pkg/registry/core/namespace/storage/storage.go.
    """
    meta: ObjectMeta = obj["metadata"]
    if meta.get("deletionTimestamp"):
        return _Begun.PENDING if _held(served, obj) else None
    meta["deletionTimestamp"] = metadata.timestamp()
    if served.strategy.on_deletion is not None:
        served.strategy.on_deletion(obj)
    _set_finalizers(meta, wanted)
    return _Begun.WAITING


def _set_finalizers(meta: ObjectMeta, wanted: Options) -> None:
    finalizers = _finalizers(meta.get("finalizers") or [], wanted)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def _finalizers(present: list[str], wanted: Options) -> list[str]:
    """Add or remove finalizers as the propagation policy says (deletionFinalizersForGarbageCollection)."""
    policy = wanted.propagationPolicy
    if wanted.orphanDependents is not None:
        policy = "Orphan" if wanted.orphanDependents else "Background"
    if policy is None:
        return present
    kept = [name for name in present if name not in (_ORPHAN, _FOREGROUND)]
    added = {"Orphan": [_ORPHAN], "Foreground": [_FOREGROUND]}.get(policy, [])
    return kept + added


def _begin_graceful(served: Served, obj: Object, wanted: Options) -> _Begun:
    """Start or shorten a graceful deletion (BeforeDelete)."""
    if served.strategy.grace is None:
        return _Begun.NOT
    meta, asked = obj["metadata"], wanted.gracePeriodSeconds
    if asked is not None and asked < 0:
        asked = 1
    if meta.get("deletionTimestamp"):
        return _shorten(meta, asked)
    seconds = served.strategy.grace(obj, asked)
    _mark(obj, seconds)
    return _Begun.WAITING if seconds > 0 else _Begun.ENDED


def _shorten(meta: ObjectMeta, asked: int | None) -> _Begun:
    granted = meta.get("deletionGracePeriodSeconds") or 0
    if granted == 0:
        return _Begun.NOT
    if asked is None or asked >= granted:
        return _Begun.PENDING
    started = gotime.seconds(meta["deletionTimestamp"]) - _duration(granted)
    left = started + _duration(asked) - int(time.time())
    meta["deletionTimestamp"] = metadata.timestamp(max(left, 0))
    meta["deletionGracePeriodSeconds"] = asked if left > 0 or asked == 0 else 1
    return _Begun.WAITING if asked > 0 else _Begun.ENDED


def _duration(seconds: int) -> int:
    """Wrap seconds as a Go ``time.Duration`` does, in 64 bits of nanoseconds: 300 years become negative."""
    nanoseconds = (seconds * _NANOS + 2**63) % 2**64 - 2**63
    return nanoseconds // _NANOS


def _mark(obj: Object, seconds: int = 0) -> None:
    meta: ObjectMeta = obj["metadata"]
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = metadata.timestamp(_duration(seconds))
        if meta.get("generation"):
            meta["generation"] += 1
    meta["deletionGracePeriodSeconds"] = seconds


def _held(served: Served, obj: Object) -> bool:
    """Check whether a namespace still has finalizers of its own, which are in its spec."""
    return served.strategy.finalizers_in_spec and bool((obj.get("spec") or {}).get("finalizers"))


def done(served: Served, new: Object, old: Object) -> bool:
    """Check whether an update removed the last thing a deletion waits for (ShouldDeleteDuringUpdate)."""
    meta: ObjectMeta = old["metadata"]
    waiting = new["metadata"].get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return bool(meta.get("deletionTimestamp")) and not waiting and not _held(served, new)
