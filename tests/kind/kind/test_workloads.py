"""Pods of a test are the published manifests with other names, nodes and profiles, and no other rights."""

from __future__ import annotations

import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hatchling.builders.wheel import WheelBuilder

import drakit_allocator
import drakit_driver
from drakit_kind.cluster import ClusterError, DriverSpec
from drakit_kind.kind import workloads

ROOT = Path(__file__).parents[3]
IMAGE = "localhost/drakit:test"
GPU = DriverSpec(profile="a100-40gb", nodes=["n1", "n2"], name="test-1.gpu.nvidia.com", gpus=2)
TPU = DriverSpec(profile="tpu-v6e-4x4", nodes=["w1", "w2", "w3", "w4"], name="test-1.tpu.google.com")


def _published(path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / path).read_text()))


def _pod(workload: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


def _container(workload: dict[str, Any]) -> dict[str, Any]:
    (container,) = _pod(workload)["containers"]
    return dict(container)


def _without(pod: dict[str, Any]) -> dict[str, Any]:
    """What a test's pod must have in common with the manifest."""
    kept = deepcopy(pod)
    kept.pop("affinity", None)
    for container in kept["containers"]:
        del container["image"], container["args"]
    return kept


def test_a_gpu_driver_is_the_daemon_set_of_the_manifest_on_its_nodes() -> None:
    (workload,) = workloads.driver(GPU, IMAGE)
    (manifest,) = _published("driver/deploy/20-gpu.yaml")
    assert _without(_pod(workload)) == _without(_pod(manifest))
    assert _container(workload)["image"] == IMAGE
    assert _container(workload)["args"] == [
        "driver", "run", "a100-40gb", "--kubeconfig", "in-cluster", "--no-classes",
        "--driver-name", "test-1.gpu.nvidia.com", "--gpus", "2", "--cleanup",
    ]  # fmt: skip
    (term,) = _pod(workload)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1", "n2"]}]


def test_a_tpu_driver_is_one_publisher_and_a_plugin_on_each_host() -> None:
    objects = {item["kind"]: item for item in workloads.driver(TPU, IMAGE)}
    published = {item["kind"]: item for item in _published("driver/deploy/tpu/tpu-v6e-4x4.yaml")}
    hosts = ["--node", "w1", "--node", "w2", "--node", "w3", "--node", "w4"]
    assert _container(objects["Deployment"])["args"] == [
        "driver", "run", "tpu-v6e-4x4", *hosts, "--publish-only", "--no-classes", "--kubeconfig", "in-cluster",
        "--driver-name", "test-1.tpu.google.com", "--cleanup",
    ]  # fmt: skip
    assert _container(objects["DaemonSet"])["args"] == [
        "driver", "run", "tpu-v6e-4x4", *hosts, "--serve", "$(NODE_NAME)", "--no-publish", "--no-classes",
        "--kubeconfig", "in-cluster", "--driver-name", "test-1.tpu.google.com", "--cleanup",
    ]  # fmt: skip
    for kind in ("Deployment", "DaemonSet"):
        assert _without(_pod(objects[kind])) == _without(_pod(published[kind]))
    # Its rights come along, the class does not: it belongs to this driver's name, and the cluster's side makes it.
    assert set(objects) == set(published) - {"DeviceClass"}


@pytest.mark.parametrize("spec", [GPU, TPU], ids=["gpu", "tpu"])
def test_the_program_accepts_its_command_line(spec: DriverSpec) -> None:
    from drakit_driver.cli.run_command import run

    for workload in workloads.driver(spec, IMAGE):
        if workload["kind"] in ("DaemonSet", "Deployment"):
            arguments = [word.replace("$(NODE_NAME)", "w2") for word in _container(workload)["args"]]
            result = CliRunner().invoke(run, arguments[2:], env={"NODE_NAME": "n1", "KUBERNETES_SERVICE_HOST": None})
            assert "$KUBERNETES_SERVICE_HOST is not set" in result.output, arguments


def test_instances_have_names_and_pods_of_their_own() -> None:
    other_node = DriverSpec(profile="a100-40gb", nodes=["n3"], name="test-1.gpu.nvidia.com", gpus=2)
    long = DriverSpec(profile="a100-40gb", nodes=["n1"], name=f"{'x' * 40}.gpu.nvidia.com")
    names = {workloads.instance_name(spec) for spec in (GPU, TPU, other_node, long)}
    assert len(names) == 4
    assert all(len(name) + len("-publisher") <= 63 for name in names)
    for spec in (GPU, TPU):
        workload = workloads.driver(spec, IMAGE)[-1]
        labels = {workloads.NAME_LABEL: workloads.instance_name(spec)}
        assert workload["spec"]["selector"] == {"matchLabels": labels}
        assert workload["spec"]["template"]["metadata"]["labels"] == labels


def test_gates_and_versions_of_a_driver_are_on_its_command_line() -> None:
    spec = DriverSpec(
        profile="a100-40gb", nodes=["n1"], plugin_versions=["v1beta1"], gates={"DRADerivedAttributes": True}
    )
    (workload,) = workloads.driver(spec, IMAGE)
    assert _container(workload)["args"][-5:] == [
        "--plugin-versions", "v1beta1", "--feature-gates", "DRADerivedAttributes=true", "--cleanup",
    ]  # fmt: skip


def test_a_layout_comes_as_a_config_map(tmp_path: Path) -> None:
    file = ROOT / "driver/examples/layouts/four-gpus.yaml"
    spec = DriverSpec(profile="layout", nodes=["n1"], layout=str(file))
    config_map, workload = workloads.driver(spec, IMAGE)
    assert config_map["data"] == {"layout.yaml": file.read_text()}
    assert _container(workload)["args"][:4] == ["driver", "run", "layout", "/etc/drakit-layout/layout.yaml"]
    assert {"name": "layout", "configMap": {"name": config_map["metadata"]["name"]}} in _pod(workload)["volumes"]
    assert {"name": "layout", "mountPath": "/etc/drakit-layout", "readOnly": True} in _container(workload)[
        "volumeMounts"
    ]


def test_what_is_wrong_with_a_driver_is_found_before_a_cluster_starts() -> None:
    with pytest.raises(ClusterError, match="there is no profile"):
        workloads.instance_name(DriverSpec(profile="h9000", nodes=["n1"]))


def test_the_scheduler_is_the_deployment_of_the_manifest() -> None:
    objects = workloads.scheduler(IMAGE, name="mine", gates={"DRADeviceTaints": False}, emulated_version="1.36")
    published = _published("allocator/deploy/scheduler.yaml")
    assert objects[:-1] == published[:-1]
    assert _without(_pod(objects[-1])) == _without(_pod(published[-1]))
    assert _container(objects[-1])["args"] == [
        "scheduler", "run", "--scheduler-name", "mine", "-v", "--emulated-version", "1.36",
        "--feature-gates", "DRADeviceTaints=false",
    ]  # fmt: skip


def test_access_is_that_of_the_manifest() -> None:
    assert workloads.access() == _published("driver/deploy/00-access.yaml")


@pytest.mark.slow
def test_a_wheel_has_the_manifests_where_an_installed_drakit_looks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [wheel] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    before = workloads.access(), workloads.driver(GPU, IMAGE), workloads.driver(TPU, IMAGE)
    for package in (drakit_driver, drakit_allocator):
        monkeypatch.setattr(package, "__file__", str(tmp_path / "installed" / package.__name__ / "__init__.py"))
    assert not (tmp_path / "deploy").exists()
    assert (workloads.access(), workloads.driver(GPU, IMAGE), workloads.driver(TPU, IMAGE)) == before
    assert workloads.scheduler(IMAGE, name="mine", gates={}, emulated_version="1.37")


def test_every_kind_of_the_manifests_has_its_place_in_the_api() -> None:
    scheduler = workloads.scheduler(IMAGE, name="any", gates={}, emulated_version="1.37")
    objects = [*workloads.access(), *scheduler, *workloads.driver(GPU, IMAGE), *workloads.driver(TPU, IMAGE)]
    for item in objects:
        resource = workloads.RESOURCES[item["kind"]]
        assert resource.namespaced == ("namespace" in item["metadata"])
        assert item["apiVersion"] in (f"{resource.group}/v1", "v1")
