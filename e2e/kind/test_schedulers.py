"""drakit's scheduler as a pod of a real cluster: beside kube-scheduler, each with its own devices, or instead of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from drakit_client.resources import PODS, RESOURCE_CLAIMS, SERVICE_ACCOUNTS
from drakit_kind.cluster import ClusterSpec, Driver, DriverSpec
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import pod
from drakit_kind.kind.backend import SCHEDULER_NAME
from drakit_kind.testing.reported import reported
from drakit_kind.testing.settings.values import backend
from e2e.hardware import GpuClaims, Gpus, StartGpus
from e2e.interchange.actors import allocated_by
from e2e.ledger import Ledger, results

pytestmark = [
    pytest.mark.capability(
        "drakit's scheduler in a real cluster", source="KEP-4815", gates=["DRAPartitionableDevices"]
    ),
    pytest.mark.timeout(900),
]


@pytest.fixture(autouse=True)
def _in_kind(request: pytest.FixtureRequest) -> None:
    if backend(request.config) != "kind":
        pytest.skip("drakit's scheduler is a pod in kind clusters only: --drakit-cluster kind")


def test_each_of_two_schedulers_gives_out_partitions_of_a_driver_of_its_own(
    api: Api, gpus: StartGpus, node: str
) -> None:
    theirs = gpus(nodes=[node], name=f"theirs.{api.namespace}.example.com")
    ours = gpus(nodes=[node], name=f"ours.{api.namespace}.example.com")
    api.create(theirs.partitions("theirs", "3g.20gb"), pod("theirs", "theirs"))
    api.create(ours.partitions("ours", "3g.20gb"), pod("ours", "ours", schedulerName=SCHEDULER_NAME))
    api.wait_running("theirs", "ours")
    assert _given_by(api, "theirs") == (theirs.name, "kube-scheduler")
    assert _given_by(api, "ours") == (ours.name, SCHEDULER_NAME)
    for name in (theirs.name, ours.name):
        Ledger(api, name).check()


def _given_by(api: Api, claim: str) -> tuple[str, str]:
    """The driver whose device a claim has, and who wrote that into its status."""
    seen = api.get(RESOURCE_CLAIMS, claim)
    (driver,) = {result["driver"] for result in results(seen)}
    (manager,) = allocated_by(seen)
    return driver, manager


@dataclass(frozen=True)
class WithoutTheirs:
    """A cluster that has drakit's scheduler only."""

    cluster: Cluster
    api: Api
    drivers: list[Driver]


@pytest.fixture
def without_theirs(
    request: pytest.FixtureRequest, cluster_spec: ClusterSpec, start_cluster: Callable[[ClusterSpec], Cluster]
) -> Iterator[WithoutTheirs]:
    """Such a cluster for one test, with one node."""
    # After the shared cluster, for which all others wait; asked for here, as the test itself does not use it.
    request.getfixturevalue("cluster")
    spec = replace(cluster_spec, name="ours", nodes=["node-1"], real=cluster_spec.real - {"scheduler"})
    cluster = start_cluster(spec)
    own: list[Driver] = []
    with Api(cluster.kubeconfig, patience=spec.patience) as api, reported(request.node, cluster, api, own):
        yield WithoutTheirs(cluster, api, own)
    cluster.stop()


def test_a_cluster_without_kube_scheduler_has_drakits_as_the_default(without_theirs: WithoutTheirs) -> None:
    cluster, api = without_theirs.cluster, without_theirs.api
    names = [item["metadata"]["name"] for item in api.objects(PODS, "kube-system")]
    assert not any(name.startswith("kube-scheduler") for name in names)
    api.wait(SERVICE_ACCOUNTS, "default")
    driver = cluster.driver(DriverSpec(profile="a100-40gb", nodes=["node-1"]))
    without_theirs.drivers.append(driver)
    driver.start()
    _pods_share_a_gpu(api, Gpus(driver))
    driver.stop()


def _pods_share_a_gpu(api: Api, gpu: GpuClaims) -> None:
    api.create(gpu.partitions("mig", "1g.5gb", "2g.10gb"), pod("user", "mig"))
    api.wait_running("user")
    assert _given_by(api, "mig")[1] == SCHEDULER_NAME
    api.create(gpu.whole("whole"), pod("waiting", "whole"))
    assert "cannot allocate all claims" in api.wait_event("waiting", "FailedScheduling")
    for name in ("waiting", "user"):
        api.delete(PODS, name)
    api.wait_gone(PODS, ["waiting", "user"])
