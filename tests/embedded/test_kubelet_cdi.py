"""CDI specifications become what a container gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from drakit_embedded.kubelet.cdi import CdiDirectories, CdiError


def write(path: Path, kind: str, devices: dict[str, list[str]], edits: dict[str, list[str]] | None = None) -> None:
    spec: dict[str, Any] = {"cdiVersion": "0.8.0", "kind": kind, "containerEdits": edits or {}}
    spec["devices"] = [{"name": name, "containerEdits": {"env": env}} for name, env in devices.items()]
    text = json.dumps(spec) if path.suffix == ".json" else yaml.safe_dump(spec)
    path.write_text(text)


def test_edits_of_the_specification_apply_once_and_before_those_of_devices(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "x.dev/c", {"1": ["ONE=1"], "2": ["TWO=2", "COMMON=device"]}, {"env": ["COMMON=spec"]})
    edits = CdiDirectories([tmp_path]).inject(["x.dev/c=1", "x.dev/c=2", "x.dev/c=1"])
    assert edits.environment == {"COMMON": "device", "ONE": "1", "TWO": "2"}


def test_yaml_is_read_as_well(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "x.dev/c", {"1": ["ONE=a=b"]})
    assert CdiDirectories([tmp_path]).inject(["x.dev/c=1"]).environment == {"ONE": "a=b"}


def test_devices_that_no_file_defines_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "x.dev/c", {"1": []})
    with pytest.raises(
        CdiError, match=r"^CDI device injection failed: unresolvable CDI devices x\.dev/c=2, y\.dev/c=1$"
    ):
        CdiDirectories([tmp_path]).inject(["x.dev/c=1", "x.dev/c=2", "y.dev/c=1"])


def test_the_later_directory_wins(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "run").mkdir()
    write(tmp_path / "etc" / "a.json", "x.dev/c", {"1": ["FROM=etc"]})
    write(tmp_path / "run" / "b.json", "x.dev/c", {"1": ["FROM=run"]})
    directories = CdiDirectories([tmp_path / "etc", tmp_path / "run"])
    assert directories.inject(["x.dev/c=1"]).environment == {"FROM": "run"}


def test_two_files_of_one_directory_that_define_a_device_make_it_unusable(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "x.dev/c", {"1": [], "2": []})
    write(tmp_path / "b.json", "x.dev/c", {"1": []})
    directories = CdiDirectories([tmp_path])
    with pytest.raises(CdiError, match=r"x\.dev/c=1"):
        directories.inject(["x.dev/c=1"])
    directories.inject(["x.dev/c=2"])


def test_changed_and_removed_files_are_noticed(tmp_path: Path) -> None:
    directories = CdiDirectories([tmp_path])
    write(tmp_path / "a.json", "x.dev/c", {"1": ["A=1"]})
    assert directories.inject(["x.dev/c=1"]).environment == {"A": "1"}
    (tmp_path / "a.json").unlink()
    write(tmp_path / "a.json", "x.dev/c", {"1": ["A=22"]})
    assert directories.inject(["x.dev/c=1"]).environment == {"A": "22"}
    (tmp_path / "a.json").unlink()
    with pytest.raises(CdiError):
        directories.inject(["x.dev/c=1"])


def test_broken_files_do_not_hide_good_ones(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.yaml").write_text("- not a specification")
    write(tmp_path / "a.json", "x.dev/c", {"1": ["A=1"]})
    assert CdiDirectories([tmp_path, tmp_path / "absent"]).inject(["x.dev/c=1"]).environment == {"A": "1"}
    assert "broken.json: not a usable CDI specification" in caplog.text
