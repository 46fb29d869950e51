"""The kubelet's memory of claims and devices, and its checkpoint."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import as_claim
from drakit_embedded.kubelet.claims import CheckpointError, ClaimCache, ClaimInfo, Device, DriverState
from drakit_embedded.kubelet.device_health import HealthCache, Report


def claim(*results: Object) -> Object:
    return {
        "metadata": {"name": "c", "namespace": "ns", "uid": "u"},
        "status": {"allocation": {"devices": {"results": list(results)}}},
    }


def test_the_checkpoint_survives_in_the_kubelets_own_format(tmp_path: Path) -> None:
    path = tmp_path / "dra_manager_state"
    cache = ClaimCache(path)
    device = Device("pool", "dev", ("gpu",), ("x.dev/c=1",))
    info = ClaimInfo("u", "c", "ns", {"d": DriverState([device])}, {"pod-1"}, prepared=True)
    cache.add(info)
    cache.save()

    outer = json.loads(path.read_text())
    inner = json.loads(outer["Data"])
    assert inner["kind"] == "DRACheckpoint"
    assert inner["ClaimInfoStateList"][0]["PodUIDs"] == {"pod-1": {}}
    assert path.stat().st_mode & 0o077 == 0
    restored = ClaimCache(path).get("ns", "c")
    assert restored is not None
    assert restored.drivers == info.drivers
    assert restored.pods == {"pod-1"}
    assert not restored.prepared


# Written by kubelet 1.37.1 while a pod used a GPU of this driver.
RECORDED = (
    r'{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":['
    r"{\"ClaimUID\":\"749a4b14-67e4-445a-b63d-1c11f6b5c7be\",\"ClaimName\":\"m2\",\"Namespace\":\"default\","
    r"\"PodUIDs\":{\"6a2c2441-7027-4dc7-91ea-80c4ae2323cb\":{}},\"DriverState\":{\"gpu.nvidia.com\":{\"Devices\":["
    r"{\"PoolName\":\"kp-node\",\"DeviceName\":\"gpu-0\",\"ShareID\":null,\"RequestNames\":[\"gpu\"],"
    r'\"CDIDeviceIDs\":[\"k8s.gpu.nvidia.com/claim=749a4b14-67e4-445a-b63d-1c11f6b5c7be-gpu-0\"]}]}}}]}",'
    r'"Checksum":2941080947}'
)


def test_a_real_kubelets_checkpoint_is_read_and_written_back_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "dra_manager_state"
    path.write_text(RECORDED)
    cache = ClaimCache(path)
    info = cache.get("default", "m2")
    assert info is not None
    assert info.cdi_ids("gpu") == ["k8s.gpu.nvidia.com/claim=749a4b14-67e4-445a-b63d-1c11f6b5c7be-gpu-0"]
    cache.save()
    assert path.read_text() == RECORDED


@pytest.mark.parametrize(
    "content",
    ['{"Data": "{}", "Checksum": 1}', "{", '{"Data": 5, "Checksum": 1}', "[]"],
    ids=["checksum", "not json", "not text", "a list"],
)
def test_a_damaged_checkpoint_stops_the_kubelet(tmp_path: Path, content: str) -> None:
    path = tmp_path / "dra_manager_state"
    path.write_text(content)
    with pytest.raises(CheckpointError, match="drain the node and remove the file"):
        ClaimCache(path)
    assert path.read_text() == content


@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir, lambda path: path.write_text("[" * 100_000)])
def test_no_checkpoint_keeps_the_kubelet_waiting(tmp_path: Path, put: Callable[[Path], object]) -> None:
    put(path := tmp_path / "dra_manager_state")
    with pytest.raises(CheckpointError, match="drain the node and remove"):
        ClaimCache(path)


def test_a_claim_without_allocation_is_refused() -> None:
    with pytest.raises(ValueError, match="not allocated"):
        ClaimInfo.from_claim(as_claim({"metadata": {"name": "c", "namespace": "ns", "uid": "u"}, "status": {}}))


@pytest.mark.parametrize(
    ("skips", "prepare", "unprepare"),
    [
        ([None, None], False, False),
        ([["*"], ["*"]], True, True),
        ([["*"], None], False, False),
        ([["NodePrepareResources"], ["*"]], True, False),
        ([["NodePrepareResources"], ["NodeUnprepareResources"]], False, False),
    ],
    ids=str,
)
def test_an_operation_is_skipped_only_if_all_devices_of_the_driver_allow_it(
    skips: list[list[str] | None], prepare: bool, unprepare: bool
) -> None:
    results = [{"driver": "d", **({"skipNodeOperations": skip} if skip else {})} for skip in skips]
    state = ClaimInfo.from_claim(as_claim(claim(*results))).drivers["d"]
    assert (state.does_skip("NodePrepareResources"), state.does_skip("NodeUnprepareResources")) == (prepare, unprepare)


def test_a_request_gets_only_its_own_devices() -> None:
    devices = [Device("p", "a", ("r1",), ("x=a",)), Device("p", "b", ("r2",), ("x=b",)), Device("p", "c", (), ("x=c",))]
    info = ClaimInfo("u", "c", "ns", {"d": DriverState(devices)})
    assert info.cdi_ids("") == ["x=a", "x=b", "x=c"]
    assert info.cdi_ids("r1") == ["x=a", "x=c"]
    assert info.cdi_ids("other") == ["x=c"]


def test_health_is_unknown_until_reported_and_after_its_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    health = HealthCache()
    assert health.get("d", "p", "a").state == "Unknown"
    assert health.update("d", [Report("p", "a", 1, 0, ""), Report("p", "b", 2, 5, "hot")]) == {("p", "a"), ("p", "b")}
    assert health.update("d", [Report("p", "a", 1, 0, ""), Report("p", "b", 2, 5, "hot")]) == set()
    assert (health.get("d", "p", "a").state, health.get("d", "p", "b").message) == ("Healthy", "hot")
    now += 6
    assert (health.get("d", "p", "a").state, health.get("d", "p", "b").state) == ("Healthy", "Unknown")
    assert health.update("d", [Report("p", "a", 1, 0, "")]) == {("p", "b")}
    assert health.clear("d") == {("p", "a")}
    assert health.get("d", "p", "a").state == "Unknown"


def test_long_health_messages_are_cut() -> None:
    assert len(Report("p", "a", 2, 0, "x" * 2000).as_health().message) == 1024
