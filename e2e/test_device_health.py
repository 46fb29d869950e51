"""A device fails and recovers: whoever runs the pod sees it in the pod's status, with what the driver says of it."""

from __future__ import annotations

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import PODS
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import pod
from e2e.hardware import StartGpus
from e2e.ledger import DevicesOf

pytestmark = pytest.mark.capability(
    "device health in the status of pods", source="KEP-4680", gates=["ResourceHealthStatus"]
)


def _reported(seen: Object) -> list[str]:
    """Return the health of each device in the status of a pod's container."""
    statuses = seen["status"]["containerStatuses"][0].get("allocatedResourcesStatus") or []
    return [each["health"] for status in statuses for each in status["resources"]]


def _becomes(api: Api, name: str, health: str) -> None:
    api.wait(PODS, name, lambda seen: _reported(seen) == [health], what=f"with a device that is {health}")


def test_a_device_that_fails_is_seen_in_the_status_of_its_pod_and_recovers(
    api: Api, gpus: StartGpus, devices_of: DevicesOf, node: str
) -> None:
    gpu = gpus(nodes=[node])
    for name in ("sick", "well"):
        api.create(gpu.partitions(name, "1g.5gb"), pod(name, name))
    api.wait_running("sick", "well")
    _becomes(api, "sick", "Healthy")
    (device,) = devices_of("sick")
    gpu.driver.set_health(node, device, "Unhealthy", "ECC errors")
    _becomes(api, "sick", "Unhealthy")
    _becomes(api, "well", "Healthy")
    gpu.driver.set_health(node, device, "Healthy")
    _becomes(api, "sick", "Healthy")


@pytest.mark.capability("device health with a message", source="KEP-4680", gates=["ResourceHealthStatusMessage"])
def test_what_the_driver_says_of_a_device_is_seen(api: Api, gpus: StartGpus, devices_of: DevicesOf, node: str) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("claim", "1g.5gb"), pod("user", "claim"))
    api.wait_running("user")
    (device,) = devices_of("claim")
    gpu.driver.set_health(node, device, "Unhealthy", "ECC errors")
    api.wait(PODS, "user", lambda seen: "ECC errors" in str(seen["status"]["containerStatuses"]), what="told why")


def test_a_device_that_no_driver_has_is_refused_with_those_that_there_are(gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    with pytest.raises(ClusterError, match=r"no device gpu-9 in pool .*; it has gpu-0, "):
        gpu.driver.set_health(node, "gpu-9", "Unhealthy")
