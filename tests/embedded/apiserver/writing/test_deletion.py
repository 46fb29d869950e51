"""Deleting: preconditions, finalizers, grace, propagation, and many at once."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Conflict, Invalid, NotFound

FINALIZER = "example.com/wait"


def config_map(name: str, **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}}


async def bound_pod(connection: Connection, name: str = "p", **spec: Any) -> Object:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    await connection.create(resources.PODS, body, "default")
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}
    await connection.create(resources.PODS, binding, "default", name=name, subresource="binding")
    return await connection.get(resources.PODS, name, "default")


async def exists(connection: Connection, resource: resources.Resource, name: str) -> bool:
    try:
        await connection.get(resource, name, "default")
    except NotFound:
        return False
    return True


async def test_a_deleted_object_is_gone_and_the_answer_names_it(connection: Connection) -> None:
    made = await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    answer = await connection.delete(resources.CONFIG_MAPS, "a", "default")
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert not await exists(connection, resources.CONFIG_MAPS, "a")
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await connection.delete(resources.CONFIG_MAPS, "a", "default")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"uid": "x"}, "the UID in the precondition (x) does not match the UID in record", id="uid"),
        pytest.param(
            {"resource_version": "1"},
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record",
            id="version",
        ),
    ],
)
async def test_a_precondition_that_fails_deletes_nothing(connection: Connection, options: Any, words: str) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    with pytest.raises(Conflict) as refused:
        await connection.delete(resources.CONFIG_MAPS, "a", "default", **options)
    assert words in refused.value.message
    assert await exists(connection, resources.CONFIG_MAPS, "a")


async def test_an_object_with_a_finalizer_waits_for_it(connection: Connection) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a", finalizers=[FINALIZER]), "default")
    answer = await connection.delete(resources.CONFIG_MAPS, "a", "default")
    assert answer["metadata"]["deletionTimestamp"]
    added = {"metadata": {"finalizers": [FINALIZER, "example.com/late"]}}
    with pytest.raises(Invalid, match="no new finalizers can be added if the object is being deleted"):
        await connection.patch(resources.CONFIG_MAPS, "a", added, "default")
    await connection.patch(resources.CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, "default")
    assert not await exists(connection, resources.CONFIG_MAPS, "a")


async def test_deleting_twice_does_not_start_again(connection: Connection) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a", finalizers=[FINALIZER]), "default")
    first = await connection.delete(resources.CONFIG_MAPS, "a", "default")
    assert await connection.delete(resources.CONFIG_MAPS, "a", "default") == first


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [
        pytest.param("Foreground", ["foregroundDeletion"], id="foreground"),
        pytest.param("Orphan", ["orphan"], id="orphan"),
        pytest.param("Background", None, id="background"),
    ],
)
async def test_the_propagation_policy_asks_the_garbage_collector(
    connection: Connection, policy: Any, finalizers: list[str] | None
) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    await connection.delete(resources.CONFIG_MAPS, "a", "default", propagation=policy)
    if finalizers is None:
        assert not await exists(connection, resources.CONFIG_MAPS, "a")
    else:
        left = await connection.get(resources.CONFIG_MAPS, "a", "default")
        assert left["metadata"]["finalizers"] == finalizers
        assert left["metadata"]["deletionTimestamp"]


async def test_an_unknown_propagation_policy_is_refused(connection: Connection) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    with pytest.raises(Invalid, match="propagationPolicy: Unsupported value"):
        # The server must refuse what our types refuse, too: other clients have other types.
        await connection.delete(resources.CONFIG_MAPS, "a", "default", propagation="Sideways")  # type: ignore[arg-type]


async def test_a_pod_on_a_node_is_left_to_its_kubelet(connection: Connection) -> None:
    pod = await bound_pod(connection)
    answer = await connection.delete(resources.PODS, "p", "default")
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert await exists(connection, resources.PODS, "p")
    # A second request can only shorten the time.
    again = await connection.delete(resources.PODS, "p", "default", grace_period_seconds=100)
    assert again["metadata"]["deletionGracePeriodSeconds"] == 30
    shorter = await connection.delete(resources.PODS, "p", "default", grace_period_seconds=5)
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    with pytest.raises(Conflict):
        await connection.delete(resources.PODS, "p", "default", uid="another", grace_period_seconds=0)
    await connection.delete(resources.PODS, "p", "default", uid=pod["metadata"]["uid"], grace_period_seconds=0)
    assert not await exists(connection, resources.PODS, "p")


@pytest.mark.parametrize(("seconds", "later"), [(2**63 - 1, -1), (10**11, 7766279631)], ids=["largest", "3000 years"])
async def test_a_time_that_go_cannot_count_is_what_go_makes_of_it(
    connection: Connection, seconds: int, later: int
) -> None:
    """``time.Second * time.Duration(seconds)`` has 64 bits of nanoseconds (BeforeDelete in registry/rest/delete.go)."""
    await bound_pod(connection)
    before = int(time.time())
    metadata = (await connection.delete(resources.PODS, "p", "default", grace_period_seconds=seconds))["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == seconds
    at = datetime.fromisoformat(metadata["deletionTimestamp"].replace("Z", "+00:00")).timestamp()
    assert before + later <= at <= int(time.time()) + later


async def test_a_pod_without_node_is_deleted_at_once(connection: Connection) -> None:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await connection.create(resources.PODS, body, "default")
    await connection.delete(resources.PODS, "p", "default")
    assert not await exists(connection, resources.PODS, "p")


async def test_a_finished_pod_is_deleted_at_once(connection: Connection) -> None:
    pod = await bound_pod(connection)
    await connection.replace_status(resources.PODS, {**pod, "status": {"phase": "Succeeded"}}, "default")
    await connection.delete(resources.PODS, "p", "default")
    assert not await exists(connection, resources.PODS, "p")


async def test_a_deleted_pod_keeps_waiting_for_finalizers_when_its_kubelet_is_done(connection: Connection) -> None:
    await bound_pod(connection)
    await connection.patch(resources.PODS, "p", {"metadata": {"finalizers": [FINALIZER]}}, "default")
    await connection.delete(resources.PODS, "p", "default")
    await connection.delete(resources.PODS, "p", "default", grace_period_seconds=0)
    assert await exists(connection, resources.PODS, "p")
    await connection.patch(resources.PODS, "p", {"metadata": {"finalizers": []}}, "default")
    assert not await exists(connection, resources.PODS, "p")


async def test_eviction_deletes_with_a_reason(connection: Connection) -> None:
    await bound_pod(connection)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    await connection.create(resources.PODS, eviction, "default", name="p", subresource="eviction")
    pod = await connection.get(resources.PODS, "p", "default")
    assert pod["metadata"]["deletionTimestamp"]
    assert "DisruptionTarget" in [condition["type"] for condition in pod["status"]["conditions"]]


async def test_a_namespace_takes_nothing_new_while_it_is_deleted(connection: Connection) -> None:
    await connection.create(resources.NAMESPACES, {"metadata": {"name": "brief"}})
    left = await connection.delete(resources.NAMESPACES, "brief")
    assert left["status"]["phase"] == "Terminating"
    with pytest.raises(ApiError, match="because it is being terminated") as refused:
        await connection.create(resources.CONFIG_MAPS, config_map("a"), "brief")
    assert refused.value.code == 403
    assert [cause["reason"] for cause in refused.value.causes] == ["NamespaceTerminating"]
    await connection.json("PUT", "/api/v1/namespaces/brief/finalize", {**left, "spec": {}})
    with pytest.raises(NotFound):
        await connection.get(resources.NAMESPACES, "brief")


@pytest.mark.parametrize("name", ["default", "kube-public", "kube-system"])
async def test_a_namespace_that_every_cluster_has_stays(connection: Connection, name: str) -> None:
    with pytest.raises(ApiError, match=f'namespaces "{name}" is forbidden: this namespace may not be deleted'):
        await connection.delete(resources.NAMESPACES, name)
    assert (await connection.get(resources.NAMESPACES, name))["status"]["phase"] == "Active"


async def test_a_collection_is_deleted_by_selector(connection: Connection) -> None:
    for index in range(4):
        await connection.create(
            resources.CONFIG_MAPS, config_map(f"a{index}", labels={"odd": str(index % 2)}), "default"
        )
    deleted = await connection.json("DELETE", resources.CONFIG_MAPS.path("default"), params={"labelSelector": "odd=1"})
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a1", "a3"]
    left = await connection.list(resources.CONFIG_MAPS, "default")
    assert [item["metadata"]["name"] for item in left["items"]] == ["a0", "a2"]
