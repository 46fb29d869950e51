"""The manifests: they parse, they agree with the program, and they grant exactly what it uses."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from drakit_api.features import FeatureGates
from drakit_client.connection import Connection
from drakit_driver import profiles
from drakit_driver.driver import Driver, NodeDirectories
from drakit_driver.prepare import ClaimReference

Object = dict[str, Any]
ROOT = Path(__file__).parents[2] / "driver"
NODE = "node-1"


def manifests() -> list[Object]:
    paths = sorted((ROOT / "deploy").rglob("*.yaml"))
    return [item for path in paths for item in yaml.safe_load_all(path.read_text())]


def named(kind: str, name: str) -> Object:
    (found,) = (item for item in manifests() if item["kind"] == kind and item["metadata"]["name"] == name)
    return found


async def test_rights_are_exactly_the_ones_used(api: Any, connection: Connection, short_dir: Path) -> None:
    """Create, change, repair, drop and delete slices, prepare, unprepare: all verbs, against the ClusterRole."""
    node = await api.put("nodes", {"metadata": {"name": NODE}})
    assert node
    pools = profiles.build("a100-40gb", nodes=[NODE])
    nodes = [NodeDirectories(NODE, short_dir / "k", short_dir / "cdi")]
    driver = Driver(connection, "gpu.nvidia.com", pools, gates=FeatureGates(), nodes=nodes)
    api.admit = lambda obj: obj["spec"].pop("sharedCounters", None)
    await driver.start()
    (publisher,) = driver.publishers
    await publisher.published(5)
    await publisher._events.flush()
    driver.update(profiles.build("a30", nodes=[NODE]))
    await publisher.published(5)
    await publisher._events.flush()
    publisher._report_dropped(NODE, [])
    for _ in range(2):
        publisher._events.event({"kind": "Node", "name": NODE}, "Warning", "Again", "the same")
        await publisher._events.flush()
    await driver.plugins[NODE].preparer.prepare([ClaimReference("default", "gone", "uid")])
    await driver.stop(cleanup=True)
    used = {verb for verb in api.verbs if verb[2] != "deviceclasses"}
    granted = {
        (verb, group, resource)
        for rule in named("ClusterRole", "drakit-driver")["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert used == granted


@pytest.mark.parametrize(
    ("profile", "names"), [("dgx-a100", ["gpu.nvidia.com", "mig.nvidia.com"]), ("tpu-v6e-4x4", ["tpu.google.com"])]
)
def test_device_classes_are_those_of_the_profile(profile: str, names: list[str]) -> None:
    assert [named("DeviceClass", name) for name in names] == profiles.device_classes(profile)


def containers() -> list[tuple[str, Object]]:
    workloads = [item for item in manifests() if item["kind"] in ("DaemonSet", "Deployment")]
    return [
        (item["metadata"]["name"], container)
        for item in workloads
        for container in item["spec"]["template"]["spec"]["containers"]
    ]


@pytest.mark.parametrize(("name", "container"), containers(), ids=[name for name, _ in containers()])
def test_containers_run_commands_that_exist_without_privileges(name: str, container: Object) -> None:
    from drakit_driver.run_command import run

    arguments = [argument.replace("$(NODE_NAME)", "w2") for argument in container["args"]]
    assert arguments[:2] == ["driver", "run"]
    # Everything on the command line is accepted: what fails is that this is no pod.
    result = CliRunner().invoke(run, arguments[2:], env={"NODE_NAME": "w2", "KUBERNETES_SERVICE_HOST": None})
    assert "$KUBERNETES_SERVICE_HOST is not set" in result.output, shlex.join(arguments)
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True


def test_paths_of_the_volumes_are_the_defaults_of_the_program() -> None:
    from drakit_driver.run_command import CDI_DIR, KUBELET_DIR

    wanted = {f"{KUBELET_DIR}/plugins_registry", f"{KUBELET_DIR}/plugins", CDI_DIR}
    for name in ("drakit-gpu", "drakit-tpu"):
        spec = named("DaemonSet", name)["spec"]["template"]["spec"]
        assert {volume["hostPath"]["path"] for volume in spec["volumes"]} == wanted
        assert {mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]} == wanted
