"""ResourceSlices read once into columns, and single devices as views of a row.

Filtering a cluster touches columns and masks only; a ``Device`` is made when somebody asks for it, such as the search
for one that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drakit_allocator.devices.capacity import Limits
from drakit_allocator.devices.changes import AddedTaints, Attributes, Changed
from drakit_allocator.devices.columns import AttributeValue, Column
from drakit_allocator.devices.counters import Consumption, Layout, Needs, PublishedCounters
from drakit_allocator.devices.publications import PoolID as PoolID
from drakit_allocator.devices.publications import Publication, attributes_of
from drakit_allocator.devices.schemas import SliceSchema, Spoiled, slice_schema
from drakit_allocator.devices.traits import Traits, capacities_of, traits_of

DeviceID = tuple[str, str, str]  # driver, pool, device
_NO_TAINTS: AddedTaints = {}


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
        named = zip(self._slice.schema.names, self._slice.columns, strict=True)
        return {name: value for name, column in named if (value := column.values[self._position]) is not None}

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
    """A ResourceSlice, read once. Compared by identity: a changed slice is a new object.

    ``change`` is what administrators have made of it; None if it is as published. ``added_taints`` are those that they
    give to its devices, by position.
    """

    __slots__ = ("_devices", "_publication", "added_taints", "change", "schema", "traits")

    def __init__(self, resource_slice: Mapping[str, Any], *, hides_sharing: bool = False) -> None:
        devices: Sequence[Mapping[str, Any]] = resource_slice["spec"].get("devices") or ()
        self.traits: Column[Traits] = traits_of(devices, hides_sharing=hides_sharing)
        attributes = attributes_of(devices)
        self._publication = Publication(resource_slice, self.traits, tuple(attributes.values()))
        spoiled = Spoiled(
            tuple([name for name, column in attributes.items() if column.has_problem]),
            capacities_of(self.traits).has_problem,
        )
        self.schema: SliceSchema = slice_schema(self.pool[0], tuple(attributes), spoiled, len(devices))
        self.change: Changed | None = None
        self.added_taints: AddedTaints = _NO_TAINTS
        self._devices: dict[int, Device] | None = None  # those that somebody has asked for

    def __len__(self) -> int:
        return self.schema.size

    def __bool__(self) -> bool:
        """Return True: one without devices is a slice as well."""
        return True

    @property
    def name(self) -> str:
        """Its name in the API."""
        return self._publication.name

    @property
    def pool(self) -> PoolID:
        """The pool that it belongs to."""
        return self._publication.pool

    @property
    def names(self) -> Column[str]:
        """The names of its devices."""
        return self._publication.names

    @property
    def node_name(self) -> str:
        """The node that it is for, as far as it names one."""
        return self._publication.node_name

    @property
    def generation(self) -> int:
        """The generation of its pool."""
        return self._publication.generation

    @property
    def slice_count(self) -> int:
        """How many slices its pool has in this generation."""
        return self._publication.slice_count

    @property
    def is_selected_per_device(self) -> bool:
        """Whether its devices say for which nodes they are."""
        return self._publication.is_selected_per_device

    @property
    def skip_node_operations(self) -> tuple[str, ...]:
        """The operations that kubelets are to leave out."""
        return self._publication.skip_node_operations

    @property
    def uses_compatibility_groups(self) -> bool:
        """Whether any device names compatibility groups."""
        return self._publication.uses_compatibility_groups

    @property
    def counters(self) -> PublishedCounters:
        """Its counter sets."""
        return self._publication.counters

    @property
    def spec(self) -> Mapping[str, Any]:
        """What else its spec says, such as its node selector."""
        return self._publication.spec

    @property
    def columns(self) -> Attributes:
        """The attributes in the order of the schema's names."""
        return self.columns_at(tuple(range(len(self.schema.names))))

    def columns_at(self, positions: tuple[int, ...]) -> Attributes:
        """Return the attributes at positions of the schema's names."""
        published = self._publication.columns
        if self.change is None:
            return tuple([published[position] for position in positions])
        return self.change.columns_at(published, positions)

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
        return None if position is None else self.columns_at((position,))[0]

    def changed(self, change: Changed) -> PublishedSlice:
        """Return the slice as it looks with a change; all else is shared.

        A patch may change thousands of slices at once, of which few are looked at closely.
        """
        other = object.__new__(PublishedSlice)
        other._publication = self._publication
        other.schema = change.schema
        other.traits = change.traits
        other.change = change
        other.added_taints = change.added_taints
        other._devices = None
        return other

    @property
    def devices(self) -> tuple[Device, ...]:
        """All of its devices."""
        return tuple(map(self.device, range(len(self))))
