"""Which optional behaviour the allocator has, and which of upstream's three variants that selects.

Upstream keeps three allocators side by side (``structured/internal/{stable,incubating,experimental}``) and takes the
most stable one that supports all enabled features; they differ in more than the features, see ``Features.variant``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from drakit_allocator.defects import UPSTREAM, Compat, Defect, defects_of
from drakit_api.features import FeatureGates

Variant = Literal["stable", "incubating", "experimental"]

# Field -> the gates that enable it together (``AllocatorFeatures`` in kube-scheduler's dynamicresources plugin).
_GATES = {
    "admin_access": ("DRAAdminAccess",),
    "compatibility_groups": ("DRADeviceCompatibilityGroups",),
    "consumable_capacity": ("DRAConsumableCapacity",),
    "derived_attributes": ("DRADerivedAttributes",),
    "device_binding_and_status": ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
    "device_taints": ("DRADeviceTaints",),
    "fractional_capacity_range": ("DRAFractionalCapacityRange",),
    "list_type_attributes": ("DRAListTypeAttributes",),
    "optional_node_operations": ("DRAOptionalNodeOperations",),
    "partitionable_devices": ("DRAPartitionableDevices",),
    "prioritized_list": ("DRAPrioritizedList",),
}
_UPSTREAM_NAMES = {"".join(word.capitalize() for word in field.split("_")): field for field in _GATES}

_STABLE = {"admin_access", "prioritized_list", "partitionable_devices", "device_taints"}
_INCUBATING = _STABLE | {"device_binding_and_status", "consumable_capacity", "fractional_capacity_range"}


@dataclass(frozen=True, slots=True)
class Features:
    """The switches of upstream's ``structured.Features``. All off by default.

    ``forced_variant`` picks an implementation that the features alone would not, as the tests of upstream do.
    ``defects`` are the mistakes of upstream that are repeated: all of them, unless ``compatible`` says otherwise.
    """

    admin_access: bool = False
    compatibility_groups: bool = False
    consumable_capacity: bool = False
    derived_attributes: bool = False
    device_binding_and_status: bool = False
    device_taints: bool = False
    fractional_capacity_range: bool = False
    list_type_attributes: bool = False
    optional_node_operations: bool = False
    partitionable_devices: bool = False
    prioritized_list: bool = False
    forced_variant: Variant | None = None
    defects: frozenset[Defect] = UPSTREAM

    @staticmethod
    def from_gates(gates: FeatureGates) -> Features:
        """Return what kube-scheduler with these feature gates switches on."""
        return _enabled(field for field, names in _GATES.items() if all(map(gates.enabled, names)))

    @staticmethod
    def from_names(names: Iterable[str]) -> Features:
        """Parse upstream's field names such as ``PartitionableDevices``. Raises ``ValueError`` for an unknown one."""
        names = set(names)
        if unknown := names - _UPSTREAM_NAMES.keys():
            known = ", ".join(sorted(_UPSTREAM_NAMES))
            raise ValueError(f"unknown allocator feature {', '.join(sorted(unknown))}; known are {known}")
        return _enabled(_UPSTREAM_NAMES[name] for name in names)

    @staticmethod
    def all() -> Features:
        """Return the features with everything switched on."""
        return _enabled(_GATES)

    @property
    def off(self) -> tuple[tuple[str, ...], ...]:
        """For each behaviour that is switched off, the feature gates that switch it on together."""
        return tuple(names for field, names in _GATES.items() if not getattr(self, field))

    def with_gates(self, gates: Iterable[str]) -> Features:
        """Add the features that need no other gates than these."""
        known = frozenset(gates)
        on: dict[str, Any] = {field: True for field, names in _GATES.items() if known.issuperset(names)}
        return dataclasses.replace(self, **on)

    def without_gates(self, gates: Iterable[str]) -> Features:
        """Remove the features that need one of these gates."""
        off: dict[str, Any] = {
            field: False for field, names in _GATES.items() if not frozenset(names).isdisjoint(gates)
        }
        return dataclasses.replace(self, **off)

    def forced(self, variant: Variant) -> Features:
        """Return the same features in a given variant."""
        return dataclasses.replace(self, forced_variant=variant)

    def compatible(self, compat: Compat) -> Features:
        """Return the same features with all of upstream's defects ("upstream"), or with none ("safe")."""
        return self.having(defects_of(compat))

    def having(self, defects: Iterable[Defect]) -> Features:
        """Return the same features with these of upstream's defects."""
        return dataclasses.replace(self, defects=frozenset(defects))

    @property
    def variant(self) -> Variant:
        """The implementation that upstream would pick.

        What they do differently with the same features: *stable* knows no distinctAttribute, always shows
        ``allowMultipleAllocations`` as false to selectors, takes counter sets from slices of any node, and ignores
        capacity requests and shared allocations; only *experimental* looks at ``skipNodeOperations``.
        """
        if self.forced_variant is not None:
            return self.forced_variant
        enabled = {field for field in _GATES if getattr(self, field)}
        if enabled <= _STABLE:
            return "stable"
        return "incubating" if enabled <= _INCUBATING else "experimental"


def _enabled(fields: Iterable[str]) -> Features:
    on: dict[str, Any] = dict.fromkeys(fields, True)
    return Features(**on)
