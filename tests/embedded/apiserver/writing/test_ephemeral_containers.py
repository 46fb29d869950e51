"""The subresource ``ephemeralcontainers`` of pods, which adds containers to one that runs."""

from __future__ import annotations

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError

PODS = "/api/v1/namespaces/default/pods"
ADDED = {"name": "e", "image": "x"}


@pytest.fixture
async def path(connection: Connection) -> str:
    """The subresource of a pod."""
    await connection.json("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await connection.json("POST", PODS, pod)
    return f"{PODS}/p/ephemeralcontainers"


async def patched(connection: Connection, path: str, *containers: Object, **more: Object) -> Object:
    body = {"spec": {"ephemeralContainers": list(containers)}, **more}
    return await connection.json("PATCH", path, body, content_type="application/merge-patch+json")


async def test_a_container_is_added_and_nothing_else_changes(connection: Connection, path: str) -> None:
    before = await connection.json("GET", f"{PODS}/p")
    after = await patched(connection, path, ADDED, metadata={"labels": {"a": "b"}})
    [added] = after["spec"].pop("ephemeralContainers")
    assert added == {
        **ADDED,
        "imagePullPolicy": "Always",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    assert after["spec"] == before["spec"]
    assert "labels" not in after["metadata"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert {entry.get("subresource") for entry in after["metadata"]["managedFields"]} == {None, "ephemeralcontainers"}


@pytest.mark.parametrize(
    ("containers", "message"),
    [
        ([], 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed\n'),
        ([{**ADDED, "image": "y"}],
         'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be changed\n'),
        ([ADDED, {"name": "f"}], "spec.ephemeralContainers[1].image: Required value"),
        ([ADDED, {"name": "c", "image": "x"}], 'spec.ephemeralContainers[1].name: Duplicate value: "c"'),
    ],
)  # fmt: skip
async def test_containers_can_only_be_added(
    connection: Connection, path: str, containers: list[Object], message: str
) -> None:
    await patched(connection, path, ADDED)
    with pytest.raises(ApiError) as raised:
        await patched(connection, path, *containers)
    assert raised.value.code == 422
    assert message in raised.value.message


async def test_discovery_shows_it(connection: Connection) -> None:
    listed = (await connection.json("GET", "/api/v1"))["resources"]
    [found] = [each for each in listed if each["name"] == "pods/ephemeralcontainers"]
    assert (found["kind"], found["verbs"]) == ("Pod", ["get", "patch", "update"])
