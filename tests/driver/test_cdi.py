"""CDI specs: their content, their names, and that nobody's files but our own are touched."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from drakit_driver.preparing.cdi import CdiError, CdiSpecs
from drakit_driver.preparing.checkpoint import PreparedClaim, PreparedDevice

DRIVER = "gpu.nvidia.com"
UID = "dab5ab50-d59a-42a6-af16-cfd4628c0f7a"


def prepared(specs: CdiSpecs, uid: str = UID) -> PreparedClaim:
    devices = [
        PreparedDevice(request="a", pool="n", device=name, cdi_id=specs.device_id(uid, name), environment={"X": name})
        for name in ("gpu-0", "gpu-1")
    ]
    return PreparedClaim(uid=uid, namespace="ns", name="c", state="prepared", devices=devices, environment={"ALL": "1"})


def test_spec_of_a_claim(tmp_path: Path) -> None:
    specs = CdiSpecs(tmp_path / "cdi", DRIVER)
    specs.write(prepared(specs))
    path = tmp_path / "cdi" / f"k8s.gpu.nvidia.com-claim_{UID}.json"
    assert json.loads(path.read_text()) == {
        "cdiVersion": "0.5.0",
        "kind": "k8s.gpu.nvidia.com/claim",
        "devices": [
            {"name": f"{UID}-gpu-0", "containerEdits": {"env": ["X=gpu-0"]}},
            {"name": f"{UID}-gpu-1", "containerEdits": {"env": ["X=gpu-1"]}},
        ],
        "containerEdits": {"env": ["ALL=1"]},
    }
    assert specs.device_id(UID, "gpu-0") == f"k8s.gpu.nvidia.com/claim={UID}-gpu-0"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_same_spec_is_not_written_again(tmp_path: Path) -> None:
    specs = CdiSpecs(tmp_path, DRIVER)
    specs.write(prepared(specs))
    (path,) = tmp_path.iterdir()
    before = path.stat().st_ino
    specs.write(prepared(specs))
    assert path.stat().st_ino == before
    path.write_text("damaged")
    specs.write(prepared(specs))
    assert json.loads(path.read_text())["kind"] == "k8s.gpu.nvidia.com/claim"


@pytest.mark.parametrize("uid", ["", "../x", "a/b", "a\n", "-a", "a-", ".", "é", "a b", "x" * 129])
def test_uid_that_is_no_file_name_is_refused(tmp_path: Path, uid: str) -> None:
    specs = CdiSpecs(tmp_path, DRIVER)
    with pytest.raises(CdiError, match="must consist of letters, digits and inner dashes"):
        specs.path(uid)


@pytest.mark.parametrize("device", ["", "a b", "gpu-", "a=b", "a/b"])
def test_device_name_that_cdi_does_not_allow_is_refused(tmp_path: Path, device: str) -> None:
    with pytest.raises(CdiError, match="is not a CDI device name"):
        CdiSpecs(tmp_path, DRIVER).device_id(UID, device)


def test_orphans_are_removed_and_other_drivers_left_alone(tmp_path: Path) -> None:
    specs = CdiSpecs(tmp_path, DRIVER)
    specs.write(prepared(specs))
    specs.write(prepared(specs, "old"))
    foreign = ["nvidia.yaml", "k8s.gpu.nvidia.com-gpu.json", "k8s.gpu.nvidia.com.example-claim_x.json"]
    for name in [*foreign, ".k8s.gpu.nvidia.com-claim_half.json.tmp"]:
        (tmp_path / name).write_text("")
    assert specs.remove_orphans([UID]) == [
        ".k8s.gpu.nvidia.com-claim_half.json.tmp",
        "k8s.gpu.nvidia.com-claim_old.json",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*foreign, specs.path(UID).name])


def test_missing_directory_has_no_orphans(tmp_path: Path) -> None:
    specs = CdiSpecs(tmp_path / "none", DRIVER)
    assert specs.remove_orphans([]) == []
    assert specs.remove(UID) is False
