"""What a process in a container sees: the same as its log shows, asked for by ``kubectl exec``."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import deployment, pod
from drakit_kind.kubernetes.assets import find_assets
from drakit_kind.processes.command_output import output
from drakit_kind.testing.settings.values import text
from e2e.hardware import StartGpus, StartTpus, TakeNodes
from e2e.ledger import DevicesOf

pytestmark = [
    pytest.mark.capability("containers: CDI on real kubelets", source="KEP-4381", gates=["DRAPartitionableDevices"]),
    pytest.mark.needs_containers,
]

# What a driver's pod mounts of its node.
_PLACES = (
    ("cdi", "/var/run/cdi"),
    ("plugins", "/var/lib/kubelet/plugins"),
    ("registry", "/var/lib/kubelet/plugins_registry"),
)

Exec = Callable[..., dict[str, str]]
_SECONDS = 60


def _of_node(name: str, path: str) -> Object:
    return {"name": name, "hostPath": {"path": path, "type": "Directory"}}


@pytest.fixture
def exec_env(request: pytest.FixtureRequest, cluster: Cluster, api: Api) -> Exec:
    """``exec_env(pod)``: what ``env`` prints in its container."""
    named = text(request.config, "kind-kubectl-bin")
    kubectl = named or find_assets(cluster.spec.version).find("kubectl") or shutil.which("kubectl")
    assert kubectl, "there is no kubectl in PATH"

    def run(name: str) -> dict[str, str]:
        command = [str(kubectl), "--kubeconfig", str(cluster.kubeconfig), "--namespace", api.namespace]
        printed = output([*command, "exec", name, "--", "env"], timeout=_SECONDS)
        return dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)

    return run


def test_a_process_in_the_container_sees_its_partitions(
    api: Api, gpus: StartGpus, devices_of: DevicesOf, exec_env: Exec, node: str
) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("part", "1g.5gb", "2g.10gb"), pod("user", "part"), pod("other"))
    api.wait_running("user", "other")
    seen = exec_env("user")
    assert set(devices_of("part")) <= set(seen.values())
    assert {name: value for name, value in seen.items() if name.startswith("GPU_DEVICE_")} == {
        name: value for name, value in api.environment("user").items() if name.startswith("GPU_DEVICE_")
    }
    assert [name for name in exec_env("other") if name.startswith("GPU_DEVICE_")] == []


def test_a_driver_in_a_pod_finds_its_node_where_every_chart_looks_for_it(api: Api, gpus: StartGpus, node: str) -> None:
    """It sees what the drivers that are there have put there: their sockets and what their containers get."""
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("part", "1g.5gb"), pod("user", "part"))
    api.wait_running("user")
    uid = api.get(RESOURCE_CLAIMS, "part")["metadata"]["uid"]
    looks = f"ls /cdi | grep {uid} && ls /plugins | grep {gpu.name} && ls /registry | grep {gpu.name} && seen=all"
    driver = pod("driver", nodeName=node, volumes=[_of_node(*each) for each in _PLACES])
    (container,) = driver["spec"]["containers"]
    container["command"] = ["sh", "-c", f"seen=; {looks}; echo SEEN=$seen; exec sleep 1000000"]
    container["volumeMounts"] = [{"name": name, "mountPath": f"/{name}"} for name, _ in _PLACES]
    api.create(driver)
    api.wait_running("driver")
    assert api.environment("driver") == {"SEEN": "all"}, api.log("driver")


@pytest.mark.parametrize(("profile", "count"), [("tpu-v6e-2x4", 2), ("tpu-v6e-4x4", 4)])
def test_a_process_in_each_host_of_a_slice_knows_its_place(
    api: Api, tpus: StartTpus, exec_env: Exec, nodes: TakeNodes, profile: str, count: int
) -> None:
    hosts = nodes(count)
    tpu = tpus(profile, nodes=hosts)
    api.create(tpu.slice_of("mesh", 4 * count), deployment("workers", "mesh", replicas=count))
    pods = api.wait_all(
        PODS, lambda seen: sum(item["status"].get("phase") == "Running" for item in seen) == count, what="running"
    )
    seen = {item["spec"]["nodeName"]: exec_env(item["metadata"]["name"]) for item in pods}
    assert [int(seen[host]["TPU_WORKER_ID"]) for host in hosts] == list(range(count))
    assert {environment["TPU_WORKER_HOSTNAMES"] for environment in seen.values()} == {",".join(hosts)}
