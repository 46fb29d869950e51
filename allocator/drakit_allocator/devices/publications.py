"""What of a ResourceSlice stays as its driver has published it, however administrators make its devices look.

It is read once, and all that a patch makes of the slice share it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from drakit_allocator.devices.changes import Attributes
from drakit_allocator.devices.columns import AttributeValue, Column, attribute_of, column_of
from drakit_allocator.devices.counters import PublishedCounters, counters_of
from drakit_allocator.devices.traits import Traits

PoolID = tuple[str, str]  # driver, pool

# Fields of a slice's spec that are kept elsewhere, in another form.
_READ = frozenset({"devices", "driver", "pool", "sharedCounters"})


class Publication:
    """What of a slice is as its driver has published it, whatever administrators make of it."""

    __slots__ = (
        "columns",
        "counters",
        "generation",
        "is_selected_per_device",
        "name",
        "names",
        "node_name",
        "pool",
        "skip_node_operations",
        "slice_count",
        "spec",
        "uses_compatibility_groups",
    )

    def __init__(self, resource_slice: Mapping[str, Any], traits: Column[Traits], columns: Attributes) -> None:
        spec = resource_slice["spec"]
        pool = spec["pool"]
        self.name: str = resource_slice["metadata"].get("name", "")
        self.pool: PoolID = (sys.intern(spec["driver"]), sys.intern(pool["name"]))
        self.generation: int = pool.get("generation", 0)
        self.slice_count: int = pool.get("resourceSliceCount", 0)
        self.node_name: str = spec.get("nodeName") or ""
        self.skip_node_operations: tuple[str, ...] = tuple(spec.get("skipNodeOperations") or ())
        self.is_selected_per_device = bool(spec.get("perDeviceNodeSelection"))
        self.spec: Mapping[str, Any] = {key: value for key, value in spec.items() if key not in _READ}
        self.counters: PublishedCounters = counters_of(spec.get("sharedCounters") or ())
        names = tuple([sys.intern(device["name"]) for device in spec.get("devices") or ()])
        self.names: Column[str] = column_of(names)
        self.columns = columns
        self.uses_compatibility_groups = _uses_groups(traits)


def attributes_of(devices: Sequence[Mapping[str, Any]]) -> dict[str, Column[AttributeValue | None]]:
    """Read the attributes of devices into columns, by published name."""
    columns: dict[str, list[AttributeValue | None]] = {}
    for position, device in enumerate(devices):
        for name, published in (device.get("attributes") or {}).items():
            column = columns.get(name)
            if column is None:
                column = columns[sys.intern(name)] = [None] * len(devices)
            column[position] = attribute_of(published)
    return {name: column_of(tuple(column)) for name, column in columns.items()}


def _uses_groups(traits: Column[Traits]) -> bool:
    found: bool | None = traits.memory.get("uses groups")
    if found is None:
        found = any(entry.compatibility_groups for one in traits.values for entry in one.consumption)
        traits.memory["uses groups"] = found
    return found
