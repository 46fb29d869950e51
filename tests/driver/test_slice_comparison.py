"""When two slices say the same, and which fields are missing when they do not."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_driver.publishing.slice_comparison import canonical, dropped_fields, suspected_gates


def device(**fields: Any) -> Object:
    return {"devices": [{"name": "a", **fields}]}


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        (device(capacity={"m": {"value": "40Gi"}}), device(capacity={"m": {"value": "40960Mi"}}), True),
        (device(capacity={"m": {"value": "1"}}), device(capacity={"m": {"value": 1}}), True),
        (
            device(nodeAllocatableResources={"memory": {"overhead": {"perPod": "1024Mi"}}}),
            device(nodeAllocatableResources={"memory": {"overhead": {"perPod": "1Gi"}}}),
            True,
        ),
        (device(capacity={"m": {"value": "1"}}), device(capacity={"m": {"value": "2"}}), False),
        (device(taints=[{"key": "k"}]), device(taints=[{"key": "k", "timeAdded": "2026-01-01T00:00:00Z"}]), True),
        (device(taints=[{"key": "k", "value": "1"}]), device(taints=[{"key": "k", "value": "1.0"}]), False),
        (device(attributes={"v": {"version": "1.0.0"}}), device(attributes={"v": {"version": "1.0"}}), False),
        (device(attributes={"v": {"bool": False}}), device(), False),
        (device(attributes={"v": {"bool": False}}), device(attributes={"v": {"bool": False}}), True),
        (device(attributes={}), device(), True),
        ({"allNodes": False}, {}, True),
        ({"allNodes": True}, {}, False),
        ({"devices": None}, {"devices": []}, True),
        ({"devices": [{"name": "a"}, {"name": "b"}]}, {"devices": [{"name": "b"}, {"name": "a"}]}, False),
    ],
    ids=[
        "notation", "number", "node-resources", "amount", "stamped-taint", "taint-value-is-no-quantity",
        "version-is-text", "false-attribute", "equal-false", "empty-map", "false-flag", "true-flag", "null-list",
        "order",
    ],
)  # fmt: skip
def test_same_meaning(mine: Object, theirs: Object, same: bool) -> None:
    assert (canonical(mine) == canonical(theirs)) is same


def test_comparison_changes_nothing() -> None:
    spec = device(taints=[{"key": "k", "timeAdded": "t"}], capacity={"m": {"value": "1Gi"}})
    canonical(spec)
    assert spec == device(taints=[{"key": "k", "timeAdded": "t"}], capacity={"m": {"value": "1Gi"}})


@pytest.mark.parametrize(
    ("sent", "stored", "fields", "gates"),
    [
        (
            {"sharedCounters": [{"name": "s", "counters": {"c": {"value": "1"}}}]},
            {},
            ["spec.sharedCounters"],
            ["DRAPartitionableDevices"],
        ),
        (
            {"devices": [{"name": name, "consumesCounters": [{"counterSet": "s"}]} for name in "abc"]},
            {"devices": [{"name": name} for name in "abc"]},
            ["spec.devices[].consumesCounters (3)"],
            ["DRAPartitionableDevices"],
        ),
        (
            device(capacity={"m": {"value": "1", "requestPolicy": {"default": "1"}}}, allowMultipleAllocations=True),
            device(capacity={"m": {"value": "1"}}),
            ["spec.devices[].allowMultipleAllocations", "spec.devices[].capacity.m.requestPolicy"],
            ["DRAConsumableCapacity"],
        ),
        (device(taints=[{"key": "k"}]), device(), ["spec.devices[].taints"], ["DRADeviceTaints"]),
        (
            device(nodeAllocatableResources={"cpu": {"mapping": {"deviceMultiplier": "2"}}}),
            device(),
            ["spec.devices[].nodeAllocatableResources"],
            ["DRANodeAllocatableResources"],
        ),
        (device(future="x"), device(), ["spec.devices[].future"], []),
        ({"devices": [{"name": "a"}, {"name": "b"}]}, device(), ["spec.devices"], []),
    ],
    ids=["counters", "consumption", "capacity", "taints", "node resources", "unknown", "devices"],
)
def test_dropped_fields_and_who_dropped_them(sent: Object, stored: Object, fields: list[str], gates: list[str]) -> None:
    found = dropped_fields(canonical(sent), canonical(stored))
    assert found == fields
    assert suspected_gates(found) == gates
