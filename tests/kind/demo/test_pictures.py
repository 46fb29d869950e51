"""The pictures say exactly what claim statuses and counters say."""

from __future__ import annotations

import io
import itertools
import re
from typing import Any

import pytest
from rich.console import Console

from drakit_kind.demo.allocated import allocated
from drakit_kind.demo.gpu_picture import gpus
from drakit_kind.demo.mesh_picture import mesh

# As a terminal of each width, and as a pipe, for which rich takes 80.
_WIDTHS = (30, 60, 80, 100, 120, 200)


def _draw(renderable: Any, width: int = 140, encoding: str = "utf-8") -> str:
    drawn = io.BytesIO()
    with io.TextIOWrapper(drawn, encoding=encoding) as file:
        Console(width=width, color_system=None, file=file).print(renderable)
        file.flush()
        return drawn.getvalue().decode(encoding)


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
    drawn = _draw(gpus(_slices(), claims, "gpu.nvidia.com")).splitlines()
    assert [line.split("│")[0].strip() for line in drawn] == [
        "pool node-1",
        "slice     0        1        2        3        4        5        6        7",
        "gpu-0",
        "",
        "gpu-2",
        "gpu-10",
    ]
    assert _cells(drawn[2]) == ["", "1g.5gb", "", "", "3g.20gb"]
    assert _cells(drawn[3]) == ["", "tiny", "", "", "big"]
    assert len({len(line) for line in drawn[2:]}) == 1


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"[│|]", line)[1:-1]]


def test_admin_access_takes_no_place() -> None:
    claims = [_claim("watcher", "gpu-0-mig-3g20gb-9-4", admin=True)]
    assert allocated(_slices(), claims, "gpu.nvidia.com") == []


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_gpus_fit_into_every_width_and_each_name_is_there_in_full(width: int, encoding: str) -> None:
    claims = [
        _claim("inference-with-a-long-name", "gpu-0-mig-3g20gb-9-4"),
        _claim("four-slices", "gpu-0-mig-1g5gb-19-1"),
    ]
    drawn = _draw(gpus(_slices(), claims, "gpu.nvidia.com"), width, encoding)
    assert max(map(len, drawn.splitlines())) <= width
    in_cells = ["".join(lines) for lines in zip(*_cells_of("gpu-0", drawn), strict=True)]
    listed = re.sub(r"\s+", "", drawn)  # names that are listed may continue on the next line
    for name in ("1g.5gb", "3g.20gb", "four-slices", "inference-with-a-long-name"):
        assert any(name in cell for cell in in_cells) or name in listed


def _cells_of(gpu: str, drawn: str) -> list[list[str]]:
    """The cells of each line of one GPU in a picture; none where it is so narrow that there is only a list."""
    lines = [line for line in drawn.splitlines() if re.search("[│|]", line)]
    from_gpu = list(itertools.dropwhile(lambda line: line.split()[0] != gpu, lines))
    further = itertools.takewhile(lambda line: line.startswith(" " * len(gpu)), from_gpu[1:])
    return [_cells(line) for line in (*from_gpu[:1], *further)]


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8", "…"), ("ascii", "~")])
def test_a_name_that_is_cut_has_a_mark_and_stands_in_full_below(encoding: str, mark: str) -> None:
    drawn = _draw(gpus(_slices(), [_claim("tiny", "gpu-0-mig-1g5gb-19-1")], "gpu.nvidia.com"), 60, encoding)
    picture, below = drawn.split(f"in full, where {mark} stands above")
    assert f"1g.5{mark}" in picture
    assert "gpu-0 1   1g.5gb tiny" in below


def test_claims_are_told_apart_without_colors() -> None:
    claims = [_claim("big", "gpu-0-mig-3g20gb-9-4"), _claim("tiny", "gpu-0-mig-1g5gb-19-1")]
    drawn = _draw(gpus(_slices(), claims, "gpu.nvidia.com"), 80)
    assert "big" in drawn
    assert "tiny" in drawn


def _mesh_slices() -> list[dict[str, Any]]:
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
    return [{"spec": {"driver": "tpu.google.com", "pool": pool, "devices": devices}}]


def _train() -> dict[str, Any]:
    results = [{"request": "r", "driver": "tpu.google.com", "pool": "mesh", "device": "tpu-2x4-1"}]
    return {"metadata": {"name": "train"}, "status": {"allocation": {"devices": {"results": results}}}}


def test_the_mesh_shows_device_claim_and_pod_on_each_host() -> None:
    pod = {"metadata": {"name": "worker-0"}, "spec": {"nodeName": "vm-2"}}
    drawn = _draw(mesh(_mesh_slices(), [_train()], "tpu.google.com", [pod]))
    upper, lower = re.split("├.*┤", drawn)
    assert upper.count("tpu-2x4-1") == 2
    assert upper.count("train") == 2
    assert upper.count("worker-0") == 1
    assert "tpu-2x4-1" not in lower
    assert lower.index("vm-3") < lower.index("vm-4")


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_mesh_fits_into_every_width_and_nothing_of_a_name_is_missing(width: int, encoding: str) -> None:
    worker = "train-with-a-rather-long-name-7bmsrnf89k-qczdh"
    pod = {"metadata": {"name": worker}, "spec": {"nodeName": "vm-1"}}
    drawn = _draw(mesh(_mesh_slices(), [_train()], "tpu.google.com", [pod]), width, encoding)
    assert max(map(len, drawn.splitlines())) <= width
    assert worker in "".join(cells[0] for line in drawn.splitlines() if (cells := _cells(line)))
