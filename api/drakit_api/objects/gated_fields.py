"""Fields that exist only while a feature gate is on.

An API server removes them silently from what it is sent, unless the stored object already uses the feature: so a
rollback loses nothing that was stored. A publisher that wants to know what will be dropped can ask with a copy of its
own. Sources, ``k8s.io/kubernetes`` 1.37.1: ``pkg/registry/resource/*/strategy.go``,
``pkg/api/resourceclaimspec/util.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.objects.allocations import results
from drakit_api.objects.device_attributes import LIST_VALUES

_DEVICE_NODES = ("nodeName", "nodeSelector", "allNodes")
_BINDING = ("bindingConditions", "bindingFailureConditions")


@dataclass(frozen=True, slots=True)
class _Feature:
    """``drop`` removes the fields of a feature unless all ``gates`` are on or the old object is ``used`` to it."""

    gates: tuple[str, ...]
    used: Callable[[Object], bool]
    drop: Callable[[Object], None]


def drop_slice_fields(obj: Object, old: Object | None, gates: FeatureGates) -> None:
    """Remove the fields of disabled features from a ResourceSlice, in place."""
    if old is not None and obj.get("spec") == old.get("spec"):
        return  # what is stored may stay
    _drop(_SLICE, obj, old, gates)


def drop_claim_spec_fields(spec: Object, old: Object | None, gates: FeatureGates) -> None:
    """Drop the gated fields of the spec of a claim or of a template's claim."""
    _drop(_CLAIM_SPEC, spec, old, gates)


def drop_claim_status_fields(obj: Object, old: Object, gates: FeatureGates) -> None:
    """Drop the gated fields of the status of a claim; both objects are whole claims."""
    _drop(_CLAIM_STATUS, obj, old, gates)


def drop_class_fields(obj: Object, old: Object | None, gates: FeatureGates) -> None:
    """Drop the gated fields of a DeviceClass."""
    _drop(_CLASS, obj, old, gates)


def slice_features(obj: Object) -> list[tuple[str, ...]]:
    """List the features that a ResourceSlice uses: for each a tuple with all of its gates."""
    return [feature.gates for feature in _SLICE if feature.used(obj)]


def claim_features(spec: Object) -> list[tuple[str, ...]]:
    """List the features that the spec of a claim uses: for each a tuple with all of its gates."""
    return [feature.gates for feature in _CLAIM_SPEC if feature.used(spec)]


def _drop(features: tuple[_Feature, ...], obj: Object, old: Object | None, gates: FeatureGates) -> None:
    for feature in features:
        if not all(map(gates.enabled, feature.gates)) and not (old is not None and feature.used(old)):
            feature.drop(obj)


def _remove(owner: Any, *fields: str) -> None:
    for field in fields:
        owner.pop(field, None)


def _has(owner: ReadOnlyObject, *fields: str) -> bool:
    return any(field in owner for field in fields)


def _with(parts: Callable[[Object], Any], fields: tuple[str, ...]) -> Callable[[Object], list[Object]]:
    """Find the parts that have any of these fields: nearly always none, since nobody uses a disabled feature."""
    has_none = frozenset(fields).isdisjoint

    def having(obj: Object) -> list[Object]:
        # Of hundreds of attributes, that none has any is found out by one call.
        return [] if has_none(chain.from_iterable(parts(obj))) else [part for part in parts(obj) if not has_none(part)]

    return having


def _filled(owner: Object, *fields: str) -> bool:
    return any(owner.get(field) for field in fields)


def _spec(obj: Object) -> Object:
    return obj.get("spec") or {}


def _slice_devices(obj: Object) -> list[Object]:
    return _spec(obj).get("devices") or []


def _attributes(obj: Object) -> Iterator[Object]:
    return chain.from_iterable((device.get("attributes") or {}).values() for device in _slice_devices(obj))


def _capacities(obj: Object) -> Iterator[Object]:
    return chain.from_iterable((device.get("capacity") or {}).values() for device in _slice_devices(obj))


def _consumptions(obj: Object) -> Iterator[Object]:
    return chain.from_iterable(device.get("consumesCounters") or () for device in _slice_devices(obj))


def _requested(spec: Object) -> Iterator[Object]:
    """Exact requests and subrequests of a claim's spec."""
    for request in _requests(spec):
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def _requests(spec: Object) -> list[Object]:
    return (spec.get("devices") or {}).get("requests") or []


def _constraints(spec: Object) -> list[Object]:
    return (spec.get("devices") or {}).get("constraints") or []


def _exactly(spec: Object) -> Iterator[Object]:
    return (request["exactly"] for request in _requests(spec) if request.get("exactly") is not None)


def _statuses(claim: Object) -> list[Object]:
    return (claim.get("status") or {}).get("devices") or []


def _drop_each(parts: Callable[[Object], Any], *fields: str) -> Callable[[Object], None]:
    having = _with(parts, fields)

    def drop(obj: Object) -> None:
        for part in having(obj):
            _remove(part, *fields)

    return drop


def _any_filled(parts: Callable[[Object], Any], *fields: str) -> Callable[[Object], bool]:
    having = _with(parts, fields)
    return lambda obj: any(_filled(part, *fields) for part in having(obj))


def _any_has(parts: Callable[[Object], Any], *fields: str) -> Callable[[Object], bool]:
    having = _with(parts, fields)
    return lambda obj: bool(having(obj))


def _drop_partitions(obj: Object) -> None:
    _remove(_spec(obj), "sharedCounters", "perDeviceNodeSelection")
    for device in _slice_devices(obj):
        _remove(device, "consumesCounters", *_DEVICE_NODES)


def _uses_partitions(obj: Object) -> bool:
    if _spec(obj).get("sharedCounters") or "perDeviceNodeSelection" in _spec(obj):
        return True
    return any(device.get("consumesCounters") or _has(device, *_DEVICE_NODES) for device in _slice_devices(obj))


def _drop_slice_sharing(obj: Object) -> None:
    for device in _slice_devices(obj):
        _remove(device, "allowMultipleAllocations")
    for capacity in _capacities(obj):
        _remove(capacity, "requestPolicy")


def _uses_slice_sharing(obj: Object) -> bool:
    devices = _slice_devices(obj)
    return any("allowMultipleAllocations" in device for device in devices) or any(
        "requestPolicy" in capacity for capacity in _capacities(obj)
    )


def _uses_binding(obj: Object) -> bool:
    return any(_filled(device, *_BINDING) or "bindsToNode" in device for device in _slice_devices(obj))


def _drop_claim_sharing(spec: Object) -> None:
    for constraint in _constraints(spec):
        _remove(constraint, "distinctAttribute")
    for devices in _requested(spec):
        _remove(devices, "capacity")


def _uses_claim_sharing(spec: Object) -> bool:
    return any("distinctAttribute" in constraint for constraint in _constraints(spec)) or any(
        "capacity" in devices for devices in _requested(spec)
    )


def _drop_status_sharing(claim: Object) -> None:
    for result in results(claim):
        _remove(result, "shareID", "consumedCapacity")
    for status in _statuses(claim):
        _remove(status, "shareID")


def _uses_status_sharing(claim: Object) -> bool:
    return (
        _uses_claim_sharing(_spec(claim))
        or any(_has(result, "shareID", "consumedCapacity") for result in results(claim))
        or any("shareID" in status for status in _statuses(claim))
    )


def _uses_admin_access(claim: Object) -> bool:
    return any("adminAccess" in part for part in (*_exactly(_spec(claim)), *results(claim)))


def _one_spec(obj: Object) -> list[Object]:
    return [_spec(obj)]


def _one_status(claim: Object) -> list[Object]:
    return [claim.get("status") or {}]


_SLICE = (
    _Feature(("DRADeviceTaints",), _any_filled(_slice_devices, "taints"), _drop_each(_slice_devices, "taints")),
    _Feature(("DRAPartitionableDevices",), _uses_partitions, _drop_partitions),
    _Feature(
        ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
        _uses_binding,
        _drop_each(_slice_devices, *_BINDING, "bindsToNode"),
    ),
    _Feature(("DRAConsumableCapacity",), _uses_slice_sharing, _drop_slice_sharing),
    _Feature(
        ("DRADeviceCompatibilityGroups",),
        _any_filled(_consumptions, "compatibilityGroups"),
        _drop_each(_consumptions, "compatibilityGroups"),
    ),
    _Feature(
        ("DRANodeAllocatableResources",),
        _any_filled(_slice_devices, "nodeAllocatableResources"),
        _drop_each(_slice_devices, "nodeAllocatableResources"),
    ),
    _Feature(("DRAListTypeAttributes",), _any_has(_attributes, *LIST_VALUES), _drop_each(_attributes, *LIST_VALUES)),
    _Feature(
        ("DRAPartitionableDevicesType",),
        _any_has(_one_spec, "partitionTypeAttribute"),
        _drop_each(_one_spec, "partitionTypeAttribute"),
    ),
    _Feature(
        ("DRAOptionalNodeOperations",),
        _any_filled(_one_spec, "skipNodeOperations"),
        _drop_each(_one_spec, "skipNodeOperations"),
    ),
)

_CLAIM_SPEC = (
    _Feature(
        ("DRAPrioritizedList",), _any_filled(_requests, "firstAvailable"), _drop_each(_requests, "firstAvailable")
    ),
    _Feature(("DRADeviceTaints",), _any_filled(_requested, "tolerations"), _drop_each(_requested, "tolerations")),
    _Feature(("DRAAdminAccess",), _any_has(_exactly, "adminAccess"), _drop_each(_exactly, "adminAccess")),
    _Feature(("DRAConsumableCapacity",), _uses_claim_sharing, _drop_claim_sharing),
    _Feature(
        ("DRADerivedAttributes",),
        _any_filled(_requested, "derivedAttributes"),
        _drop_each(_requested, "derivedAttributes"),
    ),
)

_CLAIM_STATUS = (
    _Feature(
        ("DRAResourceClaimDeviceStatus",), _any_filled(_one_status, "devices"), _drop_each(_one_status, "devices")
    ),
    _Feature(("DRAAdminAccess",), _uses_admin_access, _drop_each(results, "adminAccess")),
    _Feature(("DRAConsumableCapacity",), _uses_status_sharing, _drop_status_sharing),
    _Feature(("DRADeviceBindingConditions",), _any_has(results, *_BINDING), _drop_each(results, *_BINDING)),
    _Feature(
        ("DRAOptionalNodeOperations",),
        _any_filled(results, "skipNodeOperations"),
        _drop_each(results, "skipNodeOperations"),
    ),
)

_CLASS = (
    _Feature(
        ("DRAExtendedResource",),
        _any_has(_one_spec, "extendedResourceName"),
        _drop_each(_one_spec, "extendedResourceName"),
    ),
)
