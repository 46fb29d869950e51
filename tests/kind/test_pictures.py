"""The pictures say exactly what claim statuses and counters say."""

from __future__ import annotations

import io
import re
from typing import Any

from rich.console import Console

from drakit_kind import pictures


def _draw(renderable: Any) -> str:
    drawn = io.StringIO()
    Console(width=140, color_system=None, file=drawn).print(renderable)
    return drawn.getvalue()


def _device(name: str, profile: str, counter_set: str, start: int, size: int) -> dict[str, Any]:
    counters = {f"memory-slice-{number}": {"value": "1"} for number in range(start, start + size)}
    return {
        "name": name,
        "attributes": {"profile": {"string": profile}},
        "consumesCounters": [{"counterSet": counter_set, "counters": counters}],
    }


def _slices() -> list[dict[str, Any]]:
    counters = {f"memory-slice-{number}": {"value": "1"} for number in range(8)}
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 2}
    sets = [{"name": f"gpu-{gpu}-counter-set", "counters": counters} for gpu in (0, 10, 2)]
    devices = [
        _device("gpu-0-mig-3g20gb-9-4", "3g.20gb", "gpu-0-counter-set", 4, 4),
        _device("gpu-0-mig-1g5gb-19-1", "1g.5gb", "gpu-0-counter-set", 1, 1),
    ]
    return [
        {"spec": {"driver": "gpu.nvidia.com", "pool": pool, "sharedCounters": sets}},
        {"spec": {"driver": "gpu.nvidia.com", "pool": pool, "devices": devices}},
    ]


def _claim(name: str, *devices: str, admin: bool = False) -> dict[str, Any]:
    results = [
        {"request": "r", "driver": "gpu.nvidia.com", "pool": "node-1", "device": device, "adminAccess": admin}
        for device in devices
    ]
    return {"metadata": {"name": name}, "status": {"allocation": {"devices": {"results": results}}}}


def test_partitions_stand_on_their_memory_slices_and_gpus_in_their_order() -> None:
    claims = [_claim("big", "gpu-0-mig-3g20gb-9-4"), _claim("tiny", "gpu-0-mig-1g5gb-19-1")]
    drawn = _draw(pictures.gpus(_slices(), claims, "gpu.nvidia.com")).splitlines()
    assert [line.split("│")[0].strip() for line in drawn] == ["pool node-1", "gpu-0", "gpu-2", "gpu-10"]
    cells = [cell.strip() for cell in drawn[1].split("│")[1:-1]]
    assert cells == ["", "1g.5gb", "", "", "3g.20gb big"]
    assert len({len(line) for line in drawn[1:]}) == 1


def test_admin_access_takes_no_place() -> None:
    claims = [_claim("watcher", "gpu-0-mig-3g20gb-9-4", admin=True)]
    assert pictures.allocated(_slices(), claims, "gpu.nvidia.com") == []


def test_the_mesh_shows_device_claim_and_pod_on_each_host() -> None:
    def device(name: str, topology: str, hosts: list[int]) -> dict[str, Any]:
        counters = {f"tpus-node-{host}": {"value": "4"} for host in hosts}
        node = {"nodeName": f"vm-{hosts[0]}"} if len(hosts) == 1 else {}
        return {
            "name": name,
            "attributes": {"topology": {"string": topology}},
            "consumesCounters": [{"counterSet": "tpu", "counters": counters}],
            **node,
        }

    devices = [device(f"tpu-2x2-{host}", "2x2", [host]) for host in (1, 2, 3, 4)]
    devices += [device("tpu-2x4-1", "2x4", [1, 2]), device("tpu-4x4-1", "4x4", [1, 2, 3, 4])]
    pool = {"name": "mesh", "generation": 1, "resourceSliceCount": 1}
    slices = [{"spec": {"driver": "tpu.google.com", "pool": pool, "devices": devices}}]
    results = [{"request": "r", "driver": "tpu.google.com", "pool": "mesh", "device": "tpu-2x4-1"}]
    claim = {"metadata": {"name": "train"}, "status": {"allocation": {"devices": {"results": results}}}}
    pod = {"metadata": {"name": "worker-0"}, "spec": {"nodeName": "vm-2"}}
    drawn = _draw(pictures.mesh(slices, [claim], "tpu.google.com", [pod]))
    upper, lower = re.split("├.*┤", drawn)
    assert upper.count("tpu-2x4-1") == 2
    assert upper.count("train") == 2
    assert upper.count("worker-0") == 1
    assert "tpu-2x4-1" not in lower
    assert lower.index("vm-3") < lower.index("vm-4")
