"""The scale subresource: replicas of a workload, seen and set without the rest of it (autoscaling/v1 Scale)."""

from __future__ import annotations

from dataclasses import replace

from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.catalog import Served
from drakit_embedded.apiserver.managedfields import scaling
from drakit_embedded.apiserver.statuses import Cause, Object
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.wire import selector_texts
from drakit_embedded.apiserver.writing import preconditions, writes
from drakit_embedded.apiserver.writing.intent import Intent


def scale(served: Served, record: Record) -> Object:
    """The Scale of a workload."""
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


def _text(meta: Object, field: str) -> str:
    found = meta.get(field) or ""
    if not isinstance(found, str):
        raise statuses.bad_request(f"Scale cannot be read: metadata.{field} must be a string")
    return found


def _selector(spec: Object) -> Object:
    """The selector of pods; that of a ReplicationController, which is older, is nothing but labels."""
    selector = spec.get("selector") or {}
    is_plain = all(isinstance(value, str) for value in selector.values())
    return {"matchLabels": selector} if is_plain else selector


def set_replicas(api: Api, served: Served, key: Key, wanted: Object, intent: Intent) -> Object:
    """Set the replicas; the Scale as it is then."""
    kind, name = served.kind, key[1]
    spec, meta = wanted.get("spec"), wanted.get("metadata")
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else 0
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise statuses.bad_request("Scale cannot be read: spec.replicas must be an integer")
    if replicas < 0:
        message = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise statuses.invalid("Scale", "autoscaling", name, [Cause("FieldValueInvalid", "spec.replicas", message)])
    given = meta if isinstance(meta, dict) else {}
    uid, version = (_text(given, field) for field in ("uid", "resourceVersion"))

    def change(obj: Object) -> Object:
        preconditions.check_update(kind, obj, uid=uid)
        # Whether it is the right one is seen where it is of all updates.
        obj["metadata"]["resourceVersion"] = version
        meta, before = obj["metadata"], obj["spec"].get("replicas") or 0
        if intent.writer is not None:
            entries = scaling.after(intent.writer, meta.pop("managedFields", []), before=before, now=replicas)
            meta |= {"managedFields": entries} if entries else {}
        obj["spec"]["replicas"] = replicas
        return obj

    return scale(served, writes.update(api, served, key, change, replace(intent, writer=None)).record)
