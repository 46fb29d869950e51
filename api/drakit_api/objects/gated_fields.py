"""Fields that exist only while a feature gate is on.

An API server removes them silently from what it is sent, unless the stored object already uses the feature: so a
rollback loses nothing that was stored. A publisher that wants to know what will be dropped can ask with a copy of its
own. Sources, ``k8s.io/kubernetes`` 1.37.1: ``pkg/registry/resource/*/strategy.go``,
``pkg/api/resourceclaimspec/util.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.allocations import results
from drakit_api.objects.device_attributes import LIST_VALUES

_BINDING = ("bindingConditions", "bindingFailureConditions")


@dataclass(frozen=True, slots=True)
class _Fields:
    """Fields of some parts of an object; if they are ``filled``, one that is there but empty is no use of them."""

    parts: Callable[[Object], Iterable[Any]]
    names: frozenset[str]
    filled: bool

    def having(self, obj: Object) -> list[Any]:
        """List the parts that have any of the fields: nearly always none, since nobody uses a disabled feature."""
        has_none = self.names.isdisjoint
        # One call tells that none of hundreds of attributes has such a field.
        if has_none(chain.from_iterable(self.parts(obj))):
            return []
        return [part for part in self.parts(obj) if not has_none(part)]

    def used(self, obj: Object) -> bool:
        having = self.having(obj)
        return any(part.get(name) for part in having for name in self.names) if self.filled else bool(having)


@dataclass(frozen=True, slots=True)
class _Feature:
    """Its ``fields`` go unless all ``gates`` are on, or the old object uses one of them or of those ``elsewhere``."""

    gates: tuple[str, ...]
    fields: tuple[_Fields, ...]
    elsewhere: tuple[_Fields, ...] = ()

    def used(self, obj: Object) -> bool:
        return any(fields.used(obj) for fields in (*self.fields, *self.elsewhere))

    def drop(self, obj: Object) -> None:
        for fields in self.fields:
            for part in fields.having(obj):
                for name in fields.names:
                    part.pop(name, None)


def drop_slice_fields(obj: Object, old: Object | None, gates: FeatureGates) -> None:
    """Remove the fields of disabled features from a ResourceSlice, in place."""
    if old is not None and obj.get("spec") == old.get("spec"):
        return  # what is stored may stay
    _drop(_SLICE, obj, old, gates)


def drop_claim_spec_fields(spec: Object, old: Object | None, gates: FeatureGates) -> None:
    """Remove the fields of disabled features from the spec of a claim, or of a template's claim, in place."""
    _drop(_CLAIM_SPEC, spec, old, gates)


def drop_claim_status_fields(obj: Object, old: Object, gates: FeatureGates) -> None:
    """Remove the fields of disabled features from a claim's status, in place; both objects are whole claims."""
    _drop(_CLAIM_STATUS, obj, old, gates)


def drop_class_fields(obj: Object, old: Object | None, gates: FeatureGates) -> None:
    """Remove the fields of disabled features from a DeviceClass, in place."""
    _drop(_CLASS, obj, old, gates)


def drop_patch_fields(obj: Object, old: Object | None, gates: FeatureGates) -> None:
    """Remove the fields of disabled features from a ResourceSlicePatch, in place, before its schema has judged it."""
    if old is not None and obj.get("spec") == old.get("spec"):
        return  # what is stored may stay
    _drop(_PATCH, obj, old, gates)


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
    """Yield the exact requests and subrequests of a claim's spec."""
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


def _one_spec(obj: Object) -> list[Object]:
    return [_spec(obj)]


def _one_status(claim: Object) -> list[Object]:
    return [claim.get("status") or {}]


def _field(value: Any, name: str) -> Object:
    """Return a field that is an object itself; nothing if it is not."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _patched(patch: Object) -> list[Object]:
    return [_field(_field(patch, "spec"), "devices")]


def _patched_values(field: str) -> Callable[[Object], Iterator[Object]]:
    def values(patch: Object) -> Iterator[Object]:
        (devices,) = _patched(patch)
        return (value for value in _field(devices, field).values() if isinstance(value, dict))

    return values


def _filled(parts: Callable[[Object], Iterable[Any]], *names: str) -> _Fields:
    return _Fields(parts, frozenset(names), filled=True)


def _present(parts: Callable[[Object], Iterable[Any]], *names: str) -> _Fields:
    return _Fields(parts, frozenset(names), filled=False)


def _feature(gate: str, *fields: _Fields, elsewhere: tuple[_Fields, ...] = ()) -> _Feature:
    return _Feature((gate,), fields, elsewhere)


_SLICE = (
    _feature("DRADeviceTaints", _filled(_slice_devices, "taints")),
    _feature(
        "DRAPartitionableDevices",
        _filled(_one_spec, "sharedCounters"),
        _present(_one_spec, "perDeviceNodeSelection"),
        _filled(_slice_devices, "consumesCounters"),
        _present(_slice_devices, "nodeName", "nodeSelector", "allNodes"),
    ),
    _Feature(
        ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
        (_filled(_slice_devices, *_BINDING), _present(_slice_devices, "bindsToNode")),
    ),
    _feature(
        "DRAConsumableCapacity",
        _present(_slice_devices, "allowMultipleAllocations"),
        _present(_capacities, "requestPolicy"),
    ),
    _feature("DRADeviceCompatibilityGroups", _filled(_consumptions, "compatibilityGroups")),
    _feature("DRANodeAllocatableResources", _filled(_slice_devices, "nodeAllocatableResources")),
    _feature("DRAListTypeAttributes", _present(_attributes, *LIST_VALUES)),
    _feature("DRAPartitionableDevicesType", _present(_one_spec, "partitionTypeAttribute")),
    _feature("DRAOptionalNodeOperations", _filled(_one_spec, "skipNodeOperations")),
)

_CLAIM_SPEC = (
    _feature("DRAPrioritizedList", _filled(_requests, "firstAvailable")),
    _feature("DRADeviceTaints", _filled(_requested, "tolerations")),
    _feature("DRAAdminAccess", _present(_exactly, "adminAccess")),
    _feature("DRAConsumableCapacity", _present(_constraints, "distinctAttribute"), _present(_requested, "capacity")),
    _feature("DRADerivedAttributes", _filled(_requested, "derivedAttributes")),
)

_CLAIM_STATUS = (
    _feature("DRAResourceClaimDeviceStatus", _filled(_one_status, "devices")),
    _feature(
        "DRAAdminAccess",
        _present(results, "adminAccess"),
        elsewhere=(_present(lambda claim: _exactly(_spec(claim)), "adminAccess"),),
    ),
    _feature(
        "DRAConsumableCapacity",
        _present(results, "shareID", "consumedCapacity"),
        _present(_statuses, "shareID"),
        elsewhere=(
            _present(lambda claim: _constraints(_spec(claim)), "distinctAttribute"),
            _present(lambda claim: _requested(_spec(claim)), "capacity"),
        ),
    ),
    _feature("DRADeviceBindingConditions", _present(results, *_BINDING)),
    _feature("DRAOptionalNodeOperations", _filled(results, "skipNodeOperations")),
)

_CLASS = (_feature("DRAExtendedResource", _present(_one_spec, "extendedResourceName")),)

_PATCH = (
    _feature(PATCHES_GATE, _filled(_patched, "attributes", "capacity")),
    _feature("DRADeviceTaints", _filled(_patched, "taints")),
    _feature("DRAListTypeAttributes", _present(_patched_values("attributes"), *LIST_VALUES)),
    _feature("DRAConsumableCapacity", _present(_patched_values("capacity"), "requestPolicy")),
)
