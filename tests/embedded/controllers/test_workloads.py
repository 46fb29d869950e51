"""Stories of replica sets, deployments, owners and namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound, api_error
from drakit_client.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICE_ACCOUNTS,
    Resource,
)
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.podgc import PodGarbageCollector
from drakit_embedded.controllers.pods import slow_start
from drakit_embedded.controllers.replicasets import ReplicaSetController

Until = Callable[..., Awaitable[Any]]
T = TypeVar("T")
NS = "default"
LABELS = {"app": "x"}


def template(image: str = "one") -> Object:
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": image}]}}


def workload(name: str, replicas: int, **spec: Any) -> Object:
    selector = {"matchLabels": LABELS}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": selector, "template": template(), **spec},
    }


class Story:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def pods(self) -> list[Object]:
        listed = (await self.connection.list(PODS, NS))["items"]
        return [pod for pod in listed if "deletionTimestamp" not in pod["metadata"]]

    async def count(self) -> int:
        return len(await self.pods())

    async def make_ready(self) -> None:
        """Play the kubelet: every pod is Running and Ready."""
        for pod in await self.pods():
            if pod.get("status", {}).get("phase") != "Running":
                condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                patch = {"status": {"phase": "Running", "conditions": [condition]}}
                await self.connection.patch(PODS, pod["metadata"]["name"], patch, NS, subresource="status")

    async def status(self, resource: Resource, name: str) -> Object:
        status: Object = (await self.connection.get(resource, name, NS)).get("status", {})
        return status

    async def sets(self) -> dict[str, int]:
        """Image and size of each replica set."""
        listed = (await self.connection.list(REPLICA_SETS, NS))["items"]
        return {s["spec"]["template"]["spec"]["containers"][0]["image"]: s["spec"]["replicas"] for s in listed}

    async def condition(self, name: str, kind: str) -> Object:
        conditions = (await self.status(DEPLOYMENTS, name)).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == kind), {})

    async def exists(self, resource: Resource, name: str, namespace: str | None = NS) -> bool:
        try:
            await self.connection.get(resource, name, namespace)
        except NotFound:
            return False
        return True

    async def gone(self, resource: Resource, name: str, namespace: str | None = NS) -> bool:
        return not await self.exists(resource, name, namespace)


@pytest.fixture
def story(connection: Connection) -> Story:
    return Story(connection)


def equals(function: Callable[[], Awaitable[T]], expected: T) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return await function() == expected

    return check


@pytest.mark.slow
async def test_a_replica_set_has_as_many_pods_as_it_says(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(REPLICA_SETS, workload("rs", 3), NS)
    await until(equals(story.count, 3))
    await story.make_ready()

    async def ready() -> bool:
        status = await story.status(REPLICA_SETS, "rs")
        return status.get("availableReplicas") == 3 and status["observedGeneration"] == 1

    await until(ready)
    owner = (await story.pods())[0]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"], owner["blockOwnerDeletion"]) == (
        "ReplicaSet",
        "rs",
        True,
        True,
    )

    await story.connection.patch(REPLICA_SETS, "rs", {"spec": {"replicas": 1}}, NS)
    await until(equals(story.count, 1))
    await story.connection.delete(PODS, (await story.pods())[0]["metadata"]["name"], NS, grace_period_seconds=0)
    await until(equals(story.count, 1))


@pytest.mark.slow
async def test_a_replication_controller_is_an_older_replica_set(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(REPLICATION_CONTROLLERS, workload("rc", 2, selector=LABELS), NS)
    orphan = {"metadata": {"name": "orphan", "labels": LABELS}, "spec": template()["spec"]}
    await until(equals(story.count, 2))
    await story.make_ready()

    async def ready() -> bool:
        expected = {"replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
        return await story.status(REPLICATION_CONTROLLERS, "rc") == {**expected, "observedGeneration": 1}

    await until(ready)
    owners = {owner["kind"] for pod in await story.pods() for owner in pod["metadata"]["ownerReferences"]}
    assert owners == {"ReplicationController"}
    await story.connection.create(PODS, orphan, NS)
    await until(equals(story.count, 2))
    await story.connection.delete(REPLICATION_CONTROLLERS, "rc", NS)
    await until(equals(story.count, 0))


@pytest.mark.slow
async def test_unready_pods_go_first(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(REPLICA_SETS, workload("rs", 2), NS)
    await until(equals(story.count, 2))
    await story.make_ready()
    keep = {pod["metadata"]["name"] for pod in await story.pods()}
    await story.connection.patch(REPLICA_SETS, "rs", {"spec": {"replicas": 5}}, NS)
    await until(equals(story.count, 5))
    await story.connection.patch(REPLICA_SETS, "rs", {"spec": {"replicas": 2}}, NS)
    await until(equals(story.count, 2))
    assert {pod["metadata"]["name"] for pod in await story.pods()} == keep


@pytest.mark.slow
async def test_a_matching_orphan_is_adopted_and_a_stranger_released(
    story: Story, controllers: None, until: Until
) -> None:
    orphan = {"metadata": {"name": "orphan", "labels": LABELS}, "spec": template()["spec"]}
    await story.connection.create(PODS, orphan, NS)
    await story.connection.create(REPLICA_SETS, workload("rs", 1), NS)

    async def adopted() -> bool:
        return bool((await story.connection.get(PODS, "orphan", NS))["metadata"].get("ownerReferences"))

    await until(adopted)
    assert await story.count() == 1
    await story.connection.patch(PODS, "orphan", {"metadata": {"labels": {"app": "other"}}}, NS)
    await until(equals(story.count, 2))
    assert not await adopted()


async def test_a_refused_pod_is_told_in_event_and_condition(
    story: Story, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Connection.create

    async def refuse_pods(self: Connection, resource: Resource, *args: Any, **options: Any) -> Object:
        if resource == PODS:
            raise api_error(403, {"reason": "Forbidden", "message": "exceeded quota"})
        return await create(self, resource, *args, **options)

    monkeypatch.setattr(Connection, "create", refuse_pods)
    informers = Informers(story.connection)
    controller = ReplicaSetController(informers)
    tasks = [asyncio.create_task(informers.run()), asyncio.create_task(controller.run())]
    await story.connection.create(REPLICA_SETS, workload("rs", 5), NS)

    async def told() -> bool:
        conditions = (await story.status(REPLICA_SETS, "rs")).get("conditions", [])
        messages = {event["message"] for event in (await story.connection.list(EVENTS, NS))["items"]}
        return messages == {"Error creating: exceeded quota"} and [(c["reason"], c["message"]) for c in conditions] == [
            ("FailedCreate", "exceeded quota")
        ]

    await until(told)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_creation_starts_slowly_and_stops_at_the_first_failure() -> None:
    attempts = 0

    async def fail_from_the_third_on() -> None:
        nonlocal attempts
        attempts += 1
        if attempts >= 3:
            raise OSError("quota")

    with pytest.raises(OSError, match="quota"):
        await slow_start(100, fail_from_the_third_on)
    assert attempts == 3


@pytest.mark.slow
async def test_a_deployment_becomes_available(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(DEPLOYMENTS, workload("d", 2), NS)
    await until(equals(story.count, 2))
    assert (await story.condition("d", "Available")).get("status") != "True"
    await story.make_ready()

    async def available() -> bool:
        return (await story.condition("d", "Available")).get("status") == "True"

    await until(available)

    async def complete() -> bool:
        status = await story.status(DEPLOYMENTS, "d")
        return (await story.condition("d", "Progressing")).get("reason") == "NewReplicaSetAvailable" and all(
            status.get(key) == 2 for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        )

    await until(complete)
    deployment = await story.connection.get(DEPLOYMENTS, "d", NS)
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"]
    (replica_set,) = (await story.connection.list(REPLICA_SETS, NS))["items"]
    digest = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"d-{digest}"
    assert all(pod["metadata"]["labels"]["pod-template-hash"] == digest for pod in await story.pods())


@pytest.mark.slow
async def test_a_rolling_update_replaces_pods_and_keeps_the_old_revision(
    story: Story, controllers: None, until: Until
) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await story.connection.create(DEPLOYMENTS, workload("d", 3, strategy=rolling), NS)
    await until(equals(story.count, 3))
    await story.make_ready()
    await story.connection.patch(DEPLOYMENTS, "d", {"spec": {"template": template("two")}}, NS)
    most = 0

    async def rolled() -> bool:
        nonlocal most
        most = max(most, await story.count())
        await story.make_ready()
        return await story.sets() == {"one": 0, "two": 3} and await story.count() == 3

    await until(rolled)
    assert most == 4
    deployment = await story.connection.get(DEPLOYMENTS, "d", NS)
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"

    await story.connection.patch(DEPLOYMENTS, "d", {"spec": {"template": template("one")}}, NS)

    async def rolled_back() -> bool:
        await story.make_ready()
        return await story.sets() == {"one": 3, "two": 0} and await story.count() == 3

    await until(rolled_back)

    async def third() -> bool:
        deployment = await story.connection.get(DEPLOYMENTS, "d", NS)
        return bool(deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3")

    await until(third)


@pytest.mark.slow
async def test_recreate_ends_all_old_pods_first(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(DEPLOYMENTS, workload("d", 2, strategy={"type": "Recreate"}), NS)
    await until(equals(story.count, 2))
    await story.make_ready()
    keeper = (await story.pods())[0]["metadata"]["name"]
    await story.connection.patch(PODS, keeper, {"metadata": {"finalizers": ["example.com/keep"]}}, NS)
    await story.connection.patch(DEPLOYMENTS, "d", {"spec": {"template": template("two")}}, NS)
    await until(equals(story.count, 0))
    assert await story.sets() == {"one": 0}
    await story.connection.patch(PODS, keeper, {"metadata": {"finalizers": None}}, NS)
    await until(equals(story.count, 2))
    assert await story.sets() == {"one": 0, "two": 2}


@pytest.mark.slow
async def test_scaling_is_no_rollout(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(DEPLOYMENTS, workload("d", 1), NS)
    await until(equals(story.count, 1))
    await story.connection.patch(DEPLOYMENTS, "d", {"spec": {"replicas": 4}}, NS)
    await until(equals(story.count, 4))
    assert await story.sets() == {"one": 4}


@pytest.mark.slow
async def test_a_paused_deployment_scales_but_does_not_roll(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(DEPLOYMENTS, workload("d", 1), NS)
    await until(equals(story.count, 1))
    patch = {"spec": {"paused": True, "replicas": 3, "template": template("two")}}
    await story.connection.patch(DEPLOYMENTS, "d", patch, NS)
    await until(equals(story.count, 3))
    assert await story.sets() == {"one": 3}
    assert (await story.condition("d", "Progressing"))["reason"] == "DeploymentPaused"


@pytest.mark.slow
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_what_an_owner_owns_goes_with_it(
    propagation: Literal["Background", "Foreground"], story: Story, controllers: None, until: Until
) -> None:
    await story.connection.create(DEPLOYMENTS, workload("d", 2), NS)
    await until(equals(story.count, 2))
    await story.connection.delete(DEPLOYMENTS, "d", NS, propagation=propagation)
    await until(lambda: story.gone(DEPLOYMENTS, "d"))

    async def nothing_left() -> bool:
        return not await story.sets() and not (await story.connection.list(PODS, NS))["items"]

    if propagation == "Foreground":
        assert not await story.sets()
    await until(nothing_left)


@pytest.mark.slow
async def test_orphans_stay(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(REPLICA_SETS, workload("rs", 2), NS)
    await until(equals(story.count, 2))
    await story.connection.delete(REPLICA_SETS, "rs", NS, propagation="Orphan")
    await until(lambda: story.gone(REPLICA_SETS, "rs"))
    pods = await story.pods()
    assert len(pods) == 2
    assert not any(pod["metadata"].get("ownerReferences") for pod in pods)


def owned(name: str, *owners: Object, block: bool = False) -> Object:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references}}


@pytest.mark.slow
async def test_an_owner_of_another_uid_does_not_count(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(CONFIG_MAPS, {"metadata": {"name": "owner"}}, NS)
    replaced = {"metadata": {"name": "owner", "uid": "an-earlier-one"}}
    await story.connection.create(CONFIG_MAPS, owned("child", replaced), NS)
    await until(lambda: story.gone(CONFIG_MAPS, "child"))


@pytest.mark.slow
async def test_one_living_owner_is_enough_and_the_dead_one_is_forgotten(
    story: Story, controllers: None, until: Until
) -> None:
    one, two = [await story.connection.create(CONFIG_MAPS, {"metadata": {"name": name}}, NS) for name in ("one", "two")]
    await story.connection.create(CONFIG_MAPS, owned("child", one, two), NS)
    await story.connection.delete(CONFIG_MAPS, "one", NS)

    async def forgotten() -> bool:
        child = await story.connection.get(CONFIG_MAPS, "child", NS)
        return [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["two"]

    await until(forgotten)


@pytest.mark.slow
async def test_foreground_waits_for_blocking_dependents_only(story: Story, controllers: None, until: Until) -> None:
    owner = await story.connection.create(CONFIG_MAPS, {"metadata": {"name": "owner"}}, NS)
    blocking, free = owned("blocking", owner, block=True), owned("free", owner)
    for child in (blocking, free):
        child["metadata"]["finalizers"] = ["example.com/keep"]
        await story.connection.create(CONFIG_MAPS, child, NS)
    await story.connection.delete(CONFIG_MAPS, "owner", NS, propagation="Foreground")

    async def deleting() -> bool:
        child = await story.connection.get(CONFIG_MAPS, "blocking", NS)
        return "deletionTimestamp" in child["metadata"]

    await until(deleting)
    assert await story.exists(CONFIG_MAPS, "owner")
    await story.connection.patch(CONFIG_MAPS, "blocking", {"metadata": {"finalizers": None}}, NS)
    await until(lambda: story.gone(CONFIG_MAPS, "owner"))
    assert await story.exists(CONFIG_MAPS, "free")


@pytest.mark.slow
async def test_a_namespace_is_furnished_and_emptied(story: Story, controllers: None, until: Until) -> None:
    connection = story.connection
    await connection.create(NAMESPACES, {"metadata": {"name": "team"}})
    await until(lambda: story.exists(SERVICE_ACCOUNTS, "default", "team"))
    await until(lambda: story.exists(CONFIG_MAPS, "kube-root-ca.crt", "team"))
    await connection.create(REPLICA_SETS, workload("rs", 2), "team")
    blocked = {"metadata": {"name": "blocked", "finalizers": ["example.com/keep"]}}
    await connection.create(CONFIG_MAPS, blocked, "team")
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "ReplicaSet", "name": "rs", "namespace": "team"}}
    await connection.create(EVENTS, event, "team")
    await connection.delete(NAMESPACES, "team")

    async def only_blocked() -> bool:
        pods = (await connection.list(PODS, "team"))["items"]
        maps = (await connection.list(CONFIG_MAPS, "team"))["items"]
        return not pods and [entry["metadata"]["name"] for entry in maps] == ["blocked"]

    await until(only_blocked)
    assert (await connection.get(NAMESPACES, "team"))["status"]["phase"] == "Terminating"
    await connection.patch(CONFIG_MAPS, "blocked", {"metadata": {"finalizers": None}}, "team")
    await until(lambda: story.gone(NAMESPACES, "team", None))
    assert (await connection.list(EVENTS, "team"))["items"] == []


@pytest.mark.slow
async def test_default_objects_come_back(story: Story, controllers: None, until: Until) -> None:
    await until(lambda: story.exists(SERVICE_ACCOUNTS, "default"))
    before = await story.connection.get(SERVICE_ACCOUNTS, "default", NS)
    await story.connection.delete(SERVICE_ACCOUNTS, "default", NS)

    async def another() -> bool:
        listed = (await story.connection.list(SERVICE_ACCOUNTS, NS))["items"]
        return [a["metadata"]["uid"] for a in listed if a["metadata"]["uid"] != before["metadata"]["uid"]] != []

    await until(another)


async def run_pod_gc(connection: Connection, **options: Any) -> asyncio.Task[None]:
    informers = Informers(connection)
    collector = PodGarbageCollector(informers, period=0.02, **options)

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(informers.run())
            await informers.synced()
            tasks.create_task(collector.run())

    return asyncio.create_task(both())


def on_node(name: str, node: str | None) -> Object:
    spec = {**template()["spec"], **({"nodeName": node} if node else {})}
    return {"metadata": {"name": name}, "spec": spec}


async def test_pods_of_deleted_nodes_fail_and_go(story: Story, until: Until) -> None:
    await story.connection.create(NODES, {"metadata": {"name": "there"}})
    for node in ("there", "missing"):
        await story.connection.create(PODS, on_node(node, node), NS)
    watcher = story.connection.watch(
        PODS, NS, resource_version=(await story.connection.list(PODS, NS))["metadata"]["resourceVersion"]
    )
    task = await run_pod_gc(story.connection, quarantine=0.1)
    seen = []
    async for event in watcher:
        if event["type"] != "BOOKMARK":
            seen.append((event["type"], event["object"]["metadata"]["name"], event["object"]["status"]["phase"]))
        if event["type"] == "DELETED":
            break
    task.cancel()
    assert seen[0] == ("MODIFIED", "missing", "Failed")
    assert seen[-1] == ("DELETED", "missing", "Failed")
    assert await story.exists(PODS, "there")


async def test_the_oldest_finished_pods_go_above_the_threshold(story: Story, until: Until) -> None:
    for name in ("a", "b", "c"):
        await story.connection.create(PODS, on_node(name, "n"), NS)
        await story.connection.create(NODES, {"metadata": {"name": f"node-{name}"}})
        await story.connection.patch(PODS, name, {"status": {"phase": "Succeeded"}}, NS, subresource="status")
    task = await run_pod_gc(story.connection, terminated_threshold=1, quarantine=60)
    await until(equals(story.count, 1))
    task.cancel()


async def test_a_pod_deleted_before_it_was_scheduled_goes_at_once(story: Story, until: Until) -> None:
    await story.connection.create(PODS, on_node("p", None), NS)
    await story.connection.delete(PODS, "p", NS)
    task = await run_pod_gc(story.connection)
    await until(lambda: story.gone(PODS, "p"))
    task.cancel()
