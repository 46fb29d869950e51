"""What a driver publishes is in the API server as it printed it: every device, every counter, in the same slices."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import Invalid
from drakit_client.resources import RESOURCE_SLICES
from drakit_kind.cluster import Driver
from drakit_kind.clusters.api import Api
from e2e.hardware import TakeNodes

pytestmark = pytest.mark.capability(
    "partitionable devices: published as described", source="KEP-4815", gates=["DRAPartitionableDevices"]
)


@pytest.mark.parametrize(
    ("profile", "count"), [("a100-40gb", 1), ("dgx-a100", 1), ("tpu-v6e-2x4", 2), ("tpu-v6e-4x4", 4)]
)
def test_slices_are_stored_as_the_driver_prints_them(
    api: Api, driver: Callable[..., Driver], nodes: TakeNodes, profile: str, count: int
) -> None:
    where = nodes(count)
    name = driver(profile, nodes=where).name
    stored = api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={name}")
    printed = _printed(profile, where, name)
    apart = _are_taken(api, _printed(profile, where, f"asked.{name}"))
    assert apart == (int(api.version().rpartition(".")[2]) >= 35)
    if not apart:
        printed = _printed(profile, where, name, "--combined")
    assert _content(stored) == _content(printed)
    assert {item["spec"]["pool"]["resourceSliceCount"] for item in stored} == {len(printed)}


def _are_taken(api: Api, slices: list[Object]) -> bool:
    """Whether devices may use counters of another slice: the API server is asked, as only that of 1.34 refuses them."""
    devices = next(item for item in slices if "devices" in item["spec"])
    try:
        stored = api.create(devices)
    except Invalid:
        return False
    api.delete(RESOURCE_SLICES, stored["metadata"]["name"])
    return True


def _printed(profile: str, nodes: list[str], name: str, *options: str) -> list[Object]:
    """What the command prints for this driver, which need not run."""
    command = [sys.executable, "-m", "drakit_kind", "driver", "slices", profile, "--driver-name", name, "-o", "json"]
    command += options
    for node in nodes:
        command += ["--node", node]
    items: list[Object] = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)[
        "items"
    ]
    return items


def _content(slices: list[Object]) -> list[str]:
    """Without what the publisher counts: generation, number of slices."""
    specs = [{**item["spec"], "pool": item["spec"]["pool"]["name"]} for item in slices]
    return sorted(json.dumps(spec, sort_keys=True) for spec in specs)
