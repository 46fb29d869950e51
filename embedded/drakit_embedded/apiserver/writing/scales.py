"""The scale subresource: replicas of a workload, seen and set without the rest of it (autoscaling/v1 Scale)."""

from __future__ import annotations

from dataclasses import replace

from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.catalog import Served
from drakit_embedded.apiserver.managedfields import scaling
from drakit_embedded.apiserver.statuses import Cause, Object
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent


def scale(served: Served, record: Record) -> Object:
    """The Scale of a workload."""
    obj = record.object()
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = ((spec.get("selector") or {}).get("matchLabels") or {}) if isinstance(spec.get("selector"), dict) else {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {
            "replicas": status.get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


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
    version = meta.get("resourceVersion") if isinstance(meta, dict) else None

    def change(obj: Object) -> Object:
        if version and version != obj["metadata"]["resourceVersion"]:
            raise statuses.conflict(kind.plural, kind.group, name, statuses.MODIFIED)
        meta, before = obj["metadata"], obj["spec"].get("replicas") or 0
        if intent.writer is not None:
            entries = scaling.after(intent.writer, meta.pop("managedFields", []), before=before, now=replicas)
            meta |= {"managedFields": entries} if entries else {}
        obj["spec"]["replicas"] = replicas
        return obj

    return scale(served, writes.update(api, served, key, change, replace(intent, writer=None)).record)
