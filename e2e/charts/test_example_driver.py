"""The chart of Kubernetes' example driver installs as it is; its policy and its webhook hold, and its demos run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError
from drakit_client.resources import (
    DEVICE_CLASSES,
    NAMESPACES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICES,
)
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import claim, request
from drakit_kind.local.backend import LocalCluster
from drakit_kind.processes.ports import free_port
from e2e import programs
from e2e.charts import cert_manager, example_driver
from e2e.charts.example_driver import FULL_NAME, NAME, Source

pytestmark = pytest.mark.capability("charts: a driver with a policy and a webhook", source="dra-example-driver")

_VALUES = {"webhook.enabled": "true"}
# Those that the chart's own defaults are for. ``extended-resource-request`` needs a scheduler that backs these with
# devices (docs/clusters.md).
_DEMOS = (
    "admin-access",
    "basic-multiple-requests",
    "basic-resourceclaim-opaque-config",
    "basic-resourceclaimtemplate",
    "basic-shared-claim-across-containers",
    "basic-shared-claim-across-pods",
    "cel-selector",
    "initcontainer-shared-gpu",
    "prioritized-alternatives",
)


@pytest.fixture
def source() -> Source:
    return Source.found()


@pytest.fixture
def home(cluster: Cluster) -> ClusterHome:
    if not isinstance(cluster, LocalCluster) or cluster.spec.real:
        pytest.skip("its programs run beside simulated kubelets, and answer as a Service's endpoint on this machine")
    return cluster.home


@pytest.fixture
def webhook(source: Source, home: ClusterHome, cluster: Cluster, api: Api, tmp_path: Path) -> Iterator[None]:
    """The installed chart, with its webhook in force."""
    with cert_manager.defined(api), example_driver.installed(source, cluster, api.namespace, _VALUES):
        pair = cert_manager.issue(api, f"{FULL_NAME}-webhook-cert", tmp_path / "authority")
        port = free_port()
        address = {"metadata": {"annotations": {"drakit.dev/address": f"127.0.0.1:{port}"}}}
        api.patch(SERVICES, f"{FULL_NAME}-webhook", address)
        command = [source.program("dra-example-webhook"), f"--tls-cert-file={pair.certificate}"]
        command += [f"--tls-private-key-file={pair.key}", f"--port={port}", f"--driver-name={NAME}"]
        with programs.running(command, tmp_path / "webhook.log"):
            example_driver.wait_for(port)
            yield


def _configured(name: str, interval: str) -> Object:
    sharing = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}
    parameters = {"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig", "sharing": sharing}
    configured = {"requests": ["gpu"], "opaque": {"driver": NAME, "parameters": parameters}}
    return claim(name, request("gpu", NAME), config=[configured])


def _slice(node: str) -> Object:
    spec = {"driver": NAME, "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"mine-on-{node}"},
        "spec": {**spec, "devices": [{"name": "gpu-0"}]},
    }


@pytest.mark.usefixtures("webhook")
def test_a_claim_with_parameters_that_the_driver_does_not_know_is_refused_by_its_webhook(api: Api) -> None:
    api.create(_configured("good", "Long"))
    with pytest.raises(ApiError, match="unknown time-slice interval: Forever") as refused:
        api.create(_configured("bad", "Forever"))
    assert 'admission webhook "dra.example.com" denied the request' in str(refused.value)
    template = {**_configured("bad", "Forever"), "kind": "ResourceClaimTemplate"}
    with pytest.raises(ApiError, match="unknown time-slice interval: Forever"):
        api.create({**template, "spec": {"spec": template["spec"]}}, resource=RESOURCE_CLAIM_TEMPLATES)
    assert [each["metadata"]["name"] for each in api.objects(RESOURCE_CLAIMS)] == ["good"]


def test_a_driver_writes_slices_of_its_own_node_only(
    source: Source, home: ClusterHome, cluster: Cluster, api: Api, tmp_path: Path
) -> None:
    here, elsewhere = cluster.spec.nodes[:2]
    with example_driver.installed(source, cluster, api.namespace, {}):
        pod = example_driver.pod_on(api, here, "kubeletplugin")
        with Api(example_driver.identity_of(cluster, pod, tmp_path)) as driver:
            driver.create(_slice(here))
            wrong = f"this user running on node '{here}' may not modify resourceslices on node '{elsewhere}'"
            with pytest.raises(ApiError, match=wrong):
                driver.create(_slice(elsewhere))
            api.create(_slice(elsewhere))
            with pytest.raises(ApiError, match=wrong):
                driver.delete(RESOURCE_SLICES, f"mine-on-{elsewhere}")
            everywhere = _slice(here)
            everywhere["metadata"]["name"], everywhere["spec"]["allNodes"] = "everywhere", True
            del everywhere["spec"]["nodeName"]
            with pytest.raises(ApiError, match="may not modify cluster resourceslices"):
                driver.create(everywhere)
            driver.delete(RESOURCE_SLICES, f"mine-on-{here}")
        api.delete(RESOURCE_SLICES, f"mine-on-{elsewhere}")
    assert NAME not in {each["metadata"]["name"] for each in api.objects(DEVICE_CLASSES)}


def test_demos_run_with_the_driver_beside_a_simulated_kubelet(
    source: Source, webhook: None, home: ClusterHome, cluster: Cluster, api: Api, tmp_path: Path
) -> None:
    node = cluster.spec.nodes[0]
    pod = example_driver.pod_on(api, node, "kubeletplugin")
    with example_driver.driver_on(source, cluster, home, pod, tmp_path):
        api.wait_all(RESOURCE_SLICES, lambda seen: _devices(seen) == 8, what="published by the example driver")
        for demo in _DEMOS:
            objects = source.demo(demo)
            try:
                pods = example_driver.create(api, objects)
                for running in api.wait_running(*pods, namespace=demo):
                    for container in running["spec"]["containers"]:
                        seen = api.environment(running["metadata"]["name"], container["name"], demo)
                        assert any(name.startswith("GPU_DEVICE_") for name in seen), (demo, container["name"])
            finally:
                api.delete(NAMESPACES, demo)
                api.wait_gone(NAMESPACES, [demo], timeout=60)


def _devices(slices: list[Object]) -> int:
    return sum(len(each["spec"].get("devices") or ()) for each in slices if each["spec"]["driver"] == NAME)
