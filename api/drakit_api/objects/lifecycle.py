"""What becomes of an object between a request and the store: the step before validation.

Decoded objects that have their defaults (``drakit_api.objects.defaults``) lose the fields of disabled gates, and keep
what a request may not touch: the status in a write to the object, everything but the status in a write to the status.
The functions take over ``obj`` and change it in place; a stored ``old`` object is only read, but its parts may be
shared by the result. All objects are v1. Sources: ``k8s.io/kubernetes`` 1.37.1 ``pkg/registry/resource/*/strategy.go``
(``PrepareForCreate``, ``PrepareForUpdate``) and ``k8s.io/apiserver`` v0.37.1 ``pkg/registry/rest``.
"""

from __future__ import annotations

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import gated_fields, schema
from drakit_api.objects.allocations import DeviceID, device_id, results
from drakit_api.objects.equality import same_field

_WITH_STATUS = {"ResourceClaim", "DeviceTaintRule"}
_WITH_GENERATION = {"ResourceSlice", "DeviceClass", "DeviceTaintRule"}
_RESET_FOR_STATUS = (
    "deletionTimestamp",
    "generation",
    "selfLink",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)


def prepare_create(kind: str, obj: Object, gates: FeatureGates) -> Object:
    """Prepare a new object, in place: no status, no fields of disabled gates, generation 1 where its kind has one."""
    if kind in _WITH_STATUS:
        obj.pop("status", None)
    _drop_fields(kind, obj, None, gates)
    meta = obj.setdefault("metadata", {})
    if kind in _WITH_GENERATION:
        meta["generation"] = 1
    return obj


def prepare_update(kind: str, obj: Object, old: Object, gates: FeatureGates, *, now: str) -> Object:
    """Prepare an object that is to replace ``old``, in place; its generation grows if its spec differs.

    ``now`` is the server's time, such as "2026-01-01T00:00:00Z", for a taint that starts anew.
    """
    if kind in _WITH_STATUS:
        _copy(obj, old, "status")
    if kind == "DeviceTaintRule":
        _renew_taint(obj, old, now)
    _keep_metadata(obj, old)
    changed_before = not _same_spec(kind, obj, old)
    _drop_fields(kind, obj, old, gates)
    # Upstream compares a slice before it drops fields, and a class afterwards.
    changed = changed_before if kind == "ResourceSlice" else not _same_spec(kind, obj, old)
    if kind in _WITH_GENERATION and changed:
        obj["metadata"]["generation"] = (obj["metadata"].get("generation") or 0) + 1
    return obj


def prepare_status_update(kind: str, obj: Object, old: Object, gates: FeatureGates) -> Object:
    """Prepare a write to the status subresource, in place: spec and most metadata stay those of ``old``."""
    _keep_metadata(obj, old)
    _copy(obj, old, "spec")
    for field in _RESET_FOR_STATUS:
        _copy(obj["metadata"], old.get("metadata") or {}, field)
    if kind == "ResourceClaim":
        gated_fields.drop_claim_status_fields(obj, old, gates)
        _drop_statuses_of_deallocated_devices(obj, old)
    return obj


def _same_spec(kind: str, obj: Object, old: Object) -> bool:
    return same_field(schema.struct_of(kind), "spec", obj, old)


def _copy(obj: Object, old: Object, field: str) -> None:
    if field in old:
        obj[field] = old[field]
    else:
        obj.pop(field, None)


def _drop_fields(kind: str, obj: Object, old: Object | None, gates: FeatureGates) -> None:
    spec, old_spec = obj.get("spec") or {}, None if old is None else old.get("spec") or {}
    match kind:
        case "ResourceSlice":
            gated_fields.drop_slice_fields(obj, old, gates)
        case "DeviceClass":
            gated_fields.drop_class_fields(obj, old, gates)
        case "ResourceClaim":
            gated_fields.drop_claim_spec_fields(spec, old_spec, gates)
        case "ResourceClaimTemplate":
            inner = None if old_spec is None else old_spec.get("spec") or {}
            gated_fields.drop_claim_spec_fields(spec.get("spec") or {}, inner, gates)


def _keep_metadata(obj: Object, old: Object) -> None:
    """Keep the metadata that no update can change (``BeforeUpdate``)."""
    meta, old_meta = obj.setdefault("metadata", {}), old.get("metadata") or {}
    _copy(meta, old_meta, "generation")
    if not meta.get("uid"):
        _copy(meta, old_meta, "uid")
    for field in ("creationTimestamp", "deletionTimestamp"):
        if old_meta.get(field):
            meta[field] = old_meta[field]
    if meta.get("deletionGracePeriodSeconds") is None:
        _copy(meta, old_meta, "deletionGracePeriodSeconds")


def _renew_taint(rule: Object, old: Object, now: str) -> None:
    """Set the time of a taint whose effect changes to now, unless the client gave it a time."""
    taint, previous = rule["spec"]["taint"], (old.get("spec") or {}).get("taint") or {}
    same_time = taint.get("timeAdded") == previous.get("timeAdded")
    if taint.get("effect") != previous.get("effect") and same_time:
        taint["timeAdded"] = now


def _drop_statuses_of_deallocated_devices(claim: Object, old: Object) -> None:
    """Drop what drivers reported about devices that are not allocated any more."""
    status = claim.get("status") or {}
    gone = _allocated(old) - _allocated(claim)
    kept = [device for device in status.get("devices") or () if device_id(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


def _allocated(claim: Object) -> set[DeviceID]:
    return set(map(device_id, results(claim)))
