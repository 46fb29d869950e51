"""ResourceSlices read once into columns, and single devices as views of a row.

Filtering a cluster touches columns and masks only; a ``Device`` is made when somebody asks for it, such as the search
for one that it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from drakit_allocator.devices.capacity import Limits
from drakit_allocator.devices.changes import Attributes, Changed
from drakit_allocator.devices.columns import AttributeValue, Column, attribute_of, column_of
from drakit_allocator.devices.counters import Consumption, Layout, Needs, PublishedCounters, counters_of
from drakit_allocator.devices.schemas import SliceSchema, Spoiled, slice_schema
from drakit_allocator.devices.traits import Traits, capacities_of, traits_of

DeviceID = tuple[str, str, str]  # driver, pool, device
PoolID = tuple[str, str]  # driver, pool


class DeviceContent:
    """A published device without its name: a row of the columns of its slice."""

    __slots__ = ("_position", "_slice", "driver", "traits")

    def __init__(self, published: PublishedSlice, position: int) -> None:
        self.driver = published.pool[0]
        self.traits: Traits = published.traits.values[position]
        self._slice = published
        self._position = position

    def attribute(self, name: str) -> AttributeValue | None:
        """Return the attribute published under exactly this name; None if there is none."""
        column = self._slice.column(name)
        return None if column is None else column.values[self._position]

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """Its attributes by published name."""
        return {name: value for name in self.names if (value := self.attribute(name)) is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that any device of its slice has, as published."""
        return self._slice.schema.names

    @property
    def spoiled(self) -> Spoiled:
        """What of it may make every selector fail."""
        return Spoiled(self._slice.schema.spoiled.attributes, bool(self.traits.capacity.problem))

    @property
    def spec(self) -> Mapping[str, Any]:
        """The device as published, but for its name; put together for each call."""
        attributes = {name: value.published for name, value in self.attributes.items()}
        return {**self.traits.spec, "attributes": attributes} if attributes else self.traits.spec

    @property
    def is_shareable(self) -> bool:
        """Whether several requests may have a share of the device."""
        return self.traits.is_shareable

    @property
    def consumption(self) -> tuple[Consumption, ...]:
        """What it draws from counter sets, as published."""
        return self.traits.consumption

    @property
    def taints(self) -> tuple[Mapping[str, Any], ...]:
        """Its published taints."""
        return self.traits.taints

    @property
    def limits(self) -> Limits:
        """Its capacities, as requests consume them."""
        return self.traits.limits

    def needs(self, layout: Layout) -> Needs:
        """Return what the device draws from the counters of a pool. Raises ``KeyError`` as ``Layout.needs``."""
        return self.traits.needs(layout)


class Device:
    """A device of a slice, which has one object for it. Compared by identity; ``id`` is what claims refer to."""

    __slots__ = ("content", "id", "position", "slice")

    def __init__(self, published: PublishedSlice, position: int) -> None:
        self.id: DeviceID = (*published.pool, published.names.values[position])
        self.content = DeviceContent(published, position)
        self.slice = published
        self.position = position  # in the slice

    @property
    def name(self) -> str:
        """driver/pool/device, as messages print it."""
        return "/".join(self.id)

    @property
    def added_taints(self) -> tuple[Mapping[str, Any], ...]:
        """The taints that DeviceTaintRules and patches give it."""
        return self.slice.added_taints.get(self.position, ())

    def node_selection(self) -> tuple[str | None, bool, Mapping[str, Any] | None]:
        """Return ``nodeName``, ``allNodes`` and ``nodeSelector`` of the device: its own, or those of its slice."""
        return node_selection(self.content.traits.spec if self.slice.is_selected_per_device else self.slice.spec)


def node_selection(spec: Mapping[str, Any]) -> tuple[str | None, bool, Mapping[str, Any] | None]:
    """Return ``nodeName``, ``allNodes`` and ``nodeSelector`` of a slice or device."""
    return spec.get("nodeName"), bool(spec.get("allNodes")), spec.get("nodeSelector")


class PublishedSlice:
    """A ResourceSlice, read once. Compared by identity: a changed slice is a new object."""

    __slots__ = (
        "_devices",
        "added_taints",
        "change",
        "columns",
        "counters",
        "generation",
        "is_selected_per_device",
        "name",
        "names",
        "node_name",
        "pool",
        "schema",
        "skip_node_operations",
        "slice_count",
        "spec",
        "traits",
        "uses_compatibility_groups",
    )

    def __init__(self, resource_slice: Mapping[str, Any], *, hides_sharing: bool = False) -> None:
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
        devices: Sequence[Mapping[str, Any]] = spec.get("devices") or ()
        self.names: Column[str] = column_of(tuple([sys.intern(device["name"]) for device in devices]))
        self.traits: Column[Traits] = traits_of(devices, hides_sharing=hides_sharing)
        attributes = _attributes(devices)
        spoiled = Spoiled(
            tuple([name for name, column in attributes.items() if column.has_problem]),
            capacities_of(self.traits).has_problem,
        )
        self.schema: SliceSchema = slice_schema(self.pool[0], tuple(attributes), spoiled, len(devices))
        self.columns: Attributes = tuple(attributes.values())  # in the order of the schema's names
        self.uses_compatibility_groups = _uses_groups(self.traits)
        self.added_taints: Mapping[int, tuple[Mapping[str, Any], ...]] = {}  # by position
        self.change: Changed | None = None  # what administrators have made of it, if this is not as published
        self._devices: dict[int, Device] | None = None  # those that somebody has asked for

    def __len__(self) -> int:
        return len(self.names.values)

    def __bool__(self) -> bool:
        """Return True: one without devices is a slice as well."""
        return True

    def device(self, position: int) -> Device:
        """Return the device at a position of the slice."""
        if self._devices is None:
            self._devices = {}
        found = self._devices.get(position)
        if found is None:
            found = self._devices[position] = Device(self, position)
        return found

    def column(self, name: str) -> Column[AttributeValue | None] | None:
        """Return the values of the attribute published under exactly this name; None if no device has one."""
        position = self.schema.positions.get(name)
        return None if position is None else self.columns[position]

    def changed(self, change: Changed) -> PublishedSlice:
        """Return the slice as it looks with a change; all else is shared."""
        other = object.__new__(PublishedSlice)
        # One by one: a patch may change thousands of slices at once.
        other.counters = self.counters
        other.generation = self.generation
        other.is_selected_per_device = self.is_selected_per_device
        other.name = self.name
        other.names = self.names
        other.node_name = self.node_name
        other.pool = self.pool
        other.skip_node_operations = self.skip_node_operations
        other.slice_count = self.slice_count
        other.spec = self.spec
        other.uses_compatibility_groups = self.uses_compatibility_groups
        other.schema = change.schema
        other.columns = change.columns(self.columns)
        other.traits = change.traits
        other.added_taints = change.added_taints
        other.change = change
        other._devices = None
        return other

    @property
    def devices(self) -> tuple[Device, ...]:
        """All of its devices."""
        return tuple(map(self.device, range(len(self))))


# Fields of a slice's spec that are kept elsewhere, in another form.
_READ = frozenset({"devices", "driver", "pool", "sharedCounters"})


def _attributes(devices: Sequence[Mapping[str, Any]]) -> dict[str, Column[AttributeValue | None]]:
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
