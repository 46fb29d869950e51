"""The rows: data only. A story is named after what happens in it; what the phases are is said here.

Where the name of a row ends with a version, all components are of that version: Kubernetes' own, or ours behaving like
that minor version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from drakit_kind.cluster import Component
from e2e.matrix import partitionable, prioritized_list
from e2e.matrix.row import Change, Phase, Row


def _off(*components: Component, gates: Sequence[str]) -> list[Change]:
    return [Change(component=component, gates=dict.fromkeys(gates, False)) for component in components]


def _back(*components: Component) -> list[Change]:
    """As at the start of the row."""
    return [Change(component=component) for component in components]


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
    phases=[
        Phase(name="on"),
        Phase(name="scheduler off", changes=_off("scheduler", gates=["DRAPartitionableDevices"])),
        Phase(
            name="API server off too, slices wiped",
            changes=[*_off("apiserver", gates=["DRAPartitionableDevices"]), *_back("kubelet")],
        ),
        Phase(name="all on again", changes=_back("apiserver", "scheduler")),
    ],
)

ROWS: list[Row] = [
    _emulating("1.36", _PRIORITIZED_LIST),
    *(_at(version, _PRIORITIZED_LIST) for version in ("1.36.3", "1.35.4", "1.34.3")),
    *(_at(version, _PARTITIONABLE) for version in ("1.37.1", "1.36.3", "1.35.4", "1.34.3")),
]
