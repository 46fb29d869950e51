"""What is served is what kube-apiserver 1.37.1 serves: clients such as kube-controller-manager list all of it at start.

``vectors/api/discovery.json`` has the resources of the real server's aggregated discovery with their subresources.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.discovery import AGGREGATED

RECORDED = Path(__file__).parents[1] / "vectors" / "api" / "discovery.json"
OLDER = {f"resource.k8s.io/{version}": "true" for version in ("v1alpha3", "v1beta1", "v1beta2")}
# As docs/clusters.md says: no custom resources, no aggregation; one version of what autoscales; no status of pools.
NOT_SERVED = {
    "apiextensions.k8s.io/v1/customresourcedefinitions",
    "apiregistration.k8s.io/v1/apiservices",
    "autoscaling/v1/horizontalpodautoscalers",
    "resource.k8s.io/v1alpha3/resourcepoolstatusrequests",
}
# Things that are done to running containers, and proxies to where nothing listens.
NOT_SERVED_OF = {
    "/v1/nodes": {"proxy"},
    "/v1/pods": {"attach", "ephemeralcontainers", "exec", "portforward", "proxy", "resize"},
    "/v1/services": {"proxy"},
}


async def _served() -> dict[str, list[str]]:
    config = ServerConfig(token="t", runtime_config=OLDER)
    headers = {"Authorization": "Bearer t", "Accept": AGGREGATED}
    found = {}
    async with Server(config) as server, aiohttp.ClientSession(headers=headers) as session:
        for path in ("/api", "/apis"):
            async with session.get(server.url + path) as response:
                groups: list[dict[str, Any]] = (await response.json(content_type=None))["items"]
            for group in groups:
                for version in group["versions"]:
                    where = f"{group['metadata'].get('name', '')}/{version['version']}"
                    for resource in version["resources"]:
                        below = resource.get("subresources", [])
                        found[f"{where}/{resource['resource']}"] = sorted(entry["subresource"] for entry in below)
    return found


async def test_every_resource_of_the_real_server_is_served_but_those_that_are_documented() -> None:
    real = json.loads(RECORDED.read_bytes())["resources"]
    expected = {
        name: [entry for entry in below if entry not in NOT_SERVED_OF.get(name, ())]
        for name, below in real.items()
        if name not in NOT_SERVED
    }
    assert await _served() == expected


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("certificatesigningrequests", ["spec.signerName"]),
        ("clustertrustbundles", ["spec.signerName"]),
        ("podcertificaterequests", ["spec.signerName", "spec.podName", "spec.nodeName"]),
    ],
)
async def test_certificates_are_selected_as_kube_controller_manager_does(path: str, fields: list[str]) -> None:
    """Selectable fields after k8s.io/kubernetes/pkg/apis/certificates/v1/conversion.go."""
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        for field in fields:
            listed = await connection.json(
                "GET", f"/apis/certificates.k8s.io/v1/{path}", params={"fieldSelector": f"{field}=a.example/b"}
            )
            assert listed["items"] == []
        with pytest.raises(ApiError, match=r"spec\.request"):
            await connection.json(
                "GET", f"/apis/certificates.k8s.io/v1/{path}", params={"fieldSelector": "spec.request=x"}
            )


async def test_a_trust_bundle_is_named_after_its_signer() -> None:
    """As kube-controller-manager publishes that of the API server's serving certificates."""
    signer = "kubernetes.io/kube-apiserver-serving"
    name = f"{signer.replace('/', ':')}:86a009932a7e0acd"
    bundle = {"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": "PEM"}}
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        path = "/apis/certificates.k8s.io/v1/clustertrustbundles"
        await connection.json("POST", path, bundle)
        listed = await connection.json("GET", path, params={"fieldSelector": f"spec.signerName={signer}"})
        assert [item["metadata"]["name"] for item in listed["items"]] == [name]
