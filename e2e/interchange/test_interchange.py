"""Seed 004's claim of four partitions, told by every combination of fake and real parts.

Each combination has to come to the same decisions: the partitions lie on one GPU, the container sees what its driver
says, a whole GPU has to wait for them, and everything is given back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from drakit_client.resources import PODS, RESOURCE_CLAIMS, SERVICE_ACCOUNTS
from drakit_driver import profiles
from drakit_kind.api import Api
from drakit_kind.cluster import Cluster, ClusterSpec, DriverSpec
from drakit_kind.local import LocalCluster
from drakit_kind.manifests import pod
from e2e.hardware import GpuClaims, Gpus
from e2e.interchange import kubernetes_driver
from e2e.interchange.combination import COMBINATIONS, Combination
from e2e.ledger import Ledger

pytestmark = pytest.mark.capability(
    "interchangeable parts", source="KEP-4815, KEP-4381", gates=["DRAPartitionableDevices"]
)

NODE = "node-1"
SEED_CLAIM = ("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")
THEIRS = "test-driver.cdi.k8s.io"
_SECONDS = 600


@pytest.fixture
def cluster(
    combination: Combination, cluster_spec: ClusterSpec, start_cluster: Callable[[ClusterSpec], Cluster]
) -> Iterator[LocalCluster]:
    """A cluster of these parts."""
    if combination.real_kubelet and os.geteuid() != 0:
        pytest.skip("real kubelets need root")
    cluster = start_cluster(replace(cluster_spec, name="interchange", nodes=[NODE], real=combination.real))
    assert isinstance(cluster, LocalCluster)
    yield cluster
    cluster.stop()


@pytest.fixture
def api(cluster: LocalCluster) -> Iterator[Api]:
    """Its API, once pods can be created."""
    with Api(cluster.kubeconfig, patience=cluster.spec.patience) as api:
        api.wait(SERVICE_ACCOUNTS, "default")
        yield api


@pytest.fixture
def gpus(combination: Combination, cluster: LocalCluster, api: Api) -> Iterator[GpuClaims]:
    """A driver with one A100 on the node: ours, or theirs with the same partitions published under its name."""
    if combination.driver == "ours":
        driver = cluster.driver(DriverSpec(profile="a100-40gb", nodes=[NODE]))
        driver.start()
        yield Gpus(driver)
        driver.stop()
        return
    with kubernetes_driver.running(cluster, cluster.home, api, NODE, THEIRS):
        api.create(*profiles.device_classes("a100-40gb", THEIRS), *_partitions(THEIRS))
        yield GpuClaims(THEIRS)


def _partitions(driver: str) -> list[dict[str, Any]]:
    """An A100 as our driver would publish it, for somebody else's: not with the node's name, see kubernetes_driver."""
    command = [sys.executable, "-m", "drakit_kind", "driver", "slices", "a100-40gb", "--node", NODE, "-o", "json"]
    printed = subprocess.run([*command, "--driver-name", driver], capture_output=True, check=True, timeout=60).stdout
    slices: list[dict[str, Any]] = json.loads(printed)["items"]
    for item in slices:
        spec = item["spec"]
        del spec["nodeName"]
        spec["pool"]["name"] = "a100"
        spec["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [_NODE_FIELD]}]}
    return slices


_NODE_FIELD = {"key": "metadata.name", "operator": "In", "values": [NODE]}


@pytest.mark.timeout(_SECONDS)
@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_four_partitions_share_a_gpu(combination: Combination, api: Api, gpus: GpuClaims) -> None:
    claim = gpus.partitions("four", *SEED_CLAIM)
    parameters = {"opaque": {"driver": gpus.name, "parameters": {"story": "four"}}}
    if combination.driver != "ours":
        claim["spec"]["devices"]["config"] = [parameters]
    api.create(claim, pod("user", "four"))
    api.wait_running("user")

    account = Ledger(api, gpus.name)
    account.check()
    devices = [name for _, name in account.holders]
    assert len(devices) == len(SEED_CLAIM)
    environment = api.environment("user")
    if combination.driver == "ours":
        assert set(devices) <= set(environment.values())
    else:
        assert environment["user_story"] == "four"

    api.create(gpus.whole("whole"), pod("waiting", "whole"))
    assert "cannot allocate all claims" in api.wait_event("waiting", "FailedScheduling")
    api.delete(PODS, "user")
    api.wait_gone(PODS, ["user"])
    api.wait_running("waiting")
    (held,) = Ledger(api, gpus.name).holders
    assert held[1] == "gpu-0"
    api.delete(PODS, "waiting")
    api.wait_gone(PODS, ["waiting"])
    api.wait_all(
        RESOURCE_CLAIMS, lambda seen: not any("allocation" in item.get("status", {}) for item in seen), what="free"
    )
