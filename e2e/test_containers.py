"""What a process in a container sees: it is asked by exec, on every cluster.

Simulated nodes run no processes; there the kubelet does what the commands would do, on what the container would see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from kubernetes import client, config
from kubernetes.stream import stream

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import deployment, pod
from e2e.hardware import StartGpus, StartTpus, TakeNodes
from e2e.ledger import DevicesOf

pytestmark = pytest.mark.capability(
    "containers: what processes see", source="KEP-4381", gates=["DRAPartitionableDevices"]
)

# What a driver's pod mounts of its node.
_PLACES = (
    ("cdi", "/var/run/cdi"),
    ("plugins", "/var/lib/kubelet/plugins"),
    ("registry", "/var/lib/kubelet/plugins_registry"),
)

_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECONDS = 60


class Executed(NamedTuple):
    """What a command printed, and its exit status."""

    output: str
    errors: str
    code: int


Execute = Callable[..., Executed]


def _of_node(name: str, path: str) -> Object:
    return {"name": name, "hostPath": {"path": path, "type": "Directory"}}


@pytest.fixture
def execute(cluster: Cluster, api: Api) -> Iterator[Execute]:
    """``execute(pod, word, ...)``: execute a command in its first container; ``given`` is its input."""
    with config.new_client_from_config(str(cluster.kubeconfig)) as official:

        def run(name: str, *command: str, given: str = "") -> Executed:
            socket = stream(
                client.CoreV1Api(official).connect_get_namespaced_pod_exec,
                name,
                api.namespace,
                command=list(command),
                stdin=bool(given),
                stdout=True,
                stderr=True,
                _preload_content=False,
            )
            if given:
                socket.write_stdin(given)
                socket.close_channel(0)
            socket.run_forever(timeout=_SECONDS)
            output, errors, code = socket.read_stdout(), socket.read_stderr(), socket.returncode
            socket.sock.shutdown()  # its own close() leaves a socket open that the server has closed
            return Executed(output, errors, code)

        yield run


def _environment(printed: Executed) -> dict[str, str]:
    return dict(line.split("=", 1) for line in printed.output.splitlines() if "=" in line)


def test_a_process_in_the_container_sees_its_partitions(
    api: Api, gpus: StartGpus, devices_of: DevicesOf, execute: Execute, node: str
) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("part", "1g.5gb", "2g.10gb"), pod("user", "part"), pod("other"))
    api.wait_running("user", "other")
    seen = _environment(execute("user", "env"))
    assert set(devices_of("part")) <= set(seen.values())
    assert {name: value for name, value in seen.items() if name.startswith("GPU_DEVICE_")} == {
        name: value for name, value in api.environment("user").items() if name.startswith("GPU_DEVICE_")
    }
    assert [name for name in _environment(execute("other", "env")) if name.startswith("GPU_DEVICE_")] == []


@pytest.mark.needs_containers
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


def test_commands_have_input_output_errors_and_an_exit_status(api: Api, execute: Execute) -> None:
    api.create(pod("user"))
    api.wait_running("user")
    assert execute("user", "sh", "-c", "echo out; echo err >&2; exit 3") == Executed("out\n", "err\n", 3)
    assert execute("user", "cat", given="typed\n") == Executed("typed\n", "", 0)
    assert execute("user", "cat", "/none") == Executed("", "cat: can't open '/none': No such file or directory\n", 1)
    assert execute("user", "sh", "-c", "ls /none 2>/dev/null || echo none") == Executed("none\n", "", 0)


def test_commands_read_what_volumes_hold(api: Api, execute: Execute) -> None:
    texts = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "texts"},
        "data": {"a": "of a\n", "b": "of b\n"},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "secret"}, "stringData": {"password": "1234"}}
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    volumes = [
        {"name": "texts", "configMap": {"name": "texts"}},
        {"name": "all", "projected": {"sources": [{"secret": {"name": "secret"}}, {"downwardAPI": {"items": items}}]}},
    ]
    reader = pod("reader", labels={"app": "reader"}, volumes=volumes)
    reader["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "texts", "mountPath": "/texts"},
        {"name": "texts", "mountPath": "/only", "subPath": "b"},
        {"name": "all", "mountPath": "/all"},
    ]
    api.create(texts, secret, reader)
    api.wait_running("reader")
    assert execute("reader", "ls", "/texts") == Executed("a\nb\n", "", 0)
    assert execute("reader", "cat", "/texts/a", "/only") == Executed("of a\nof b\n", "", 0)
    assert execute("reader", "cat", "/all/password", "/all/labels") == Executed('1234app="reader"', "", 0)
    assert execute("reader", "cat", f"{_TOKEN}/namespace").output == api.namespace
    assert execute("reader", "cat", f"{_TOKEN}/token").output.count(".") == 2


@pytest.mark.parametrize(("profile", "count"), [("tpu-v6e-2x4", 2), ("tpu-v6e-4x4", 4)])
def test_a_process_in_each_host_of_a_slice_knows_its_place(
    api: Api, tpus: StartTpus, execute: Execute, nodes: TakeNodes, profile: str, count: int
) -> None:
    hosts = nodes(count)
    tpu = tpus(profile, nodes=hosts)
    api.create(tpu.slice_of("mesh", 4 * count), deployment("workers", "mesh", replicas=count))
    pods = api.wait_all(
        PODS, lambda seen: sum(item["status"].get("phase") == "Running" for item in seen) == count, what="running"
    )
    seen = {item["spec"]["nodeName"]: _environment(execute(item["metadata"]["name"], "env")) for item in pods}
    assert [int(seen[host]["TPU_WORKER_ID"]) for host in hosts] == list(range(count))
    assert {environment["TPU_WORKER_HOSTNAMES"] for environment in seen.values()} == {",".join(hosts)}
