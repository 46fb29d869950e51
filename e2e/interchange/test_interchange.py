"""Seed 004's claim of four partitions, told by every combination of fake and real parts.

Each combination has to come to the same decisions: the partitions lie on one GPU of two, the container sees what its
driver says, a whole GPU has to wait for them, and everything is given back. A driver that is not ours prepares what is
published under its name, and what it publishes itself.
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

from drakit_client.resources import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, SERVICE_ACCOUNTS
from drakit_driver.profiles.reading import catalog
from drakit_kind.cluster import ClusterSpec, Driver, DriverSpec
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import claim, device_class, pod, request
from drakit_kind.local.backend import LocalCluster
from drakit_kind.testing.reported import reported
from e2e.four_partitions import SEED_CLAIM, gpu_of_all_four
from e2e.hardware import GpuClaims, Gpus
from e2e.interchange import actors, kubernetes_driver
from e2e.interchange.combination import COMBINATIONS, Combination
from e2e.ledger import Ledger, results

pytestmark = pytest.mark.capability(
    "interchangeable parts", source="KEP-4815, KEP-4381", gates=["DRAPartitionableDevices"]
)

NODE = "node-1"
THEIRS = "test-driver.cdi.k8s.io"
# The same program again, with devices of its own: selectors of partitions fail on those, as they have no attributes.
THEIR_PLAIN = "plain.test-driver.cdi.k8s.io"
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
def drivers() -> list[Driver]:
    """Those of ours that were started."""
    return []


@pytest.fixture
def api(request: pytest.FixtureRequest, cluster: LocalCluster, drivers: list[Driver]) -> Iterator[Api]:
    """Its API, once pods can be created."""
    with (
        Api(cluster.kubeconfig, patience=cluster.spec.patience) as api,
        reported(request.node, cluster, api, drivers),
    ):
        api.wait(SERVICE_ACCOUNTS, "default")
        yield api


@pytest.fixture
def gpus(combination: Combination, cluster: LocalCluster, api: Api, drivers: list[Driver]) -> Iterator[GpuClaims]:
    """A driver with two A100s on the node: ours, or theirs with the same partitions published under its name."""
    if combination.driver == "ours":
        driver = cluster.driver(DriverSpec(profile="a100-40gb", nodes=[NODE], gpus=2))
        drivers.append(driver)
        driver.start()
        yield Gpus(driver)
        driver.stop()
        return
    with kubernetes_driver.running(cluster, cluster.home, api, NODE, THEIRS, devices=0):
        api.create(*catalog.device_classes("a100-40gb", THEIRS), *_partitions(THEIRS))
        yield GpuClaims(THEIRS)


def _partitions(driver: str) -> list[dict[str, Any]]:
    """Two A100s as our driver publishes them, for somebody else's, which wants a selector; see kubernetes_driver."""
    command = [sys.executable, "-m", "drakit_kind", "driver", "slices", "a100-40gb", "--node", NODE, "-o", "json"]
    command += ["--gpus", "2", "--driver-name", driver]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
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
def test_four_partitions_share_a_gpu(
    combination: Combination, cluster: LocalCluster, api: Api, gpus: GpuClaims
) -> None:
    # One GPU has no room for all four any more: they have to go to the other one together.
    api.create(gpus.partitions("small", "1g.5gb"), pod("earlier", "small"))
    api.wait_running("earlier")
    four = gpus.partitions("four", *SEED_CLAIM)
    if combination.driver != "ours":
        four["spec"]["devices"]["config"] = [_parameters(gpus.name, "four")]
    api.create(four, pod("user", "four"))
    api.wait_running("user")
    assert actors.real_ones(cluster.kubeconfig, api, pod="user", claim="four") == combination.real

    stored = api.get(RESOURCE_CLAIMS, "four")
    gpu = gpu_of_all_four(Ledger(api, gpus.name), stored)
    devices = {result["device"] for result in results(stored)}
    environment = api.environment("user")
    if combination.driver == "ours":
        assert devices <= set(environment.values())
    else:
        assert environment["user_story"] == "four"

    api.create(gpus.whole("whole"), pod("waiting", "whole"))
    assert "cannot allocate all claims" in api.wait_event("waiting", "FailedScheduling")
    _ends(api, "user")
    api.wait_running("waiting")
    ((_, where, whole),) = _held(api, "whole")
    assert Ledger(api, gpus.name).devices[where, whole]["attributes"]["uuid"]["string"] == gpu
    _ends(api, "waiting")
    _ends(api, "earlier")
    if combination.driver != "ours":
        _their_own_devices_are_prepared(cluster, api)
    api.wait_all(
        RESOURCE_CLAIMS, lambda seen: not any("allocation" in item.get("status", {}) for item in seen), what="free"
    )


def _their_own_devices_are_prepared(cluster: LocalCluster, api: Api) -> None:
    """From what the driver publishes to what a container sees of it, and back."""
    with kubernetes_driver.running(cluster, cluster.home, api, NODE, THEIR_PLAIN, devices=2):
        (published,) = api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={THEIR_PLAIN}")
        assert published["spec"]["nodeName"] == NODE
        assert [device["name"] for device in published["spec"]["devices"]] == ["device-00", "device-01"]
        api.create(device_class("plain", f"device.driver == '{THEIR_PLAIN}'"))
        api.create(claim("plain", request("device", "plain"), config=[_parameters(THEIR_PLAIN, "plain")]))
        api.create(pod("plain", "plain"))
        api.wait_running("plain")
        stored = api.get(RESOURCE_CLAIMS, "plain")
        assert _held(api, "plain") == [(THEIR_PLAIN, published["spec"]["pool"]["name"], "device-00")]
        assert api.environment("plain")["user_story"] == "plain"
        files = kubernetes_driver.cdi_directory(cluster.home, NODE)
        assert [path.name for path in files.glob(f"{THEIR_PLAIN}-{stored['metadata']['uid']}-*")] != []
        _ends(api, "plain")
        assert list(files.glob(f"{THEIR_PLAIN}-*")) == []


def _held(api: Api, name: str) -> list[tuple[str, str, str]]:
    """The devices of a claim: driver, pool, device."""
    found = results(api.get(RESOURCE_CLAIMS, name))
    return [(result["driver"], result["pool"], result["device"]) for result in found]


def _parameters(driver: str, story: str) -> dict[str, Any]:
    return {"opaque": {"driver": driver, "parameters": {"story": story}}}


def _ends(api: Api, name: str) -> None:
    api.delete(PODS, name)
    api.wait_gone(PODS, [name])
