"""Rules of ResourceSlices.

Source: ``validateResourceSliceSpec`` of ``k8s.io/kubernetes`` 1.37.1 ``pkg/apis/resource/validation/validation.go``,
and ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drakit_api import limits
from drakit_api.features import FeatureGates
from drakit_api.objects import encoding
from drakit_api.objects.device_attributes import is_advanced
from drakit_api.validation import metadata, names
from drakit_api.validation.errors import Errors, forbidden, invalid, invalid_constant, required, too_many
from drakit_api.validation.items import declared_objects, each, name_of, unique
from drakit_api.validation.nodeselector import node_selector
from drakit_api.validation.operations import declared_skipped_operations, skipped_operations
from drakit_api.validation.slices.counters import counter_set, declared_counter_set
from drakit_api.validation.slices.devices import declared_device, device
from drakit_api.validation.slices.ordinary import is_ordinary

_WAYS = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"

# The devices that the rules have to look at, each with its index.
Devices = Sequence[tuple[int, dict[str, Any]]]


def questionable(obj: dict[str, Any]) -> Devices:
    """Return the devices, with their indices, that a rule may object to; the others are known to be valid."""
    spec = obj.get("spec") or {}
    devices = enumerate(spec.get("devices") or ())
    if spec.get("perDeviceNodeSelection"):
        return list(devices)
    return [(index, value) for index, value in devices if not is_ordinary(value)]


def on_create(obj: dict[str, Any], devices: Devices, gates: FeatureGates) -> Errors:
    """Check a new slice, as ``ValidateResourceSlice`` does; ``devices`` are the questionable ones."""
    yield from metadata.on_create(obj.get("metadata") or {}, namespaced=False)
    yield from _spec(obj.get("spec") or {}, None, devices, gates)


def on_update(obj: dict[str, Any], old: dict[str, Any], devices: Devices, gates: FeatureGates) -> Errors:
    """Check that a slice stays with its driver, pool and node (``ValidateResourceSliceUpdate``)."""
    yield from metadata.on_update(obj.get("metadata") or {}, old.get("metadata") or {})
    yield from _spec(obj.get("spec") or {}, old.get("spec") or {}, devices, gates)


def declared(
    obj: dict[str, Any], old: dict[str, Any] | None, devices: Devices, gates: FeatureGates, version: str
) -> Errors:
    """Check the declared rules on creation, and on the update of an ``old`` slice, with the paths of ``version``.

    Unchanged fields are not looked at again where a rule depends on a gate; by the others they would be found valid.
    """
    spec, path = obj.get("spec") or {}, "spec"
    inner = ".basic" if version == "v1beta1" else ""
    for index, value in devices:
        yield from declared_device(value, f"{path}.devices[{index}]{inner}")
    yield from declared_objects(
        spec.get("sharedCounters"),
        f"{path}.sharedCounters",
        "resource/v1.CounterSet",
        name_of,
        maximum=limits.SLICE_COUNTER_SETS,
        rule=declared_counter_set,
    )
    previous = ((old or {}).get("spec") or {}).get("partitionTypeAttribute")
    if (attribute := spec.get("partitionTypeAttribute")) is not None and attribute != previous:
        if gates.enabled("DRAPartitionableDevicesType"):
            yield from names.fully_qualified(attribute, f"{path}.partitionTypeAttribute")
        else:
            yield forbidden(f"{path}.partitionTypeAttribute", "")
    yield from declared_skipped_operations(spec.get("skipNodeOperations"), f"{path}.skipNodeOperations")


def _spec(spec: dict[str, Any], old: dict[str, Any] | None, devices: Devices, gates: FeatureGates) -> Errors:
    path, pool = "spec", spec.get("pool") or {}
    yield from names.driver(spec.get("driver") or "", f"{path}.driver")
    yield from _pool(pool, f"{path}.pool")
    if old is not None:
        yield from _immutable(name_of(pool), name_of(old.get("pool") or {}), f"{path}.pool.name")
        yield from _immutable(spec.get("driver") or "", old.get("driver") or "", f"{path}.driver")
        if spec.get("nodeName") != old.get("nodeName"):
            yield invalid_constant(f"{path}.nodeName", spec.get("nodeName"), "field is immutable")
    yield from _nodes(spec, path)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield invalid(path, "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _devices(spec, old or {}, devices, f"{path}.devices", gates)
    counters = f"{path}.sharedCounters"
    yield from each(spec.get("sharedCounters"), counters, counter_set, maximum=limits.SLICE_COUNTER_SETS)
    if spec.get("partitionTypeAttribute") is not None:
        yield from _partition_type(spec, path)
    yield from skipped_operations(spec.get("skipNodeOperations"), f"{path}.skipNodeOperations")


def _pool(pool: dict[str, Any], path: str) -> Errors:
    yield from names.pool(name_of(pool), f"{path}.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield invalid(f"{path}.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        yield invalid(f"{path}.generation", generation, "must be greater than or equal to zero")


def _immutable(value: str | None, old: str | None, path: str) -> Errors:
    if value != old:
        yield invalid(path, value, "field is immutable")


def _nodes(spec: dict[str, Any], path: str) -> Errors:
    """Check that a slice says in exactly one way from which nodes its devices can be reached."""
    name, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if name:
        yield from names.dns_subdomain(name, f"{path}.nodeName")
    elif name is not None:
        yield invalid(f"{path}.nodeName", name, "must be either unset or set to a non-empty string")
    if selector is not None:
        yield from node_selector(selector, f"{path}.nodeSelector")
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            shown = terms and [encoding.internal_encoder("core/v1.NodeSelectorTerm")(term) for term in terms]
            yield invalid(f"{path}.nodeSelector.nodeSelectorTerms", shown, "must have exactly one node selector term")
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            yield invalid(f"{path}.{field}", False, "must be either unset or set to true")
    flags = {"allNodes": spec.get("allNodes"), "perDeviceNodeSelection": spec.get("perDeviceNodeSelection")}
    ways = {"nodeName": name, "nodeSelector": selector is not None, **flags}
    chosen = [f"`{way}`" for way, given in ways.items() if given]
    if not chosen:
        yield required(path, _WAYS)
    elif len(chosen) > 1:
        yield invalid(path, f"{{{', '.join(chosen)}}}", f"{_WAYS}, but multiple fields are set")


def _devices(
    spec: dict[str, Any], old: dict[str, Any], questionable: Devices, path: str, gates: FeatureGates
) -> Errors:
    devices = spec.get("devices") or []
    maximum = limits.SLICE_DEVICES
    if any(map(is_advanced, devices)):
        maximum = limits.SLICE_DEVICES_WITH_ADVANCED_FEATURES
    if len(devices) > maximum:
        yield too_many(path, len(devices), maximum)
        return
    per_device_nodes = bool(spec.get("perDeviceNodeSelection"))
    previous: dict[str, dict[str, Any]] = {}
    for value in (old.get("devices") or ()) if questionable else ():
        previous.setdefault(name_of(value), value)
    for index, value in questionable:
        known = previous.get(name_of(value))
        yield from device(value, known, f"{path}[{index}]", per_device_nodes=per_device_nodes, gates=gates)
    yield from unique([name_of(value) for value in devices], path)


def _partition_type(spec: dict[str, Any], path: str) -> Errors:
    """Check that each device that consumes counters has the attribute that names a partition's type, as a string."""
    name, devices = spec["partitionTypeAttribute"], spec.get("devices") or []
    if not any(value.get("consumesCounters") for value in devices):
        detail = "may only be set on a slice which declares devices that consume counters"
        yield invalid(f"{path}.partitionTypeAttribute", name, detail)
        return
    if "/" not in name or any(True for _ in names.qualified(name, "")):
        return
    bare = name.removeprefix(f"{spec.get('driver') or ''}/")
    for index, value in enumerate(devices):
        if not value.get("consumesCounters"):
            continue
        at, attributes = f"{path}.devices[{index}].attributes[{name}]", value.get("attributes") or {}
        attribute = attributes.get(name, attributes.get(bare) if bare else None)
        if attribute is None:
            detail = "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"
            yield required(at, detail)
        elif "string" not in attribute:
            shown = encoding.internal_encoder("resource/v1.DeviceAttribute")(attribute)
            yield invalid(at, shown, "must be a string value because `partitionTypeAttribute` names this attribute")
