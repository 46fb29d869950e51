"""What a device is besides its name and its attributes. Devices that publish the same share one object.

The MIG partitions of all GPUs of a kind have traits in common, node by node: capacity, what they draw from counters,
taints, conditions.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from drakit_allocator.devices.capacity import Limits, parse_limits
from drakit_allocator.devices.columns import Column, OneOfEach, column_of
from drakit_allocator.devices.counters import Consumption, Layout, Needs, parse_consumption
from drakit_api.objects.device_attributes import overridden
from drakit_api.quantity import Quantity, QuantityError

_numbers = itertools.count(1)


class Capacity:
    """The capacities of a device and whether it may be shared; equal ones are one object."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.number = next(_numbers)
        self.is_shareable = bool(spec.get("allowMultipleAllocations"))
        self.spec: Mapping[str, Any] = spec.get("capacity") or {}
        self.amounts: list[tuple[str, Quantity]] = []  # as selectors see them
        self.problem = ""
        for name, entry in self.spec.items():
            try:
                self.amounts.append((name, Quantity.parse(entry.get("value", "0"))))
            except QuantityError as error:
                self.problem = self.problem or f"capacity {name}: {error}"

    @cached_property
    def limits(self) -> Limits:
        """Its capacities, as requests consume them."""
        return parse_limits({"capacity": self.spec})

    @property
    def is_broken(self) -> bool:
        """Whether the policy of one of them makes no sense."""
        if self.problem or not any(entry.get("requestPolicy") for entry in self.spec.values()):
            return False
        ranges = (limit.valid_range for limit in self.limits.values())
        return any(valid is not None and valid.is_broken for valid in ranges)


class Traits:
    """A published device without name and attributes. Compared by identity, made by ``traits_of``."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec
        self.capacity = _capacity_of(spec)
        self.is_shareable = self.capacity.is_shareable
        self.consumption: tuple[Consumption, ...] = parse_consumption(spec)
        self.taints: tuple[Mapping[str, Any], ...] = tuple(spec.get("taints") or ())
        self._needs: tuple[Layout, Needs] | None = None

    @property
    def limits(self) -> Limits:
        """Its capacities, as requests consume them."""
        return self.capacity.limits

    def needs(self, layout: Layout) -> Needs:
        """Return what the device draws from the counters of a pool. Raises ``KeyError`` as ``Layout.needs``."""
        if self._needs is None or self._needs[0] is not layout:
            self._needs = (layout, layout.needs(self.consumption))
        return self._needs[1]


_CAPACITIES: OneOfEach[bytes, Capacity] = OneOfEach()
_TRAITS: OneOfEach[bytes, Traits] = OneOfEach()
_COLUMNS: OneOfEach[bytes, Column[Traits]] = OneOfEach()


def _digest(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=16).digest()


def _capacity_of(spec: Mapping[str, Any]) -> Capacity:
    key = msgspec.json.encode((spec.get("capacity"), bool(spec.get("allowMultipleAllocations"))))
    return _CAPACITIES.of(key, Capacity, spec)


def _traits_of(spec: Mapping[str, Any]) -> Traits:
    encoded = msgspec.json.encode(spec)
    # A copy of its own: traits outlive the slice they were read from, which is not to be kept for their sake.
    return _TRAITS.of(_digest(encoded), lambda: Traits(msgspec.json.decode(encoded)))


def with_capacity(traits: Traits, values: Mapping[str, Mapping[str, Any]], driver: str) -> Traits:
    """Return the same traits with capacities replaced by others of these fully qualified names."""
    return _traits_of({**traits.spec, "capacity": overridden(traits.capacity.spec, values, driver)})


def traits_of(devices: Sequence[Mapping[str, Any]], *, hides_sharing: bool = False) -> Column[Traits]:
    """Return the traits of the v1 devices of a slice.

    ``hides_sharing`` is upstream's stable variant, for which no device allows multiple allocations.
    """
    hidden = {"name", "attributes"} | ({"allowMultipleAllocations"} if hides_sharing else set())
    specs = [{key: value for key, value in device.items() if key not in hidden} for device in devices]
    key = _digest(msgspec.json.encode(specs))  # most slices are those of another node over again
    return _COLUMNS.of(key, lambda: column_of(tuple(map(_traits_of, specs))))


def capacities_of(traits: Column[Traits]) -> Column[Capacity]:
    """Return the capacities of the devices with these traits."""
    found: Column[Capacity] | None = traits.memory.get("capacities")
    if found is None:
        found = traits.memory["capacities"] = column_of(tuple([one.capacity for one in traits.values]))
    return found
