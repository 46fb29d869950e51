"""What must hold in a flat pool before it is cut into slices.

Two kinds of rules. The limits of one device or counter set, which the API server would refuse slice by slice; said here
with the name of the device, before anything is published. And the rules across slices, which no API server checks: a
device that names a missing counter set makes the scheduler ignore the whole pool, one that takes more than the set has
can never be allocated, and both look like a scheduler that does nothing.

Sources, of Kubernetes 1.37.1: ``pkg/apis/resource/validation``, and for the rules across slices
``k8s.io/dynamic-resource-allocation`` ``resourceslice/validation.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drakit_api import limits
from drakit_api.layouts.pools import Pool
from drakit_api.objects.device_attributes import value_count
from drakit_api.quantity import Quantity

_SELECTIONS = {
    "nodeName": "node_name",
    "nodeSelector": "node_selector",
    "allNodes": "all_nodes",
    "perDeviceNodeSelection": "per_device_node_selection",
}
_DEVICE_SELECTIONS = ("nodeName", "nodeSelector", "allNodes")


def violations(pool: Pool) -> Iterator[str]:
    """Yield a line for each broken rule of a flat pool."""
    yield from _node_selection(pool)
    yield from duplicates("counter set", pool.shared_counters)
    yield from duplicates("device", pool.devices)
    available = {each["name"]: each.get("counters", {}) for each in pool.shared_counters}
    for name, counters in available.items():
        if not counters:
            yield f"counter set {name}: counters: required, a counter set without counters is refused by the API"
        yield from too_many(f"counter set {name}: counters", len(counters), limits.COUNTERS_PER_SET)
    for device in pool.devices:
        yield from _device_limits(device)
        yield from _consumption(device, available)
        yield from _device_selection(device, pool)


def duplicates(kind: str, named: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield an error for each name that occurs more than once."""
    for name, count in Counter(each["name"] for each in named).items():
        if count > 1:
            yield f"{kind} {name}: defined {count} times; names must be unique"


def too_many(what: str, count: int, limit: int) -> Iterator[str]:
    """Yield an error if there are more than ``limit``."""
    if count > limit:
        yield f"{what}: {count} entries; at most {limit} are allowed"


def too_many_properties(what: str, each: Mapping[str, Any]) -> Iterator[str]:
    """Yield an error if a device or device mixin has too many attributes and capacities."""
    properties = len(each.get("attributes", {})) + len(each.get("capacity", {}))
    yield from too_many(
        f"{what}: attributes and capacity together", properties, limits.ATTRIBUTES_AND_CAPACITIES_PER_DEVICE
    )


def _node_selection(pool: Pool) -> Iterator[str]:
    chosen = [name for name, member in _SELECTIONS.items() if getattr(pool, member)]
    if len(chosen) != 1:
        yield f"exactly one of {', '.join(_SELECTIONS)} must be set, not {' and '.join(chosen) or 'none of them'}"


def _device_limits(device: Mapping[str, Any]) -> Iterator[str]:
    name = device["name"]
    yield from too_many_properties(f"device {name}", device)
    values = sum(map(value_count, device.get("attributes", {}).values()))
    yield from too_many(f"device {name}: attribute values", values, limits.ATTRIBUTE_VALUES_PER_DEVICE)
    consumptions = len(device.get("consumesCounters", []))
    yield from too_many(f"device {name}: consumesCounters", consumptions, limits.COUNTER_CONSUMPTIONS_PER_DEVICE)


def _device_selection(device: Mapping[str, Any], pool: Pool) -> Iterator[str]:
    name, chosen = device["name"], [each for each in _DEVICE_SELECTIONS if device.get(each)]
    if pool.per_device_node_selection and len(chosen) != 1:
        found = " and ".join(chosen) or "none of them"
        yield (
            f"device {name}: exactly one of {', '.join(_DEVICE_SELECTIONS)} must be set"
            f" because of perDeviceNodeSelection, not {found}"
        )
    if chosen and not pool.per_device_node_selection:
        yield f"device {name}: {chosen[0]}: only allowed with perDeviceNodeSelection: true in the pool"


def _consumption(device: Mapping[str, Any], available: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for index, consumption in enumerate(device.get("consumesCounters", [])):
        place = f"device {device['name']}: consumesCounters[{index}]"
        name, counters = consumption.get("counterSet", ""), consumption.get("counters", {})
        if name in seen:
            yield f'{place}.counterSet: "{name}" is consumed twice; write its counters into one entry'
        seen.add(name)
        if name not in available:
            yield f'{place}.counterSet: there is no counter set "{name}" in the pool; sharedCounters defines the sets'
            continue
        if not counters:
            yield f"{place}.counters: required; a device that consumes nothing has no consumesCounters"
        yield from too_many(f"{place}.counters", len(counters), limits.COUNTERS_PER_CONSUMPTION)
        yield from _taken(place, name, counters, available[name])


def _taken(place: str, name: str, counters: Mapping[str, Any], available: Mapping[str, Any]) -> Iterator[str]:
    for counter, wanted in counters.items():
        if counter not in available:
            yield f'{place}.counters[{counter}]: counter set "{name}" has no such counter'
        elif Quantity.parse(wanted["value"]) > Quantity.parse(available[counter]["value"]):
            yield (
                f"{place}.counters[{counter}]: takes {wanted['value']}, but counter set"
                f' "{name}" has {available[counter]["value"]}: the device could never be allocated'
            )
