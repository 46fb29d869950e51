"""The rows: data only. A story is named after what happens in it; what the phases are is said here.

Where the name of a row ends with a version, all components are of that version: Kubernetes' own, or ours behaving like
that minor version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from drakit_kind.cluster import Component
from e2e.matrix import (
    binding_conditions,
    compatibility_groups,
    consumable_capacity,
    derived_attributes,
    device_taints,
    list_attributes,
    optional_operations,
    partitionable,
    prioritized_list,
)
from e2e.matrix.row import Change, NotYet, Phase, Row


def _off(*components: Component, gates: Sequence[str]) -> list[Change]:
    return [Change(component=component, gates=dict.fromkeys(gates, False)) for component in components]


def _back(*components: Component) -> list[Change]:
    """As at the start of the row."""
    return [Change(component=component) for component in components]


def _rollout(*gates: str, controllers: bool = False) -> list[Phase]:
    """On; off in the scheduler; off in the API server too, which gets all slices anew; on everywhere."""
    too: list[Component] = ["apiserver", "controllers"] if controllers else ["apiserver"]
    return [
        Phase(name="on"),
        Phase(name="scheduler off", changes=_off("scheduler", gates=gates)),
        Phase(
            name=f"API server{' and controllers' if controllers else ''} off too, slices wiped",
            changes=[*_off(*too, gates=gates), *_back("kubelet")],
        ),
        Phase(name="all on again", changes=_back(*too, "scheduler")),
    ]


def _at(version: str, row: Row) -> Row:
    return replace(row, name=f"{row.name}-{version}", version=version)


def _emulating(version: str, row: Row) -> Row:
    return replace(row, name=f"{row.name}-emulating-{version}", emulated_version=version)


_PRIORITIZED_LIST = Row(
    name="prioritized-list",
    feature="DRAPrioritizedList",
    source="KEP-4816 (seeds 000, 001), Were upgrade and rollback tested?",
    story=prioritized_list.rollout,
    gates={"DRAPrioritizedList": True},
    phases=[
        Phase(name="on"),
        Phase(name="scheduler off", changes=_off("scheduler", gates=["DRAPrioritizedList"])),
        Phase(
            name="API server and controllers off too",
            changes=_off("apiserver", "controllers", gates=["DRAPrioritizedList"]),
        ),
        Phase(name="scheduler on", changes=_back("scheduler")),
        Phase(name="all on again", changes=_back("apiserver", "controllers")),
    ],
)
_PARTITIONABLE = Row(
    name="partitionable-devices",
    feature="DRAPartitionableDevices",
    source="KEP-4815 (seed 004), Feature Enablement and Rollback",
    story=partitionable.rollout,
    gates={"DRAPartitionableDevices": True},
    phases=_rollout("DRAPartitionableDevices"),
)
_BOTH_TAINT_GATES = ("DRADeviceTaints", "DRADeviceTaintRules")
_TAINTS = Row(
    name="device-taints",
    feature="DRADeviceTaints",
    source="KEP-5055, Feature Enablement and Rollback",
    story=device_taints.rollout,
    phases=_rollout(*_BOTH_TAINT_GATES, controllers=True),
)
_TAINT_RULES = replace(
    _TAINTS,
    name="device-taint-rules",
    feature="DRADeviceTaintRules",
    story=device_taints.rules,
    phases=[
        Phase(name="on"),
        Phase(name="scheduler off", changes=_off("scheduler", gates=["DRADeviceTaintRules"])),
        Phase(name="on again", changes=_back("scheduler")),
    ],
)
_EVICTION = replace(
    _TAINTS,
    name="device-taint-eviction",
    feature="DRADeviceTaintRules",
    story=device_taints.eviction,
    phases=[
        Phase(name="on"),
        Phase(name="controllers off", changes=_off("controllers", gates=_BOTH_TAINT_GATES)),
        Phase(name="on again", changes=_back("controllers")),
    ],
    not_yet=NotYet(reason="no controller evicts pods from tainted devices"),
)
_CONSUMABLE_CAPACITY = Row(
    name="consumable-capacity",
    feature="DRAConsumableCapacity",
    source="KEP-5075, Feature Enablement and Rollback",
    story=consumable_capacity.rollout,
    gates={"DRAConsumableCapacity": True},
    phases=_rollout("DRAConsumableCapacity"),
)
_BINDING_CONDITIONS = replace(
    _CONSUMABLE_CAPACITY,
    name="binding-conditions",
    feature="DRADeviceBindingConditions",
    source="KEP-5007, Feature Enablement and Rollback",
    story=binding_conditions.rollout,
    gates={"DRADeviceBindingConditions": True},
    phases=_rollout("DRADeviceBindingConditions"),
)
_BINDING_RESTART = replace(
    _BINDING_CONDITIONS,
    name="binding-conditions-restart",
    source="KEP-5007, scheduler restarts",
    story=binding_conditions.restart,
    phases=[Phase(name="waiting"), Phase(name="scheduler restarted", changes=_back("scheduler"))],
)
_GROUPS = Row(
    name="compatibility-groups",
    feature="DRADeviceCompatibilityGroups",
    source="KEP-5963",
    story=compatibility_groups.rollout,
    gates={"DRADeviceCompatibilityGroups": True},
    phases=_rollout("DRADeviceCompatibilityGroups"),
)
_LISTS = Row(
    name="list-attributes",
    feature="DRAListTypeAttributes",
    source="KEP-5491",
    story=list_attributes.rollout,
    gates={"DRAListTypeAttributes": True},
    phases=_rollout("DRAListTypeAttributes"),
)
_DERIVED = Row(
    name="derived-attributes",
    feature="DRADerivedAttributes",
    source="KEP-6080",
    story=derived_attributes.rollout,
    gates={"DRADerivedAttributes": True},
    phases=_rollout("DRADerivedAttributes"),
)
_OPTIONAL_OPERATIONS = Row(
    name="optional-operations",
    feature="DRAOptionalNodeOperations",
    source="KEP-5945",
    story=optional_operations.rollout,
    gates={"DRAOptionalNodeOperations": True},
    phases=[
        Phase(name="on"),
        Phase(name="kubelet off", changes=_off("kubelet", gates=["DRAOptionalNodeOperations"])),
        Phase(
            name="API server and scheduler off too, slices wiped",
            changes=_off("scheduler", "apiserver", "kubelet", gates=["DRAOptionalNodeOperations"]),
        ),
        Phase(name="all on again", changes=_back("apiserver", "scheduler", "kubelet")),
    ],
)

ROWS: list[Row] = [
    _emulating("1.36", _PRIORITIZED_LIST),
    *(_at(version, _PRIORITIZED_LIST) for version in ("1.36.3", "1.35.4", "1.34.3")),
    *(_at(version, _PARTITIONABLE) for version in ("1.37.1", "1.36.3", "1.35.4", "1.34.3")),
    _at("1.37.1", _TAINTS),
    _at("1.37.1", _TAINT_RULES),
    _at("1.37.1", _EVICTION),
    _at("1.37.1", _CONSUMABLE_CAPACITY),
    _at("1.37.1", _BINDING_CONDITIONS),
    _at("1.37.1", _BINDING_RESTART),
    *(_at("1.37.1", row) for row in (_GROUPS, _LISTS, _DERIVED, _OPTIONAL_OPERATIONS)),
]
