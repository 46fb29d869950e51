"""Devices of a slice: attributes, capacity, consumed counters, taints, nodes.

Source: ``validateDevice`` and below of ``k8s.io/kubernetes`` 1.37.1 ``pkg/apis/resource/validation/validation.go``, and
``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import limits
from drakit_api.features import FeatureGates
from drakit_api.objects.device_attributes import value_count
from drakit_api.objects.equality import same_field
from drakit_api.validation import names
from drakit_api.validation.binding import binding_conditions, declared_binding_conditions
from drakit_api.validation.errors import Errors, invalid, required, too_many
from drakit_api.validation.items import declared_objects, each, map_key
from drakit_api.validation.nodeselector import node_selector
from drakit_api.validation.slices.attributes import attribute, declared_attribute, is_plain
from drakit_api.validation.slices.capacity import exclusive_capacity, shared_capacity
from drakit_api.validation.slices.counters import consumption, declared_consumption
from drakit_api.validation.slices.nodeallocatable import declared_node_allocatable, node_allocatable
from drakit_api.validation.taints import declared_taint, taint

_STRUCT = "resource/v1.Device"
_KEY_LENGTH = limits.ATTRIBUTE_DOMAIN_LENGTH + 1 + limits.ATTRIBUTE_ID_LENGTH


def device(
    value: dict[str, Any], old: dict[str, Any] | None, path: str, *, per_device_nodes: bool, gates: FeatureGates
) -> Errors:
    """Check a device, except for some fields that are the same in the ``old`` device of that name."""
    yield from names.dns_label(value.get("name") or "", f"{path}.name")
    yield from _sizes(value, path)
    for name, item in (value.get("attributes") or {}).items():
        yield from names.qualified(name, f"{path}.attributes")
        if not is_plain(item):
            yield from attribute(item, f"{path}.attributes[{map_key(name, _KEY_LENGTH)}]")
    if old is None or not same_field(_STRUCT, "capacity", value, old):
        yield from _capacities(value, f"{path}.capacity", gates)
    if old is None or not same_field(_STRUCT, "taints", value, old):
        yield from _taints(value.get("taints") or [], f"{path}.taints")
    consumed = value.get("consumesCounters")
    maximum = limits.COUNTER_CONSUMPTIONS_PER_DEVICE
    yield from each(consumed, f"{path}.consumesCounters", consumption, maximum=maximum)
    yield from _nodes(value, path, per_device_nodes)
    yield from binding_conditions(value, path)
    resources = value.get("nodeAllocatableResources") or {}
    yield from node_allocatable(resources, value.get("capacity") or {}, f"{path}.nodeAllocatableResources")


def declared_device(value: dict[str, Any], path: str) -> Errors:
    """Check the declared rules of a device."""
    for name, item in (value.get("attributes") or {}).items():
        if not is_plain(item):
            yield from declared_attribute(item, f"{path}.attributes[{name}]")
    yield from declared_objects(
        value.get("consumesCounters"),
        f"{path}.consumesCounters",
        "resource/v1.DeviceCounterConsumption",
        lambda item: item.get("counterSet") or "",
        maximum=limits.COUNTER_CONSUMPTIONS_PER_DEVICE,
        rule=declared_consumption,
    )
    yield from each(value.get("taints"), f"{path}.taints", declared_taint)
    yield from declared_binding_conditions(value, path)
    resources = value.get("nodeAllocatableResources") or {}
    yield from declared_node_allocatable(resources, f"{path}.nodeAllocatableResources")


def _sizes(value: dict[str, Any], path: str) -> Errors:
    attributes = value.get("attributes") or {}
    count = len(attributes) + len(value.get("capacity") or {})
    maximum = limits.ATTRIBUTES_AND_CAPACITIES_PER_DEVICE
    if count > maximum:
        yield invalid(path, count, f"the total number of attributes and capacities must not exceed {maximum}")
    count, maximum = sum(map(value_count, attributes.values())), limits.ATTRIBUTE_VALUES_PER_DEVICE
    if count > maximum:
        yield invalid(path, count, f"the total number of attribute values must not exceed {maximum}")


def _capacities(value: dict[str, Any], path: str, gates: FeatureGates) -> Errors:
    shared = bool(value.get("allowMultipleAllocations"))
    for name, item in (value.get("capacity") or {}).items():
        yield from names.qualified(name, path)
        if item.get("requestPolicy") is not None:
            at = f"{path}[{map_key(name, _KEY_LENGTH)}]"
            yield from shared_capacity(item, at, gates) if shared else exclusive_capacity(at)


def _taints(taints: list[dict[str, Any]], path: str) -> Errors:
    if len(taints) > limits.TAINTS_PER_DEVICE:
        yield too_many(path, len(taints), limits.TAINTS_PER_DEVICE)
    else:
        yield from each(taints, path, taint)


def _nodes(value: dict[str, Any], path: str, per_device_nodes: bool) -> Errors:
    """Check where the device is, which it must say itself exactly if the slice leaves it to its devices."""
    name, selector, everywhere = value.get("nodeName"), value.get("nodeSelector"), value.get("allNodes")
    if not per_device_nodes:
        if name is not None or selector is not None or everywhere is not None:
            detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to"
            yield invalid(path, None, f"{detail} true in the ResourceSlice spec")
        return
    if name == "":
        yield invalid(f"{path}.nodeName", name, "must not be empty")
    elif name is not None:
        yield from names.dns_subdomain(name, f"{path}.nodeName")
    if selector is not None:
        yield from node_selector(selector, f"{path}.nodeSelector")
    if everywhere is False:
        yield invalid(f"{path}.allNodes", False, "must be either unset or set to true")
    ways = {"nodeName": bool(name), "nodeSelector": selector is not None, "allNodes": bool(everywhere)}
    chosen = [f"`{way}`" for way, given in ways.items() if given]
    detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set"
    if not chosen:
        yield required(path, f"{detail} to true in the ResourceSlice spec")
    elif len(chosen) > 1:
        yield invalid(path, f"{{{', '.join(chosen)}}}", f"{detail} to true in the ResourceSlice spec")
