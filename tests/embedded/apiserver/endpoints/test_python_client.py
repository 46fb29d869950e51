"""The official Python client, as a test suite or an operator written with it uses the embedded API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, dynamic, utils, watch

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig

Story = Callable[[client.ApiClient], Any]
CLAIM = {
    "metadata": {"name": "c", "labels": {"a": "b"}},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}},
}
POD = {"containers": [{"name": "c", "image": "i"}]}
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
    },
}


@pytest.fixture
async def run() -> AsyncIterator[Callable[[Story], Any]]:
    """Runs a blocking story in a thread, with a client of a server."""
    async with Server(ServerConfig(token="t")) as server:
        configuration = client.Configuration(host=server.url, api_key={"authorization": "Bearer t"})
        with client.ApiClient(configuration) as api:
            yield lambda story: asyncio.wait_for(asyncio.to_thread(story, api), 20)


@pytest.mark.slow
async def test_claims_are_created_watched_changed_and_deleted(run: Callable[[Story], Any]) -> None:
    def story(api: client.ApiClient) -> list[tuple[str, Any]]:
        claims: Any = client.ResourceV1Api(api)
        made = claims.create_namespaced_resource_claim("default", CLAIM)
        assert made.spec.devices.requests[0].exactly.allocation_mode == "ExactCount"
        claims.patch_namespaced_resource_claim("c", "default", {"metadata": {"labels": {"a": None, "n": "1"}}})
        claims.delete_namespaced_resource_claim("c", "default")
        # The client guesses a type that it does not have: there are claims in core/v1, too.
        watching = watch.Watch(return_type="ResourceV1ResourceClaim")
        version = made.metadata.resource_version
        events = watching.stream(claims.list_namespaced_resource_claim, "default", resource_version=version)
        seen = []
        for event in events:
            seen.append((event["type"], event["object"].metadata.labels))
            if event["type"] == "DELETED":
                watching.stop()
        return seen

    assert await run(story) == [("MODIFIED", {"n": "1"}), ("DELETED", {"n": "1"})]


@pytest.mark.slow
async def test_objects_of_a_file_are_created(run: Callable[[Story], Any], tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}\n---\n"
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: s}}\n"
    )
    made = await run(lambda api: utils.create_from_yaml(api, str(file)))
    assert [type(obj).__name__ for objects in made for obj in objects] == ["V1ConfigMap", "V1ServiceAccount"]


async def test_the_dynamic_client_finds_and_applies(run: Callable[[Story], Any]) -> None:
    def story(api: client.ApiClient) -> Object:
        claims = dynamic.DynamicClient(api).resources.get(api_version="resource.k8s.io/v1", kind="ResourceClaim")
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **CLAIM}
        claims.server_side_apply(body=body, name="c", namespace="default", field_manager="me")
        found: Object = claims.get(name="c", namespace="default").to_dict()
        return found

    found = await run(story)
    assert found["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    assert [entry["manager"] for entry in found["metadata"]["managedFields"]] == ["me"]


@pytest.mark.slow
async def test_a_scale_of_none_has_no_number(run: Callable[[Story], Any]) -> None:
    def story(api: client.ApiClient) -> Any:
        apps: Any = client.AppsV1Api(api)
        apps.create_namespaced_deployment("default", DEPLOYMENT)
        return apps.patch_namespaced_deployment_scale("d", "default", {"spec": {"replicas": 0}}).spec.replicas

    assert await run(story) is None


@pytest.mark.slow
async def test_a_pod_without_a_node_has_no_log(run: Callable[[Story], Any]) -> None:
    def story(api: client.ApiClient) -> Any:
        core: Any = client.CoreV1Api(api)
        core.create_namespaced_pod("default", {"metadata": {"name": "p"}, "spec": POD})
        return core.read_namespaced_pod_log_with_http_info("p", "default")[1]

    assert await run(story) == 204
