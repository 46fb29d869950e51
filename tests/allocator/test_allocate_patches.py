"""``drakit allocate -f`` with ResourceSlicePatches among the files: devices as administrators want them seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_allocator.cli.allocate_command import allocate
from drakit_api.kubernetes_objects import Object

_DRIVER = "gpu.example.com"
_ATTRIBUTES = f'device.attributes["{_DRIVER}"]'
_GATE = ("--feature-gates", "DRAAdminControlledDeviceAttributes=true")
_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
_CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
_MEMORY = {"memory": {"value": "40Gi"}}
_SLICE: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "slice"},
    "spec": {
        "driver": _DRIVER,
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node-1",
        "devices": [
            {"name": f"gpu-{number}", "attributes": {"model": {"string": "A100"}}, "capacity": _MEMORY}
            for number in range(2)
        ],
    },
}


def _claim(*expressions: str) -> Object:
    exactly: Object = {"deviceClassName": "gpu"}
    exactly["selectors"] = [{"cel": {"expression": expression}} for expression in expressions]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "mine"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def _patch(name: str, device: str = "", **says: Any) -> Object:
    wanted = {"filter": {"driver": _DRIVER, "device": device}} if device else {}
    return {
        "apiVersion": "resource.drakit.dev/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {"devices": {**wanted, **says}},
    }


def _tier(value: str) -> Object:
    return {"attributes": {f"{_DRIVER}/tier": {"string": value}}}


_GOLD = f'{_ATTRIBUTES}.?tier.orValue("") == "gold"'
_REMOVED: Object = {"attributes": {f"{_DRIVER}/model": {"null": {}}}}
_EMPTY: Object = {"capacity": {f"{_DRIVER}/memory": {"value": "0"}}}
_LARGE = f'device.capacity["{_DRIVER}"].memory.compareTo(quantity("1Gi")) >= 0'
_TAINT: Object = {"taints": [{"key": "example.com/fan", "value": "broken", "effect": "NoSchedule"}]}


class _Files:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "objects.yaml"

    def allocate(self, *objects: Object, options: tuple[str, ...] = _GATE) -> Result:
        every = [_NODE, _CLASS, _SLICE, *objects]
        self._path.write_text(yaml.safe_dump_all(json.loads(json.dumps(every))))
        return CliRunner().invoke(allocate, ["-f", str(self._path), *options])


@pytest.fixture
def files(tmp_path: Path) -> _Files:
    return _Files(tmp_path)


@pytest.mark.parametrize(
    ("claim", "patches", "device"),
    [
        pytest.param(_claim(_GOLD), [_patch("gilded", "gpu-1", **_tier("gold"))], "gpu-1", id="an attribute"),
        pytest.param(
            _claim(f'{_ATTRIBUTES}.?model.orValue("") == "A100"'),
            [_patch("secret", "gpu-0", **_REMOVED)],
            "gpu-1",
            id="an attribute that is removed",
        ),
        pytest.param(
            _claim(_GOLD),
            [_patch("all", priority=1, **_tier("silver")), _patch("one", "gpu-1", priority=2, **_tier("gold"))],
            "gpu-1",
            id="the higher priority wins",
        ),
        pytest.param(
            _claim(_GOLD),
            [_patch("b", **_tier("gold")), _patch("a", "gpu-0", **_tier("silver"))],
            "gpu-1",
            id="of equal ones, none of which is in a cluster yet, the first name wins",
        ),
        pytest.param(_claim(_LARGE), [_patch("empty", "gpu-0", **_EMPTY)], "gpu-1", id="a capacity of 0"),
        pytest.param(_claim(), [_patch("fan", "gpu-0", **_TAINT)], "gpu-1", id="a taint"),
    ],
)
def test_devices_are_those_with_patches(files: _Files, claim: Object, patches: list[Object], device: str) -> None:
    result = files.allocate(claim, *patches)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{_DRIVER}/node-1/{device}\n" in result.stdout


@pytest.mark.parametrize(
    "capacity",
    [
        pytest.param({"value": "0", "requestPolicy": None}, id="a policy"),
        pytest.param({"value": "0", "requestPolicy": {"default": "0", "validValues": None}}, id="values"),
        pytest.param({"value": "0", "requestPolicy": {"default": None}}, id="a default"),
        pytest.param(
            {"value": "0", "requestPolicy": {"default": "0", "validRange": {"min": "0", "max": None}}}, id="a bound"
        ),
    ],
)
def test_fields_that_are_null_are_as_if_they_were_not_there(files: _Files, capacity: Object) -> None:
    patch = _patch("empty", "gpu-0", capacity={f"{_DRIVER}/memory": capacity})
    result = files.allocate(_claim(_LARGE), patch)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{_DRIVER}/node-1/gpu-1\n" in result.stdout


def test_equal_priorities_are_decided_by_age(files: _Files) -> None:
    old, new = _patch("z-old", "gpu-1", **_tier("gold")), _patch("a-new", **_tier("silver"))
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    new["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    assert "node-1/gpu-1\n" in files.allocate(_claim(_GOLD), old, new).stdout


def test_reasons_name_the_patch(files: _Files) -> None:
    patch = _patch("maintenance", **_tier("bronze"))
    result = files.allocate(_claim(f'{_ATTRIBUTES}.tier == "gold"'), patch)
    assert result.exit_code == 1
    assert 'tier is "bronze" (patch maintenance)' in result.stdout
    explained = files.allocate(_claim(f'{_ATTRIBUTES}.tier == "gold"'), patch, options=(*_GATE, "--explain"))
    assert '        tier is "bronze" (patch maintenance) (gpu-0, gpu-1)\n' in explained.stdout


def test_explain_says_which_patch_to_change(files: _Files) -> None:
    fan = _patch("fan", **_TAINT)
    result = files.allocate(_claim(), fan, options=(*_GATE, "--explain"))
    assert "would help: remove or tolerate the taint example.com/fan=broken:NoSchedule (patch fan)\n" in result.stdout
    result = files.allocate(_claim(_LARGE), _patch("empty", **_EMPTY), options=(*_GATE, "--explain"))
    assert "would help: delete or change patch empty\n" in result.stdout


def test_an_unknown_class_is_told(files: _Files) -> None:
    lost = _patch("lost", **_tier("gold"))
    lost["spec"]["devices"]["filter"] = {"deviceClassName": "nowhere"}
    told = "patch lost applies to no device: there is no DeviceClass nowhere\n"
    result = files.allocate(_claim(), lost)
    assert (result.exit_code, result.stderr) == (0, told)
    result = files.allocate(_claim(_GOLD), lost, options=(*_GATE, "--explain"))
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.count(told) == 1


def test_a_selector_that_fails_is_told(files: _Files) -> None:
    failing = _patch("failing", **_tier("gold"))
    failing["spec"]["devices"]["filter"] = {"selectors": [{"cel": {"expression": f"{_ATTRIBUTES}.index > 0"}}]}
    assert files.allocate(_claim(), failing).stderr == (
        f"patch failing does not apply to device {_DRIVER}/node-1/gpu-0: selector {_ATTRIBUTES}.index > 0:"
        " no such key: index\n"
    )


def test_without_the_gate_patches_do_not_count_and_that_is_told(files: _Files) -> None:
    patches = [_patch("fan", **_TAINT), _patch("empty", **_EMPTY)]
    result = files.allocate(_claim(), *patches, options=())
    assert result.exit_code == 0
    assert result.stderr == (
        "2 ResourceSlicePatches are ignored; they count with --feature-gates DRAAdminControlledDeviceAttributes=true\n"
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param(
            {"attributes": {"tier": {"string": "gold"}}},
            "ResourceSlicePatch wrong: spec.devices.attributes: Invalid value: ",
            id="an attribute without its domain",
        ),
        pytest.param(
            {"atributes": {}}, 'ResourceSlicePatch wrong: unknown field "spec.devices.atributes"', id="an unknown field"
        ),
        pytest.param(
            {"attributes": {f"{_DRIVER}/tier": {None: {}}}}, 'write "null" in quotes', id="null without quotes"
        ),
    ],
)
@pytest.mark.parametrize("options", [_GATE, ()], ids=["with the gate", "without"])
def test_what_a_server_would_refuse_is_an_error(
    files: _Files, change: Object, error: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "patch.yaml"
    path.write_text(yaml.safe_dump(_patch("wrong", **change)))
    result = CliRunner().invoke(allocate, ["-f", str(path), *options])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {path}: ResourceSlicePatch wrong: ")
    assert error in result.stderr


@pytest.mark.parametrize("version", ["resource.k8s.io/v1alpha3", "resource.drakit.dev/v1"])
def test_another_version_is_an_error(files: _Files, version: str) -> None:
    result = files.allocate(_claim(), {**_patch("p", **_TAINT), "apiVersion": version})
    assert result.exit_code == 2
    assert f"ResourceSlicePatch in {version}: there is resource.drakit.dev/v1alpha3 only" in result.stderr


def test_a_later_patch_replaces_an_earlier_one(files: _Files) -> None:
    result = files.allocate(_claim(_GOLD), _patch("p", **_tier("silver")), _patch("p", "gpu-1", **_tier("gold")))
    assert "node-1/gpu-1\n" in result.stdout
    assert "ResourceSlicePatch p of " in result.stderr
