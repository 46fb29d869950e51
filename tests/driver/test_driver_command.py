"""``drakit driver slices | classes | profiles``: what a person at a terminal sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_driver.cli.driver_command import driver
from drakit_driver.cli.manifests import dump

_LAYOUTS = Path(__file__).parents[2] / "driver" / "examples" / "layouts"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(driver, arguments, catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_slices_are_printed_as_a_list(form: str) -> None:
    result = _run("slices", "a100-40gb", "--gpus", "2", "--node", "worker", "-o", form)
    assert result.exit_code == 0
    listed = json.loads(result.stdout) if form == "json" else yaml.safe_load(result.stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert [each["kind"] for each in listed["items"]] == ["ResourceSlice"] * 3
    assert {each["spec"]["nodeName"] for each in listed["items"]} == {"worker"}
    assert "&id" not in result.stdout


@pytest.mark.slow
def test_several_nodes_and_another_driver_name() -> None:
    result = _run("slices", "a30", "--node", "a", "--node", "b", "--driver-name", "gpu.example.com")
    specs = [each["spec"] for each in yaml.safe_load(result.stdout)["items"]]
    assert {spec["pool"]["name"] for spec in specs} == {"a", "b"}
    assert {spec["driver"] for spec in specs} == {"gpu.example.com"}


def test_a_layout_is_flattened_unless_the_gate_is_on() -> None:
    path = str(_LAYOUTS / "four-partitions.yaml")
    assert "mixins" not in _run("slices", "layout", path).stdout
    assert "mixins" in _run("slices", "layout", path, "--feature-gates", "DRAResourceSliceMixins=true").stdout


@pytest.mark.slow
def test_combined_slices_for_1_34() -> None:
    items = yaml.safe_load(_run("slices", "a100-40gb", "--combined").stdout)["items"]
    assert [sorted(set(each["spec"]) & {"devices", "sharedCounters"}) for each in items] == [
        ["devices", "sharedCounters"]
    ]


def test_a_kubernetes_that_drops_counters_is_pointed_out() -> None:
    assert _run("slices", "a30", "--emulated-version", "1.35").stderr == (
        "note: DRAPartitionableDevices is off in this Kubernetes, the API server drops spec.devices[].consumesCounters,"
        " spec.sharedCounters: partitions are allocated side by side\n"
    )
    assert _run("slices", "a30", "--emulated-version", "1.36").stderr == ""


def test_whatever_else_a_kubernetes_drops_is_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "layout.yaml"
    path.write_text("driver: d.example.com\ndevices: [{name: a, taints: [{key: k, effect: NoSchedule}]}]")
    assert "DRADeviceTaints is off" in _run("slices", "layout", str(path), "--emulated-version", "1.35").stderr
    assert _run("slices", "layout", str(path)).stderr == ""


@pytest.mark.parametrize(("gates", "code"), [("", 1), ("DRAPartitionableDevices=true", 0)], ids=["off", "on"])
def test_slices_without_nodes_are_an_error_where_their_nodes_are_dropped(gates: str, code: int) -> None:
    result = _run("slices", "tpu-v6e-4x4", "--emulated-version", "1.35", "--feature-gates", gates)
    assert result.exit_code == code
    assert ("refuses what is left: spec: Required value: exactly one of `nodeName`" in result.stderr) is (code == 1)
    assert (result.stdout == "") is (code == 1)


@pytest.mark.slow
def test_a_layout_may_come_from_standard_input() -> None:
    path = _LAYOUTS / "dgx-a100-mig.yaml"
    piped = CliRunner().invoke(driver, ["slices", "layout", "-"], input=path.read_bytes())
    assert (piped.exit_code, piped.stdout) == (0, _run("slices", "layout", str(path)).stdout)
    broken = CliRunner().invoke(driver, ["slices", "layout", "-"], input="driver: [")
    assert (broken.exit_code, broken.stdout) == (1, "")
    assert broken.stderr.startswith("Error: standard input:")


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_profiles_for_scripts(form: str, read: Callable[[str], Any]) -> None:
    found = {each["name"]: each for each in read(_run("profiles", "-o", form).stdout)}
    assert found["dgx-a100"] == {
        "name": "dgx-a100",
        "summary": "8 x a100-40gb, the GPUs of one DGX A100",
        "kind": "mig",
        "driver": "gpu.nvidia.com",
        "nodes": 1,
        "gpus": 8,
        "source": "dgx-a100.yaml",
    }
    assert (found["tpu-v6e-4x4"]["nodes"], found["tpu-v6e-4x4"]["gpus"]) == (4, None)
    assert found["layout"]["driver"] is None


def test_sizes_before_and_after_flattening() -> None:
    result = _run("slices", "layout", str(_LAYOUTS / "dgx-a100-mig.yaml"), "--sizes")
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["pool node-1 with mixins", "pool node-1 flattened", "total"]


def test_sizes_beside_the_list_go_to_stderr() -> None:
    result = _run("slices", "a30", "--sizes", "-o", "json")
    assert json.loads(result.stdout)["kind"] == "List"
    assert "bytes in etcd" in result.stderr


def test_all_errors_of_a_layout_go_to_stderr(tmp_path: Path) -> None:
    path = tmp_path / "layout.yaml"
    path.write_text("driver: d.example.com\ndevices: [{name: A}, {name: b, colour: red}]", encoding="utf-8")
    result = _run("slices", "layout", str(path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert [line.split(":")[:2] for line in result.stderr.splitlines()] == [
        ["Error", " device A"],
        ["Error", " device b"],
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["slices", "dgxa100"], 1, 'Error: there is no profile "dgxa100"; did you mean dgx-a100? known are'),
        (["run", "dgxa100", "--node", "a"], 1, 'Error: there is no profile "dgxa100"; did you mean dgx-a100? known'),
        (["classes", "nothing"], 1, 'Error: there is no profile "nothing"; known are'),
        (["slices", "nothing"], 1, 'there is no profile "nothing"'),
        (["slices", "layout"], 1, "profile layout needs a file"),
        (["slices", "layout", "no-such-file.yaml"], 1, "no-such-file.yaml: No such file"),
        (["slices", "a30", "--gpus", "0"], 2, "0 is not in the range"),
        (["slices", "a30", "--feature-gates", "Nonsense=true"], 2, "unrecognized feature gate: Nonsense"),
        (["slices", "a30", "--emulated-version", "1.20"], 2, "1.20 is not between"),
        (["slices"], 2, "Missing argument 'PROFILE'"),
        (["classes", "layout"], 1, "give the driver's name"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(arguments: list[str], code: int, error: str) -> None:
    result = _run(*arguments)
    assert result.exit_code == code
    assert error in result.stderr
    assert "Traceback" not in result.output


def test_classes_are_printed_as_a_list() -> None:
    listed = yaml.safe_load(_run("classes", "dgx-a100").stdout)
    assert [each["metadata"]["name"] for each in listed["items"]] == ["gpu.nvidia.com", "mig.nvidia.com"]


def test_profiles_are_listed_with_a_line_each() -> None:
    lines = _run("profiles").stdout.splitlines()
    names = [line.split()[0] for line in lines]
    wanted = {"a100-40gb", "a100-80gb", "a30", "h100-80gb", "h200-141gb", "dgx-a100", "layout"}
    wanted |= {f"tpu-{generation}-{topology}" for generation in ("v5e", "v6e") for topology in ("4x4", "8x8", "16x16")}
    assert wanted <= set(names)
    assert all(len(line.split()) > 2 for line in lines)


def test_help_teaches_by_example() -> None:
    assert "drakit driver slices a100-40gb" in _run("--help").stdout
    assert "run" in _run("--help").stdout
    assert "drakit driver slices layout my-devices.yaml --sizes" in _run("slices", "--help").stdout


@pytest.mark.parametrize("text", ["1e3", "0x10", "1.2.3", "12.4", "yes", "null", "0o7", "plain"])
def test_printed_strings_stay_strings_for_every_yaml_parser(text: str) -> None:
    printed = dump({"value": text}, "yaml")
    assert yaml.safe_load(printed) == {"value": text}
    assert ("'" in printed) is (text not in {"plain", "1.2.3"})
