"""The checkpoint file: what is written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from drakit_driver.preparing.checkpoint import Checkpoint, CheckpointError, PreparedClaim, PreparedDevice

DEVICE = PreparedDevice(
    request="gpu/big",
    pool="node-1",
    device="part-0",
    cdi_id="k8s.gpu.example.com/claim=uid-part-0",
    share_id="share",
    consumes={"gpu": {"units": "1"}},
    environment={"A": "b=c"},
)
CLAIM = PreparedClaim(uid="uid", namespace="ns", name="half", state="prepared", devices=[DEVICE])


def with_device(**fields: object) -> PreparedClaim:
    return msgspec.structs.replace(CLAIM, devices=[msgspec.structs.replace(DEVICE, **fields)])


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.load() == {}
    checkpoint.save({"uid": CLAIM})
    assert checkpoint.load() == {"uid": CLAIM}
    document = json.loads(checkpoint.path.read_text())
    assert document["version"] == 1
    assert document["checksum"].startswith("sha256:")
    assert document["data"]["claims"]["uid"]["devices"][0]["shareId"] == "share"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]


def test_newer_version_is_refused_and_kept(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.path.write_text('{"version": 2, "checksum": "crc", "data": {"claimsV2": []}}')
    with pytest.raises(CheckpointError, match="has version 2, this driver knows up to 1: it was written by a newer"):
        checkpoint.load()
    assert checkpoint.path.exists()


def truncated(text: str) -> str:
    return text[:-20]


def flipped(text: str) -> str:
    return text.replace("half", "hale")


@pytest.mark.parametrize(
    "damage", [truncated, flipped, lambda _: "", lambda _: "[]"], ids=["truncated", "flipped", "empty", "list"]
)
def test_damaged_file_is_refused_with_a_way_out(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save({"uid": CLAIM})
    checkpoint.path.write_text(damage(checkpoint.path.read_text()))
    with pytest.raises(CheckpointError, match=r"checkpoint\.json is damaged .*; drain the node and remove the file"):
        checkpoint.load()


def test_half_written_file_of_a_killed_driver_is_ignored(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save({"uid": CLAIM})
    (tmp_path / "checkpoint.tmp").write_text('{"version": 1, "che')
    assert checkpoint.load() == {"uid": CLAIM}
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]


def test_a_deep_file_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.path.write_text('{"version": 1, "data": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(CheckpointError, match=r"checkpoint\.json is damaged"):
        checkpoint.load()


@pytest.mark.parametrize(
    ("key", "claim", "problem"),
    [
        ("../x", msgspec.structs.replace(CLAIM, uid="../x"), r"claim UID '\.\./x' must consist of letters"),
        ("other", CLAIM, "claim other says that its UID is 'uid'"),
        ("uid", with_device(cdi_id="k8s.gpu.example.com/claim=../x"), "is not a CDI device of it"),
        ("uid", with_device(consumes={"gpu": {"units": "many"}}), "claim uid: 'many' is not an amount"),
        ("uid", with_device(consumed_capacity={"memory": "-1Gi"}), "claim uid: '-1Gi' is not an amount"),
    ],
)
def test_what_no_driver_writes_is_damage(tmp_path: Path, key: str, claim: PreparedClaim, problem: str) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save({key: claim})
    with pytest.raises(CheckpointError, match=rf"is damaged \(.*{problem}.*\); drain the node"):
        checkpoint.load()


def test_a_link_in_the_way_of_the_next_checkpoint_is_not_followed(tmp_path: Path) -> None:
    (precious := tmp_path / "precious").write_text("mine")
    (tmp_path / "checkpoint.tmp").symlink_to(precious)
    Checkpoint(tmp_path).save({"uid": CLAIM})
    assert precious.read_text() == "mine"
    assert not (tmp_path / "checkpoint.json").is_symlink()
