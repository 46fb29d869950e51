"""KEP-4815, the multi-host use case: pods that share a TPU slice land on exactly the hosts of that slice."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_client.resources import DEPLOYMENTS, NODES, PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import deployment, pod
from e2e.hardware import StartTpus, TakeNodes
from e2e.ledger import DevicesOf, OpenLedger

pytestmark = pytest.mark.capability(
    "partitionable devices: multi-host TPU",
    source="KEP-4815",
    gates=["DRAPartitionableDevices"],
)

# What each device of a 4x4 pool covers, hosts numbered row by row (hardware facts, not the driver's code).
COVERS = {
    "tpu-2x2-1": [1], "tpu-2x2-2": [2], "tpu-2x2-3": [3], "tpu-2x2-4": [4],
    "tpu-2x4-1": [1, 2], "tpu-2x4-2": [3, 4],
    "tpu-4x4-1": [1, 2, 3, 4],
}  # fmt: skip


def _hosts_of(device: str, hosts: list[str]) -> set[str]:
    return {hosts[number - 1] for number in COVERS[device]}


def _pods_of(api: Api, app: str) -> list[dict[str, Any]]:
    return api.objects(PODS, label_selector=f"app={app}")


@pytest.mark.parametrize(("chips", "replicas"), [(8, 2), (16, 4)], ids=["2x4 on two hosts", "4x4 on four hosts"])
def test_a_deployment_spreads_over_exactly_the_hosts_of_its_slice(
    api: Api, tpus: StartTpus, devices_of: DevicesOf, chips: int, replicas: int, hosts: list[str]
) -> None:
    tpu = tpus(nodes=hosts)
    api.create(tpu.slice_of("tpu-consumer", chips), deployment("workers", "tpu-consumer", replicas=replicas))
    api.wait(
        DEPLOYMENTS, "workers", lambda seen: seen["status"].get("availableReplicas") == replicas,
        what="available",
    )  # fmt: skip
    (device,) = devices_of("tpu-consumer")
    pods = _pods_of(api, "workers")
    assert sorted(item["spec"]["nodeName"] for item in pods) == sorted(_hosts_of(device, hosts))
    claim = api.get(RESOURCE_CLAIMS, "tpu-consumer")
    assert {consumer["name"] for consumer in claim["status"]["reservedFor"]} == {
        item["metadata"]["name"] for item in pods
    }


def test_a_pool_of_two_hosts_is_taken_by_one_deployment(
    api: Api, tpus: StartTpus, nodes: TakeNodes, devices_of: DevicesOf
) -> None:
    hosts = nodes(2)
    tpu = tpus("tpu-v6e-2x4", nodes=hosts)
    api.create(tpu.slice_of("whole", 8), deployment("workers", "whole", replicas=2))
    api.wait(DEPLOYMENTS, "workers", lambda seen: seen["status"].get("availableReplicas") == 2, what="available")
    assert devices_of("whole") == ["tpu-2x4-1"]
    workers = {item["spec"]["nodeName"]: api.environment(item["metadata"]["name"]) for item in _pods_of(api, "workers")}
    assert [workers[host]["TPU_WORKER_ID"] for host in hosts] == ["0", "1"]
    assert {environment["TPU_TOPOLOGY"] for environment in workers.values()} == {"2x4"}
    api.create(tpu.slice_of("part", 4), pod("part", "part"))
    assert "cannot allocate all claims" in api.wait_event("part", "FailedScheduling")


def test_each_worker_knows_its_place_in_the_mesh(
    api: Api, tpus: StartTpus, devices_of: DevicesOf, hosts: list[str]
) -> None:
    tpu = tpus(nodes=hosts)
    api.create(tpu.slice_of("tpu-consumer", 16), deployment("workers", "tpu-consumer", replicas=4))
    api.wait_all(PODS, lambda pods: sum(item["status"].get("phase") == "Running" for item in pods) == 4, what="running")
    workers = {item["spec"]["nodeName"]: api.environment(item["metadata"]["name"]) for item in _pods_of(api, "workers")}
    assert [int(workers[host]["TPU_WORKER_ID"]) for host in hosts] == [0, 1, 2, 3]
    for environment in workers.values():
        assert environment["TPU_WORKER_HOSTNAMES"] == ",".join(hosts)
        expected = {
            "TPU_TOPOLOGY": "4x4",
            "TPU_ACCELERATOR_TYPE": "v6e-16",
            "TPU_HOST_BOUNDS": "2,2,1",
            "TPU_CHIPS_PER_HOST_BOUNDS": "2,2,1",
            "TPU_TOPOLOGY_WRAP": "false,false,false",
            "TPU_SKIP_MDS_QUERY": "true",
        }
        assert {name: environment[name] for name in expected} == expected


def test_one_replica_more_than_hosts_stays_pending(api: Api, tpus: StartTpus, hosts: list[str]) -> None:
    tpu = tpus(nodes=hosts)
    api.create(tpu.slice_of("tpu-consumer", 8), deployment("workers", "tpu-consumer", replicas=3))
    pods = api.wait_all(
        PODS,
        lambda pods: sum(item["status"].get("phase") == "Running" for item in pods) == 2 and len(pods) == 3,
        what="two running of three",
    )
    (waiting,) = [item["metadata"]["name"] for item in pods if item["status"].get("phase") != "Running"]
    message = api.wait_event(waiting, "FailedScheduling", containing="didn't match pod anti-affinity rules")
    assert message.startswith(f"0/{len(api.objects(NODES))} nodes are available")


@pytest.mark.parametrize(
    ("order", "fits"),
    [
        ([16, 4], [True, False]),
        ([4, 16], [True, False]),
        ([8, 8], [True, True]),
        ([8, 8, 4], [True, True, False]),
        ([4, 8, 4], [True, True, True]),
        ([8, 16], [True, False]),
        ([(4, 1), (4, 2), 8], [True, True, True]),
        ([(4, 1), (4, 3), 8], [True, True, False]),
    ],
    ids=[
        "4x4 then 2x2", "2x2 then 4x4", "two 2x4", "two 2x4 are all", "2x4 beside 2x2s", "2x4 then 4x4",
        "2x2s in one row leave a row", "2x2s in one column leave none",
    ],
)  # fmt: skip
def test_slices_exclude_and_coexist_as_the_picture_says(
    api: Api,
    tpus: StartTpus,
    ledger: OpenLedger,
    devices_of: DevicesOf,
    order: list[int | tuple[int, int]],
    fits: list[bool],
    hosts: list[str],
) -> None:
    """``order`` has the chips of each claim, and for some the number of the host on which its pod must run."""
    tpu = tpus(nodes=hosts)
    covered: set[str] = set()
    for index, (wanted, fit) in enumerate(zip(order, fits, strict=True)):
        name = f"slice-{index}"
        chips, host = wanted if isinstance(wanted, tuple) else (wanted, None)
        selector = {"kubernetes.io/hostname": hosts[host - 1]} if host else {}
        api.create(tpu.slice_of(name, chips), pod(name, name, nodeSelector=selector))
        if not fit:
            assert "cannot allocate all claims" in api.wait_event(name, "FailedScheduling")
            continue
        api.wait_running(name)
        (device,) = devices_of(name)
        assert not covered & _hosts_of(device, hosts)
        covered |= _hosts_of(device, hosts)
        assert api.get(PODS, name)["spec"]["nodeName"] in _hosts_of(device, hosts)
    ledger(tpu.name).check()
