"""The scale subresource: replicas of a workload, seen and set without the rest of it (autoscaling/v1 Scale)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import msgspec

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.managedfields import scaling
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.registry.custom import scale_rules
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import Cause
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.wire import bodies, selector_texts
from drakit_embedded.apiserver.writing import preconditions, writes
from drakit_embedded.apiserver.writing.intent import Intent


class _Metadata(msgspec.Struct):
    uid: str | None = None
    resourceVersion: str | None = None


class _Spec(msgspec.Struct):
    replicas: Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] | None = None


class _Shape(msgspec.Struct):
    """What a Scale can set, with the metadata that identifies the object."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None


def scale(served: Served, record: Record, *, found: bool = True) -> Object:
    """Build the Scale of an object. That of a custom resource without replicas is an error, if they are to be found."""
    obj, definition = served.stored(record), served.kind.definition
    if definition is None:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        wanted, there, selector = spec.get("replicas"), status.get("replicas"), selector_texts.printed(_selector(spec))
        return _scale(obj["metadata"], wanted, {"replicas": there or 0, "selector": selector})
    paths = definition.versions[served.kind.version].scale
    assert paths is not None
    try:
        wanted, there = scale_rules.number(obj, paths.replicas), scale_rules.number(obj, paths.status_replicas)
        selector = scale_rules.text(obj, paths.selector) if paths.selector else ""
    except scale_rules.WrongValue as error:
        raise statuses.StatusError(500, "", str(error)) from None
    if wanted is None and found:
        raise statuses.internal(f"the spec replicas field {quote(paths.paths[0])} does not exist")
    shown = {"replicas": there or 0, **({"selector": selector} if selector else {})}
    return _scale(obj["metadata"], wanted, shown)


def _scale(meta: Object, replicas: int | None, status: Object) -> Object:
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(spec: Object) -> Object:
    """Read the selector of pods; a ReplicationController, which is older, has a map of labels for it."""
    selector = spec.get("selector") or {}
    is_plain = all(isinstance(value, str) for value in selector.values())
    return {"matchLabels": selector} if is_plain else selector


def set_replicas(api: Api, served: Served, key: Key, wanted: Object, intent: Intent) -> Object:
    """Set the replicas; the Scale as it is then. Admission sees Scales, not the whole object.

    ScaleREST.Update of k8s.io/kubernetes/pkg/registry/apps/deployment/storage/storage.go.
    """
    kind, name = served.kind, key[1]
    record = served.collection.records.get(key)
    if record is None:
        raise statuses.absent(kind.plural, kind.group, name)
    bodies.shaped(wanted, _Shape, "Scale")
    before = _plain(scale(served, record, found=False))
    request = intent.attributes("UPDATE", kind, key, wanted, before, "scale")
    api.admission.admit(request, api)
    given = bodies.shaped(wanted, _Shape, "Scale")
    replicas, meta = (given.spec or _Spec()).replicas or 0, given.metadata or _Metadata()
    if replicas < 0 and kind.definition is None:
        message = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise statuses.invalid("Scale", "autoscaling", name, [Cause("FieldValueInvalid", "spec.replicas", message)])

    def change(obj: Object) -> Object:
        preconditions.check_update(kind, obj, uid=meta.uid)
        _set(obj, replicas, meta, served, intent)
        request.object = {**before, "spec": {"replicas": replicas} if replicas else {}}
        api.admission.validate(request, api)
        return obj

    changed = writes.update(api, served, key, change, replace(intent, writer=None, admitted=True)).record
    return scale(served, changed, found=False)


def _set(obj: Object, replicas: int, meta: _Metadata, served: Served, intent: Intent) -> None:
    """Set the replicas of an object, and who owns them."""
    path = _path(served.kind)
    # The update checks the version, as for all kinds; without one, what is stored is changed.
    obj["metadata"]["resourceVersion"] = meta.resourceVersion or (
        None if served.strategy.unconditional_update else obj["metadata"]["resourceVersion"]
    )
    before = _holder(obj, path).get(path[-1]) or 0
    if intent.writer is not None:
        entries = obj["metadata"].pop("managedFields", [])
        if entries := scaling.after(intent.writer, entries, before=before, now=replicas, path=path):
            obj["metadata"]["managedFields"] = entries
    _holder(obj, path)[path[-1]] = replicas


def _plain(obj: Object) -> Object:
    """Leave out what says of which type an object is, as everywhere inside the server."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def _path(kind: Kind) -> tuple[str, ...]:
    paths = kind.definition.versions[kind.version].scale if kind.definition is not None else None
    return paths.replicas if paths is not None else scaling.PATH


def _holder(obj: Object, path: tuple[str, ...]) -> Object:
    """Find the object that has the replicas; it is made if there is none."""
    for key in path[:-1]:
        obj = obj.setdefault(key, {})
    return obj
