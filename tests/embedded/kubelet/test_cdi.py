"""CDI specifications become what a container gets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
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
    write(tmp_path / "a.json", "x.dev/c", {"1": ["A=1"]})
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
    write(tmp_path / "a.json", "x.dev/c", {"1": ["A=1"], "2": ["A=2"]})
    write(tmp_path / "b.json", "x.dev/c", {"1": ["A=1"]})
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


SPEC: dict[str, Any] = {"cdiVersion": "0.6.0", "kind": "x.dev/c"}
DEVICE: dict[str, Any] = {"name": "1", "containerEdits": {"env": ["A=1"]}}
# What tags.cncf.io/container-device-interface v1.1.1 refuses, and in which words.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no version": ({"cdiVersion": ""}, 'invalid version ""'),
    "unknown version": ({"cdiVersion": "9.0.0"}, 'invalid version "9.0.0"'),
    "too old for its names": ({"cdiVersion": "0.4.0"}, "the spec version must be at least v0.5.0"),
    "too old for annotations": (
        {"cdiVersion": "0.5.0", "annotations": {"a": "b"}},
        "the spec version must be at least v0.6.0",
    ),
    "too old for network": (
        {"devices": [{"name": "1", "containerEdits": {"netDevices": [{"hostInterfaceName": "eth0", "name": "e"}]}}]},
        "the spec version must be at least v1.1.0",
    ),
    "no vendor": ({"kind": "c"}, "invalid vendor"),
    "no class": ({"kind": "x.dev/"}, "invalid class"),
    "no devices": ({"devices": []}, "invalid spec, no devices"),
    "a device twice": ({"devices": [DEVICE, DEVICE]}, 'invalid spec, multiple device "1"'),
    "a name that is none": ({"devices": [{**DEVICE, "name": "a/b"}]}, "invalid device name 'a/b'"),
    "a device without edits": ({"devices": [{"name": "1", "containerEdits": {}}]}, "empty device edits"),
    "unknown field": ({"device": []}, "Object contains unknown field `device`"),
    "wrong type": ({"devices": {}}, "Expected `array | null`, got `object`"),
    "a variable without name": (
        {"devices": [{"name": "1", "containerEdits": {"env": ["=1"]}}]},
        'invalid device "1": invalid container edits: invalid environment variable "=1"',
    ),
    "a device node without path": ({"containerEdits": {"deviceNodes": [{}]}}, "invalid (empty) device path"),
    "unknown hook": (
        {"containerEdits": {"hooks": [{"hookName": "before", "path": "/bin/true"}]}},
        'invalid hook name "before"',
    ),
    "a mount of nothing": ({"containerEdits": {"mounts": [{"containerPath": "/a"}]}}, "invalid mount, empty host path"),
}


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("mistake", REFUSED)
def test_what_containerd_refuses_defines_no_devices(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mistake: str, suffix: str
) -> None:
    fields, why = REFUSED[mistake]
    text = json.dumps(SPEC | {"devices": [DEVICE]} | fields)
    (tmp_path / f"a{suffix}").write_text(text)
    directories = CdiDirectories([tmp_path])
    for _ in range(2):
        with pytest.raises(CdiError, match=r"unresolvable CDI devices x\.dev/c=1"):
            directories.inject(["x.dev/c=1"])
    if suffix == ".json" or "Expected" not in why:
        assert why in caplog.text
    assert len(caplog.records) == 1, "a file that stays as it is, is told once"


def test_scalars_are_what_their_field_is(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "cdiVersion: v0.5.0\nkind: x.dev/c\ndevices:\n- name: 0\n  containerEdits:\n"
        "    deviceNodes: [{path: /dev/a, major: 195, fileMode: 0666, uid: 0}]\n"
    )
    (node,) = CdiDirectories([tmp_path]).inject(["x.dev/c=0"]).device_nodes
    assert (node.path, node.major, node.uid) == ("/dev/a", 195, 0)


def _deep(opening: str, closing: str) -> Callable[[Path], object]:
    return lambda path: path.write_text('{"kind": ' + opening * 100_000 + closing * 100_000 + "}")


def _anchors(path: Path) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    path.write_text("\n".join(lines))


def _link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


TRAPS: dict[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "directory": Path.mkdir,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "link to a FIFO": _link_to_a_pipe,
    "deep brackets": _deep("[", "]"),
    "deep braces": _deep('{"a": ', "}"),
    "deep list": lambda path: path.write_text("- " * 100_000),
    "many values": lambda path: path.write_text("[" + "1," * 400_000 + "1]"),
    "aliases of aliases": _anchors,
    "too large": lambda path: path.write_bytes(b" " * (1024 * 1024 + 1)),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "empty": Path.touch,
}


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("trap", TRAPS)
def test_what_an_attacker_puts_there_hides_no_good_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, trap: str, suffix: str
) -> None:
    TRAPS[trap](tmp_path / f"trap{suffix}")
    write(tmp_path / "z.json", "x.dev/c", {"1": ["A=1"]})
    assert CdiDirectories([tmp_path]).inject(["x.dev/c=1"]).environment == {"A": "1"}
    assert f"trap{suffix}: not a usable CDI specification" in caplog.text
