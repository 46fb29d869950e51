"""The scale subresource: replicas of a workload, seen and set without the rest of it (autoscaling/v1 Scale)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.managedfields import scaling
from drakit_embedded.apiserver.registry.catalog import Served
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


def scale(served: Served, record: Record) -> Object:
    """Build the Scale of a workload."""
    obj = record.object()
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {
            "replicas": status.get("replicas", 0),
            "selector": selector_texts.printed(_selector(spec)),
        },
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
    request = intent.attributes("UPDATE", kind, key, wanted, _plain(scale(served, record)), "scale")
    api.admission.admit(request, api)
    given = bodies.shaped(wanted, _Shape, "Scale")
    replicas, meta = (given.spec or _Spec()).replicas or 0, given.metadata or _Metadata()
    if replicas < 0:
        message = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise statuses.invalid("Scale", "autoscaling", name, [Cause("FieldValueInvalid", "spec.replicas", message)])

    def change(obj: Object) -> Object:
        preconditions.check_update(kind, obj, uid=meta.uid)
        # The update checks the version, as for all kinds.
        obj["metadata"]["resourceVersion"] = meta.resourceVersion
        if intent.writer is not None:
            before, entries = obj["spec"].get("replicas") or 0, obj["metadata"].pop("managedFields", [])
            if entries := scaling.after(intent.writer, entries, before=before, now=replicas):
                obj["metadata"]["managedFields"] = entries
        obj["spec"]["replicas"] = replicas
        request.object = {**(request.old or {}), "spec": {"replicas": replicas} if replicas else {}}
        api.admission.validate(request, api)
        return obj

    admitted = replace(intent, writer=None, admitted=True)
    return scale(served, writes.update(api, served, key, change, admitted).record)


def _plain(obj: Object) -> Object:
    """Leave out what says of which type an object is, as everywhere inside the server."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
