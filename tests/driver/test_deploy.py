"""The manifests: they parse, they agree with the program, and they grant exactly what it uses."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool
from drakit_client.connection import Connection
from drakit_driver.driver import Driver, NodeDirectories
from drakit_driver.preparing.claim_references import ClaimReference
from drakit_driver.profiles.reading import catalog

ROOT = Path(__file__).parents[2] / "driver"
NODE = "node-1"
HOSTS = [NODE, "node-2", "node-3", "node-4"]


def manifests() -> list[Object]:
    paths = sorted((ROOT / "deploy").rglob("*.yaml"))
    return [item for path in paths for item in yaml.safe_load_all(path.read_text())]


def named(kind: str, name: str) -> Object:
    (found,) = (item for item in manifests() if item["kind"] == kind and item["metadata"]["name"] == name)
    return found


@pytest.mark.slow
async def test_rights_are_exactly_the_ones_used(api: Any, connection: Connection, short_dir: Path) -> None:
    """Create, change, repair, drop and delete slices, prepare, unprepare: all verbs, against the ClusterRole."""
    await api.put("nodes", {"metadata": {"name": NODE}})
    nodes = [NodeDirectories(NODE, short_dir / "k", short_dir / "cdi")]
    pools = catalog.build("a100-40gb", nodes=[NODE])
    driver = Driver(connection, "gpu.nvidia.com", pools, gates=FeatureGates(), nodes=nodes)
    await _publish_and_change(api, driver, catalog.build("a30", nodes=[NODE]))
    await driver.plugins[NODE].preparer.prepare([ClaimReference("default", "gone", "uid")])
    await driver.stop(cleanup=True)
    assert _used(api) == _granted("drakit-driver")


async def test_rights_of_a_publisher_are_exactly_the_ones_used(api: Any, connection: Connection) -> None:
    """It publishes a pool that spans nodes, and serves none of them."""
    pools = catalog.build("tpu-v6e-4x4", nodes=HOSTS)
    driver = Driver(connection, "tpu.google.com", pools, gates=FeatureGates())
    await _publish_and_change(api, driver, catalog.build("tpu-v6e-4x4", nodes=HOSTS[::-1]))
    await driver.stop(cleanup=True)
    assert _used(api) == _granted("drakit-tpu-publisher")


async def test_rights_of_a_plugin_that_publishes_nothing_are_exactly_the_ones_used(
    api: Any, connection: Connection, short_dir: Path
) -> None:
    nodes = [NodeDirectories(NODE, short_dir / "k", short_dir / "cdi")]
    pools = catalog.build("tpu-v6e-4x4", nodes=HOSTS)
    driver = Driver(connection, "tpu.google.com", pools, gates=FeatureGates(), nodes=nodes, publish=False)
    await driver.start()
    await driver.plugins[NODE].preparer.prepare([ClaimReference("default", "gone", "uid")])
    await driver.stop(cleanup=True)
    assert _used(api) == _granted("drakit-tpu")


async def _publish_and_change(api: Any, driver: Driver, pools: Sequence[Pool]) -> None:
    """Until its events have been written, too."""
    api.admit = lambda obj: obj["spec"].pop("sharedCounters", None)
    await driver.start()
    (publisher,) = driver.publishers
    await publisher.published(5)
    await publisher._events.flush()
    driver.update(pools)
    await publisher.published(5)
    await publisher._events.flush()
    publisher._report_dropped(NODE, [])
    for _ in range(2):
        publisher._events.event({"kind": "Node", "name": NODE}, "Warning", "Again", "the same")
        await publisher._events.flush()


def _used(api: Any) -> set[tuple[str, str, str]]:
    return {verb for verb in api.verbs if verb[2] != "deviceclasses"}


def _granted(role: str) -> set[tuple[str, str, str]]:
    return {
        (verb, group, resource)
        for rule in named("ClusterRole", role)["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("account", ["drakit-driver", "drakit-tpu-publisher"])
def test_who_may_write_all_slices_is_held_to_its_own_by_a_policy(account: str) -> None:
    """Roles know of no node; whose token is stolen must not be able to publish devices of any node."""
    policies = [
        item["metadata"]["name"]
        for item in manifests()
        if item["kind"] == "ValidatingAdmissionPolicy"
        and f'"system:serviceaccount:drakit-system:{account}"' in item["spec"]["matchConditions"][0]["expression"]
    ]
    (policy,) = policies
    spec = named("ValidatingAdmissionPolicy", policy)["spec"]
    (rule,) = spec["matchConstraints"]["resourceRules"]
    (written,) = (each for each in named("ClusterRole", account)["rules"] if each["resources"] == ["resourceslices"])
    assert set(rule["operations"]) == {verb.upper() for verb in written["verbs"]} - {"LIST", "WATCH"}
    assert (rule["apiGroups"], rule["resources"]) == (written["apiGroups"], written["resources"])
    binding = named("ValidatingAdmissionPolicyBinding", policy)["spec"]
    assert (spec["failurePolicy"], binding["policyName"], binding["validationActions"]) == ("Fail", policy, ["Deny"])


@pytest.mark.parametrize(
    ("profile", "names"), [("dgx-a100", ["gpu.nvidia.com", "mig.nvidia.com"]), ("tpu-v6e-4x4", ["tpu.google.com"])]
)
def test_device_classes_are_those_of_the_profile(profile: str, names: list[str]) -> None:
    assert [named("DeviceClass", name) for name in names] == catalog.device_classes(profile)


def containers() -> list[tuple[str, Object]]:
    workloads = [item for item in manifests() if item["kind"] in ("DaemonSet", "Deployment")]
    return [
        (item["metadata"]["name"], container)
        for item in workloads
        for container in item["spec"]["template"]["spec"]["containers"]
    ]


@pytest.mark.parametrize(("name", "container"), containers(), ids=[name for name, _ in containers()])
def test_containers_run_commands_that_exist_without_privileges(name: str, container: Object) -> None:
    from drakit_driver.cli.run_command import run

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
    from drakit_driver.cli.run_command import CDI_DIR, KUBELET_DIR

    wanted = {f"{KUBELET_DIR}/plugins_registry", f"{KUBELET_DIR}/plugins", CDI_DIR}
    for name in ("drakit-gpu", "drakit-tpu"):
        spec = named("DaemonSet", name)["spec"]["template"]["spec"]
        assert {volume["hostPath"]["path"] for volume in spec["volumes"]} == wanted
        assert {mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]} == wanted
