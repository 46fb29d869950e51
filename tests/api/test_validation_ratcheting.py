"""What is stored already may stay as it is, though a server with other gates would not take it anew."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from drakit_api import validation
from drakit_api.features import FeatureGates
from drakit_api.objects import lifecycle
from tests.vectors.exchanges import GATES

NOW = "2026-01-01T00:00:00Z"
CONSUMED = [{"counterSet": "c", "counters": {"m": {"value": "1"}}}]


def partitioned(attribute: str | None) -> dict[str, Any]:
    named = {"gpu.example.com/profile": {"string": "1g"}, "gpu.example.com/other": {"string": "2g"}}
    return {
        "metadata": {"name": "x", "resourceVersion": "1"},
        "spec": {
            "driver": "gpu.example.com",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n",
            "devices": [{"name": "d", "attributes": named, "consumesCounters": CONSUMED}],
            **({} if attribute is None else {"partitionTypeAttribute": attribute}),
        },
    }


@pytest.mark.parametrize(
    ("attribute", "found"),
    [
        ("gpu.example.com/profile", []),
        (None, []),
        ("gpu.example.com/other", ["spec.partitionTypeAttribute: Forbidden"]),
    ],
    ids=["unchanged", "taken away", "another"],
)
def test_a_partition_type_outlives_its_gate(attribute: str | None, found: list[str]) -> None:
    old, new, on, off = partitioned("gpu.example.com/profile"), partitioned(attribute), GATES["alpha"], FeatureGates()
    lifecycle.prepare_create("ResourceSlice", old, on)
    assert validation.validate_create("resourceslices", copy.deepcopy(old), on) == []
    lifecycle.prepare_update("ResourceSlice", new, old, off, now=NOW)
    assert list(map(str, validation.validate_update("resourceslices", new, old, off))) == found
