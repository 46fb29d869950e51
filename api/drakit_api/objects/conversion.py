"""Between v1, which is stored and used within a process, and the older versions of resource.k8s.io.

v1beta2 and v1alpha3 differ from v1 in nothing but their name. v1beta1 does in three places: a device keeps everything
but its name under ``basic``, a request has the fields of ``exactly`` itself, and a slice's ``nodeName`` and
``allNodes`` cannot be set to their zero value. Everything that exists in v1 exists in each version of its kind, so
nothing is lost on the way there and back, but for what is empty.

Objects may be decoded or as the store keeps them, with or without ``kind`` and ``apiVersion``. Results share parts
with what they were made of, which is never changed. Source: ``pkg/apis/resource/v1beta1/conversion.go`` of
``k8s.io/kubernetes`` 1.37.1, and ``zz_generated.conversion.go`` of each version.
"""

from __future__ import annotations

from collections.abc import Callable

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import schema

STORAGE_VERSION = "v1"

_Convert = Callable[[Object], Object]

# The preferred version is first (pkg/apis/resource/install/install.go).
_VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
# Of a request in v1beta1, or of its ``exactly`` since: those that are set unless zero, and those that can be set to it.
_REQUEST_VALUES = ("deviceClassName", "allocationMode", "count")
_REQUEST_POINTERS = ("selectors", "adminAccess", "tolerations", "capacity", "derivedAttributes")
_EXACTLY = frozenset(_REQUEST_VALUES + _REQUEST_POINTERS)
# An empty list or map in one of these fields is dropped by conversion.
_DEVICE_CONTAINERS = frozenset({"attributes", "capacity", "consumesCounters", "taints"})


def versions(kind: str) -> tuple[str, ...]:
    """List the versions between which a kind can be converted, v1 first. Raises ``LookupError`` if v1 lacks it."""
    schema.struct_of(kind, STORAGE_VERSION)
    kinds = schema.load().kinds
    return tuple(version for version in _VERSIONS if kind in kinds[version])


def to_v1(kind: str, obj: Object, version: str) -> Object:
    """Convert an object of ``version`` to v1. Raises ``LookupError`` if the kind does not exist in both."""
    return _converted(kind, obj, version, STORAGE_VERSION, _TO_V1)


def from_v1(kind: str, obj: Object, version: str) -> Object:
    """Convert a v1 object to ``version``. Raises ``LookupError`` if the kind does not exist in both."""
    return _converted(kind, obj, STORAGE_VERSION, version, _FROM_V1)


def same_structure(kind: str, version: str) -> bool:
    """Tell whether ``version`` and v1 of a kind are the same but for ``apiVersion``. Raises as ``to_v1``."""
    _check(kind, version)
    return (kind, version) not in _TO_V1


def _check(kind: str, *of: str) -> None:
    for version in of:
        schema.struct_of(kind, version)


def _converted(
    kind: str, obj: Object, source: str, target: str, conversions: dict[tuple[str, str], _Convert]
) -> Object:
    _check(kind, source, target)
    convert = conversions.get((kind, target if source == STORAGE_VERSION else source))
    if convert is not None:
        obj = convert(obj)
    if source == target or "apiVersion" not in obj:
        return obj
    return {**obj, "apiVersion": f"{schema.GROUP}/{target}"}


def _within(field: str, convert: _Convert) -> _Convert:
    """Make the conversion of an object in which one field is converted, if it is there."""

    def converted(owner: Object) -> Object:
        inner = owner.get(field)
        return owner if inner is None else {**owner, field: convert(inner)}

    return converted


def _each(field: str, convert: _Convert) -> _Convert:
    """Make the conversion of an object in which the items of one list are converted, if it is there."""

    def converted(owner: Object) -> Object:
        items = owner.get(field)
        return owner if not items else {**owner, field: [convert(item) for item in items]}

    return converted


def _slice_spec(convert_device: _Convert) -> _Convert:
    """Make the conversion of a slice's spec in one direction; both drop a zero ``nodeName`` or ``allNodes``."""
    convert_devices = _each("devices", convert_device)

    def converted(spec: Object) -> Object:
        unset = [field for field in ("nodeName", "allNodes") if field in spec and not spec[field]]
        spec = convert_devices(spec)
        return {field: value for field, value in spec.items() if field not in unset} if unset else spec

    return converted


def _device_to_v1(device: Object) -> Object:
    return {**_name(device), **_without_empty(device.get("basic") or {})}


def _device_from_v1(device: Object) -> Object:
    basic = _without_empty(device)
    basic.pop("name", None)
    return {**_name(device), "basic": basic}


def _name(owner: Object) -> Object:
    return {"name": owner["name"]} if "name" in owner else {}


def _without_empty(device: Object) -> Object:
    return {field: value for field, value in device.items() if value or field not in _DEVICE_CONTAINERS}


def _request_to_v1(request: Object) -> Object:
    """Convert a request to v1: ``exactly`` exists if any of its fields was set, even wrongly (validation will tell)."""
    converted = {field: value for field, value in request.items() if field not in _EXACTLY}
    if any(request.get(field) for field in _REQUEST_VALUES) or any(
        request.get(field) is not None for field in _REQUEST_POINTERS
    ):
        exactly = {field: value for field, value in request.items() if field in _EXACTLY}
        converted["exactly"] = _without_empty_tolerations(exactly)
    return converted


def request_from_v1(request: Object) -> Object:
    """Convert a v1 DeviceRequest to v1beta1, where the fields of ``exactly`` are its own."""
    converted = {field: value for field, value in request.items() if field != "exactly"}
    return converted | _without_empty_tolerations(request.get("exactly") or {})


def _without_empty_tolerations(exactly: Object) -> Object:
    return {field: value for field, value in exactly.items() if value or field != "tolerations"}


def _conversions(device: _Convert, request: _Convert) -> dict[tuple[str, str], _Convert]:
    """Map kind and older version to the conversion in one direction; versions of the same structure have none."""
    claim = _within("spec", _within("devices", _each("requests", request)))
    return {
        ("ResourceSlice", "v1beta1"): _within("spec", _slice_spec(device)),
        ("ResourceClaim", "v1beta1"): claim,
        ("ResourceClaimTemplate", "v1beta1"): _within("spec", claim),
    }


_TO_V1 = _conversions(_device_to_v1, _request_to_v1)
_FROM_V1 = _conversions(_device_from_v1, request_from_v1)
