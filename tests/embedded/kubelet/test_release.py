"""What the version and the gates of a simulated kubelet change: for plugins, for its node, for the status of pods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubelet import wire
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import as_claim
from drakit_client.connection import Connection
from drakit_client.resources import NODES, PODS, RESOURCE_CLAIMS
from drakit_embedded.kubelet import KubeletSimulator, NodeSpec, Release
from drakit_embedded.kubelet.claims import ClaimInfo

if TYPE_CHECKING:
    from tests.embedded.conftest import FakePlugin

Until = Callable[..., Awaitable[Any]]
StartKubelet = Callable[[Release], Awaitable[None]]

NODE = "n1"
BOTH = [wire.HEALTH_V1ALPHA1, wire.HEALTH_V1]
SKIPS = "DRAOptionalNodeOperations"
WEB_SOCKETS = "ExtendWebSocketsToKubelet"


@pytest.mark.parametrize(
    ("version", "gates", "offered", "called"),
    [
        ("1.37.1", {}, BOTH, wire.HEALTH_V1),
        ("1.37.1", {}, [wire.HEALTH_V1ALPHA1], wire.HEALTH_V1ALPHA1),
        ("1.37.1", {}, [wire.DRA_V1], None),
        ("1.37.1", {"ResourceHealthStatus": False, "ResourceHealthStatusMessage": False}, BOTH, None),
        ("1.36.3", {}, BOTH, wire.HEALTH_V1ALPHA1),
        ("1.36.3", {}, [wire.HEALTH_V1], wire.HEALTH_V1ALPHA1),  # as recorded: called without looking at the offer
        ("1.34.3", {}, BOTH, None),
        ("1.34.3", {"ResourceHealthStatus": True}, BOTH, wire.HEALTH_V1ALPHA1),
    ],
)
def test_which_health_service_a_kubelet_calls(
    version: str, gates: dict[str, bool], offered: list[str], called: str | None
) -> None:
    release = Release(version, FeatureGates(version.rpartition(".")[0], gates))
    assert release.health_version(offered) == called


@pytest.mark.parametrize(
    ("minor", "gates", "declared"),
    [
        ("1.37", {}, [WEB_SOCKETS]),
        ("1.37", {SKIPS: True}, [SKIPS, WEB_SOCKETS]),
        ("1.36", {"DRANodeAllocatableResources": True}, ["DRANodeAllocatableResources", WEB_SOCKETS]),
        ("1.36", {"DRANodeAllocatableResources": True, "AllBeta": False, "DRAPartitionableDevices": True}, []),
    ],
)
def test_what_a_kubelet_declares(minor: str, gates: dict[str, bool], declared: list[str]) -> None:
    assert Release("1.37.1", FeatureGates(minor, gates)).declared_features == declared


def test_a_kubelet_that_may_skip_nothing_refuses_claims_that_want_it() -> None:
    result = {"driver": "d", "pool": "p", "device": "x", "skipNodeOperations": ["*"]}
    claim = as_claim(
        {
            "metadata": {"name": "c", "namespace": "ns", "uid": "u"},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }
    )
    assert ClaimInfo.from_claim(claim).drivers["d"].does_skip("NodePrepareResources")
    with pytest.raises(ValueError, match="DRAOptionalNodeOperations feature gate is disabled on kubelet"):
        ClaimInfo.from_claim(claim, may_skip=False)


@pytest.fixture
async def start_kubelet(connection: Connection, short_path: Path) -> AsyncIterator[StartKubelet]:
    """Start the node's kubelet as a release, in place of the one that runs."""
    running: list[KubeletSimulator] = []

    async def start(release: Release) -> None:
        while running:
            await running.pop().stop()
        own = Connection(connection.server, token="of-the-tests")
        running.append(KubeletSimulator(own, [NodeSpec(NODE)], short_path, token="logs", release=release))
        await running[0].start()

    yield start
    for simulator in running:
        await simulator.stop()


async def _runs_a_claim(connection: Connection, until: Until, name: str) -> Object:
    """A pod with a claim, bound by hand; as it is when it runs."""
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    body = {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
    claim = await connection.create(RESOURCE_CLAIMS, body, "default")
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": name}]}}
    spec = {"containers": [container], "resourceClaims": [{"name": name, "resourceClaimName": name}]}
    pod = await connection.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": NODE, "device": "d"}
    user = {"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
    await connection.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, "default")
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    await connection.create(PODS, binding, "default", subresource="binding", name=name)

    async def running() -> Object | bool:
        seen = await connection.get(PODS, name, "default")
        return seen if seen["status"].get("phase") == "Running" else False

    found: Object = await until(running)
    return found


@pytest.mark.slow
async def test_an_older_kubelet_says_so_and_knows_no_health(
    connection: Connection,
    start_kubelet: StartKubelet,
    plugins: Callable[..., FakePlugin],
    short_path: Path,
    until: Until,
) -> None:
    await start_kubelet(Release("1.34.3", FeatureGates("1.34")))
    plugin = plugins(short_path / NODE)
    await plugin.start()
    await until(lambda: "NotifyRegistrationStatus" in plugin.names)
    node = await connection.get(NODES, NODE)
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.3"
    pod = await _runs_a_claim(connection, until, "old")
    assert "allocatedResourcesStatus" not in pod["status"]["containerStatuses"][0]
    assert "NodeWatchResources" not in plugin.names

    await start_kubelet(Release())
    await until(lambda: "NodeWatchResources" in plugin.names)
    node = await connection.get(NODES, NODE)
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.37.1"
    pod = await _runs_a_claim(connection, until, "new")
    assert "allocatedResourcesStatus" in pod["status"]["containerStatuses"][0]

    await start_kubelet(Release("1.34.3", FeatureGates("1.34")))

    async def without_health() -> bool:
        (status,) = (await connection.get(PODS, "new", "default"))["status"]["containerStatuses"]
        return "allocatedResourcesStatus" not in status

    await until(without_health, "the kubelet takes back what it does not report any more")


async def test_what_a_node_declared_goes_with_the_gate(connection: Connection, start_kubelet: StartKubelet) -> None:
    await start_kubelet(Release("1.37.1", FeatureGates("1.37", {SKIPS: True})))
    assert (await connection.get(NODES, NODE))["status"]["declaredFeatures"] == [SKIPS, WEB_SOCKETS]
    await start_kubelet(Release())
    assert (await connection.get(NODES, NODE))["status"]["declaredFeatures"] == [WEB_SOCKETS]
