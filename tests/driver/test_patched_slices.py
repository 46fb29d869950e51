"""``drakit driver slices ... -f``: the devices of a driver as ResourceSlicePatches make them look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_api.kubernetes_objects import Object
from drakit_driver.cli.driver_command import driver

_DRIVER = "d.example.com"
_LAYOUT = """
driver: d.example.com
devices:
- {name: a, attributes: {tier: {string: silver}}, capacity: {memory: {value: 40Gi}}}
- {name: b, attributes: {tier: {string: silver}, index: {int: 7}}}
- {name: c}
"""
_INDEX = 'device.attributes["d.example.com"].index > 3'


def _patch(name: str, wanted: Object | None = None, **says: Any) -> Object:
    return {
        "apiVersion": "resource.drakit.dev/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {"devices": {"filter": wanted or {}, **says}},
    }


def _gold() -> Object:
    return {"attributes": {f"{_DRIVER}/tier": {"string": "gold"}}}


def _class(name: str, expression: str) -> Object:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


class _Files:
    def __init__(self, folder: Path) -> None:
        self._layout = folder / "layout.yaml"
        self._layout.write_text(_LAYOUT)
        self._patches = folder / "patches.yaml"

    def slices(self, *objects: Object, options: tuple[str, ...] = ()) -> Result:
        self._patches.write_text(yaml.safe_dump_all(objects))
        command = ["slices", "layout", str(self._layout), "-f", str(self._patches), *options]
        return CliRunner().invoke(driver, command, catch_exceptions=False)

    def devices(self, *objects: Object) -> dict[str, Object]:
        items = yaml.safe_load(self.slices(*objects).stdout)["items"]
        return {device["name"]: device for one in items for device in one["spec"].get("devices") or ()}


@pytest.fixture
def files(tmp_path: Path) -> _Files:
    return _Files(tmp_path)


def test_devices_are_printed_as_patches_make_them_look(files: _Files) -> None:
    removed = _patch("removed", {"device": "b"}, priority=1, attributes={f"{_DRIVER}/tier": {"null": {}}})
    empty = _patch("empty", {"device": "a"}, capacity={f"{_DRIVER}/memory": {"value": "0"}})
    taint = {"key": "example.com/fan", "effect": "NoExecute"}
    found = files.devices(_patch("gilded", **_gold()), removed, empty, _patch("fan", {"device": "c"}, taints=[taint]))
    assert found == {
        "a": {"name": "a", "attributes": {"tier": {"string": "gold"}}, "capacity": {"memory": {"value": "0"}}},
        "b": {"name": "b", "attributes": {"index": {"int": 7}}},
        "c": {"name": "c", "attributes": {f"{_DRIVER}/tier": {"string": "gold"}}, "taints": [taint]},
    }


def test_each_patch_says_to_how_many_devices_it_applies(files: _Files) -> None:
    failing = {"selectors": [{"cel": {"expression": _INDEX}}]}
    result = files.slices(
        _patch("gilded", **_gold()),
        _patch("elsewhere", {"driver": "tpu.google.com"}, **_gold()),
        _patch("failing", failing, priority=1, **_gold()),
        _patch("lost", {"deviceClassName": "nowhere"}, **_gold()),
    )
    assert result.exit_code == 0
    assert result.stderr == (
        "patch failing: applies to 1 of 3 devices\n"
        f"patch failing: does not apply to device {_DRIVER}/node-1/a and 1 more: selector {_INDEX}:"
        " no such key: index\n"
        "patch elsewhere: applies to no device\n"
        "patch gilded: applies to 3 of 3 devices\n"
        "patch lost: applies to no device: there is no DeviceClass nowhere\n"
    )


@pytest.mark.parametrize(
    ("classes", "count"),
    [
        pytest.param((), 3, id="that of the layout"),
        pytest.param((_class("d.example.com", 'device.driver == "x"'),), 0, id="one of the files instead"),
    ],
)
def test_filters_name_classes(files: _Files, classes: tuple[Object, ...], count: int) -> None:
    result = files.slices(_patch("p", {"deviceClassName": "d.example.com"}, **_gold()), *classes)
    said = f"applies to {count} of 3 devices" if count else "applies to no device"
    assert result.stderr == f"patch p: {said}\n"


def test_mixins_are_applied_before_patches(tmp_path: Path, files: _Files) -> None:
    layout = tmp_path / "mixed.yaml"
    mixin = "{device: [{name: m, attributes: {index: {int: 7}}}]}"
    layout.write_text(f"driver: d.example.com\nmixins: {mixin}\ndevices: [{{name: a, includes: [m]}}]")
    patches = tmp_path / "patch.yaml"
    patches.write_text(yaml.safe_dump(_patch("p", {"selectors": [{"cel": {"expression": _INDEX}}]}, **_gold())))
    gate = ("--feature-gates", "DRAResourceSliceMixins=true")
    result = CliRunner().invoke(driver, ["slices", "layout", str(layout), "-f", str(patches), *gate])
    assert result.stderr == "patch p: applies to 1 of 1 devices\n", result.output
    (device,) = yaml.safe_load(result.stdout)["items"][0]["spec"]["devices"]
    assert device["attributes"] == {"index": {"int": 7}, f"{_DRIVER}/tier": {"string": "gold"}}


def test_taints_need_their_gate(files: _Files) -> None:
    tainting = _patch("p", taints=[{"key": "k", "effect": "NoSchedule"}])
    assert "taints" in files.slices(tainting).stdout
    without = files.slices(tainting, options=("--feature-gates", "DRADeviceTaints=false,DRADeviceTaintRules=false"))
    assert (without.exit_code, "taints" in without.stdout) == (0, False)
    assert "patch p: says taints in vain: they need the feature gate DRADeviceTaints, which is off\n" in without.stderr


def test_other_objects_are_told(files: _Files) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}
    assert files.slices(_patch("p", **_gold()), other, node).stderr.startswith("ignored: 1 ConfigMap, 1 Node\n")


@pytest.mark.parametrize(
    ("objects", "options", "code", "error"),
    [
        pytest.param([_patch("p", attributes={"tier": {"string": "x"}})], (), 2, "ResourceSlicePatch p: ", id="broken"),
        pytest.param([_class("c", "true")], (), 2, "there is no ResourceSlicePatch in ", id="none"),
        pytest.param([_patch("p")], ("--sizes",), 2, "-f and --sizes exclude each other", id="sizes"),
    ],
)
def test_what_is_wrong_is_said(
    files: _Files, objects: list[Object], options: tuple[str, ...], code: int, error: str
) -> None:
    result = files.slices(*objects, options=options)
    assert (result.exit_code, result.stdout) == (code, "")
    assert error in result.stderr
