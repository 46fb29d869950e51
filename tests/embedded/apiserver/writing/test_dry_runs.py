"""A dry run of anything is answered as if, and changes nothing; every verb that writes knows what a dry run is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.replay import RUNTIME_CONFIG

TOKEN = "of-the-tests"
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}
# Nothing is written by these, and they take no ``dryRun`` at all.
CONNECTED = ("attach", "exec", "portforward")
JSON = {"Content-Type": "application/json"}
MERGE = {"Content-Type": "application/merge-patch+json"}
NAMESPACE = "/api/v1/namespaces/default"
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
CLAIM = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
# Of each collection, an object that it takes.
OBJECTS: dict[str, Object] = {
    "/api/v1/nodes": {"metadata": {"name": "a"}},
    "/api/v1/namespaces": {"metadata": {"name": "a"}},
    f"{NAMESPACE}/configmaps": {"metadata": {"name": "a"}, "data": {"k": "v"}},
    f"{NAMESPACE}/pods": POD,
    f"{NAMESPACE}/serviceaccounts": {"metadata": {"name": "a"}},
    "/apis/apps/v1/namespaces/default/deployments": {
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    },
    "/apis/resource.k8s.io/v1/deviceclasses": {"metadata": {"name": "a"}, "spec": {}},
    "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims": {
        "metadata": {"name": "a"},
        "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "c"}]}},
    },
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates": {
        "metadata": {"name": "a"},
        "spec": {"spec": CLAIM},
    },
}
# What can be done to some of these objects only: method, path below the object, body.
SUBRESOURCES: dict[str, list[tuple[str, str, Object]]] = {
    "pods": [
        ("POST", "/binding", {"metadata": {"name": "a"}, "target": {"name": "n"}}),
        ("POST", "/eviction", {"metadata": {"name": "a"}}),
        ("PUT", "/status", {"metadata": {"name": "a"}, "status": {"phase": "Running"}}),
    ],
    "namespaces": [("PUT", "/finalize", {"metadata": {"name": "a"}, "spec": {}})],
    "serviceaccounts": [("POST", "/token", {"spec": {}})],
    "deployments": [
        ("PUT", "/scale", {"metadata": {"name": "a"}, "spec": {"replicas": 3}}),
        ("PATCH", "/scale", {"spec": {"replicas": 4}}),
        ("PATCH", "/status", {"status": {"replicas": 4}}),
    ],
}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        Server(ServerConfig(token=TOKEN, runtime_config=RUNTIME_CONFIG)) as server,
        aiohttp.ClientSession(server.url, headers=headers) as client,
    ):
        yield client


async def writes(session: aiohttp.ClientSession) -> list[tuple[str, str]]:
    """Method and path of everything that discovery says can be written."""
    groups = (await (await session.get("/apis")).json())["groups"]
    roots = ["/api/v1", *(f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"])]
    found = []
    for root in roots:
        for resource in (await (await session.get(root)).json())["resources"]:
            plural, _, below = resource["name"].partition("/")
            if below in CONNECTED:
                continue
            collection = f"{root}/namespaces/default/{plural}" if resource["namespaced"] else f"{root}/{plural}"
            for verb in METHODS.keys() & set(resource["verbs"]):
                on_collection = verb == "deletecollection" or (verb == "create" and not below)
                path = collection if on_collection else f"{collection}/a/{below}".rstrip("/")
                found.append((METHODS[verb], path))
    return found


@pytest.mark.slow
async def test_every_verb_that_writes_asks_how_far_it_is_to_go(session: aiohttp.ClientSession) -> None:
    asked = await writes(session)
    assert len(asked) > 300
    overlooked = {}
    for method, path in asked:
        headers = MERGE if method == "PATCH" else JSON
        async with session.request(method, f"{path}?dryRun=x", headers=headers) as response:
            text = await response.text()
        if response.status != 422 or "dryRun: Unsupported value" not in text:
            overlooked[method, path] = response.status, text
    assert overlooked == {}


async def version(session: aiohttp.ClientSession) -> str:
    """The version that the store has come to."""
    listed = await (await session.get("/api/v1/secrets?limit=1")).json()
    return str(listed["metadata"]["resourceVersion"])


@pytest.mark.parametrize("collection", OBJECTS, ids=lambda path: str(path).rpartition("/")[2])
async def test_a_dry_run_changes_nothing(session: aiohttp.ClientSession, collection: str) -> None:
    obj = OBJECTS[collection]
    async with session.post(collection, json=obj) as response:
        assert response.status == 201, await response.text()
        stored = await response.json()
    before = await version(session)
    changed = {**stored, "metadata": {**stored["metadata"], "labels": {"x": "y"}}}
    deletions: list[tuple[str, str, Any]] = [("DELETE", "/a", None), ("DELETE", "/a", {"gracePeriodSeconds": 0})]
    if not collection.endswith("/namespaces"):
        deletions += [("DELETE", "", None), ("DELETE", "", {"dryRun": ["All"]})]
    asked: list[tuple[str, str, Any]] = [
        ("POST", "", {**obj, "metadata": {"name": "b"}}),
        ("POST", "", {**obj, "metadata": {"generateName": "b-"}}),
        ("PUT", "/a", changed),
        ("PATCH", "/a", {"metadata": {"labels": {"x": "y"}, "finalizers": ["a/b"]}}),
        *deletions,
        *((method, f"/a{below}", body) for method, below, body in SUBRESOURCES.get(collection.rpartition("/")[2], ())),
    ]
    for method, below, body in asked:
        headers = MERGE if method == "PATCH" else {}
        query = "" if body == {"dryRun": ["All"]} else "?dryRun=All"
        if method == "DELETE" and body is not None:
            # With a body, the query is not looked at.
            body = {**body, "dryRun": ["All"]}
        async with session.request(method, f"{collection}{below}{query}", json=body, headers=headers) as response:
            assert response.status < 300, (method, below, await response.text())
        assert await version(session) == before, (method, below)
    assert await (await session.get(f"{collection}/a")).json() == stored


async def test_a_dry_run_of_the_old_collection_of_bindings_binds_nothing(session: aiohttp.ClientSession) -> None:
    await session.post(f"{NAMESPACE}/pods", json=POD)
    before = await version(session)
    binding = {"metadata": {"name": "a"}, "target": {"name": "n"}}
    async with session.post(f"{NAMESPACE}/bindings?dryRun=All", json=binding) as response:
        assert response.status == 201
    assert await version(session) == before
