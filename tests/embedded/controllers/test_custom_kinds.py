"""Stories of kinds that come and go while the controllers run: owners, namespaces and quotas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from drakit_client.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    NAMESPACES,
    PODS,
    RESOURCE_QUOTAS,
    Resource,
)

pytestmark = [pytest.mark.usefixtures("controllers"), pytest.mark.slow]
Until = Callable[..., Awaitable[Any]]
NS = "default"
GROUP = "example.com"
WIDGETS = Resource(GROUP, "v1", "widgets", "Widget")
RACKS = Resource(GROUP, "v1", "racks", "Rack", namespaced=False)
HELD = ["example.com/hold"]


def definition(resource: Resource, *versions: str) -> Object:
    """A definition with some versions, of which the last is stored."""
    names = versions or (resource.version,)
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {"plural": resource.plural, "kind": resource.kind},
            "versions": [
                {"name": name, "served": True, "storage": name == names[-1], "schema": schema} for name in names
            ],
        },
    }


class Story:
    def __init__(self, connection: Connection, until: Until) -> None:
        self.connection, self.until = connection, until

    async def define(self, resource: Resource, *versions: str) -> None:
        await self.connection.create(CUSTOM_RESOURCE_DEFINITIONS, definition(resource, *versions))
        await self.until(lambda: self.is_served(resource))

    async def redefine(self, resource: Resource, change: Callable[[Object], Any]) -> None:
        crd = await self.connection.get(CUSTOM_RESOURCE_DEFINITIONS, f"{resource.plural}.{resource.group}")
        change(crd)
        await self.connection.replace(CUSTOM_RESOURCE_DEFINITIONS, crd)

    async def undefine(self, resource: Resource) -> None:
        await self.connection.delete(CUSTOM_RESOURCE_DEFINITIONS, f"{resource.plural}.{resource.group}")
        await self.until(lambda: self.gone(CUSTOM_RESOURCE_DEFINITIONS, f"{resource.plural}.{resource.group}"))

    async def is_served(self, resource: Resource) -> bool:
        try:
            await self.connection.list(resource)
        except NotFound:
            return False
        return True

    async def create(self, resource: Resource, name: str, *owners: Object, namespace: str = NS, **meta: Any) -> Object:
        references = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                **({"blockOwnerDeletion": True} if meta.get("blocks") else {}),
            }
            for owner in owners
        ]
        metadata = {"name": name, "ownerReferences": references, "finalizers": meta.get("finalizers", [])}
        return await self.connection.create(resource, {"metadata": metadata}, namespace)

    async def release(self, resource: Resource, name: str, namespace: str = NS) -> None:
        await self.connection.patch(resource, name, {"metadata": {"finalizers": None}}, namespace)

    async def gone(self, resource: Resource, name: str, namespace: str = NS) -> bool:
        try:
            await self.connection.get(resource, name, namespace)
        except NotFound:
            return True
        return False

    async def is_watched(self, resource: Resource) -> None:
        """Wait until the garbage collector has seen all objects so far: it has to see one to let it go."""
        await self.create(resource, "last")
        await self.connection.delete(resource, "last", NS, propagation="Foreground")
        await self.until(lambda: self.gone(resource, "last"))

    async def deleting(self, resource: Resource, name: str) -> bool:
        return "deletionTimestamp" in (await self.connection.get(resource, name, NS))["metadata"]


@pytest.fixture
def story(connection: Connection, until: Until) -> Story:
    return Story(connection, until)


async def test_what_a_custom_resource_owns_goes_with_it(story: Story, until: Until) -> None:
    await story.define(WIDGETS)
    owner = await story.create(WIDGETS, "owner")
    child = await story.create(WIDGETS, "child", owner)
    await story.create(CONFIG_MAPS, "grandchild", child)
    await story.connection.delete(WIDGETS, "owner", NS)
    await until(lambda: story.gone(WIDGETS, "child"))
    await until(lambda: story.gone(CONFIG_MAPS, "grandchild"))


async def test_a_cluster_scoped_custom_resource_owns_namespaced_objects(story: Story, until: Until) -> None:
    await story.define(RACKS)
    await story.define(WIDGETS)
    rack = await story.create(RACKS, "rack")
    await story.create(WIDGETS, "w", rack)
    await story.create(CONFIG_MAPS, "c", rack)
    await story.connection.delete(RACKS, "rack")
    await until(lambda: story.gone(WIDGETS, "w"))
    await until(lambda: story.gone(CONFIG_MAPS, "c"))


async def test_foreground_and_orphan_deletion_of_custom_resources(story: Story, until: Until) -> None:
    await story.define(WIDGETS)
    owner = await story.create(WIDGETS, "owner")
    await story.create(CONFIG_MAPS, "held", owner, blocks=True, finalizers=HELD)
    await story.connection.delete(WIDGETS, "owner", NS, propagation="Foreground")
    await until(lambda: story.deleting(CONFIG_MAPS, "held"))
    assert await story.deleting(WIDGETS, "owner")
    await story.release(CONFIG_MAPS, "held")
    await until(lambda: story.gone(WIDGETS, "owner"))

    other = await story.create(WIDGETS, "other")
    await story.create(WIDGETS, "orphan", other)
    await story.connection.delete(WIDGETS, "other", NS, propagation="Orphan")
    await until(lambda: story.gone(WIDGETS, "other"))
    assert "ownerReferences" not in (await story.connection.get(WIDGETS, "orphan", NS))["metadata"]


async def test_owners_in_a_circle_all_go(story: Story, until: Until) -> None:
    await story.define(WIDGETS)
    objects = [await story.create(WIDGETS, name) for name in ("a", "b", "c")]
    for obj, owner in zip(objects, [objects[-1], *objects], strict=False):
        name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
        reference = {"apiVersion": WIDGETS.api_version, "kind": "Widget", "name": name, "uid": uid}
        change = {"metadata": {"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}}
        await story.connection.patch(WIDGETS, obj["metadata"]["name"], change, NS)
    await story.connection.delete(WIDGETS, "a", NS, propagation="Foreground")
    for name in ("a", "b", "c"):
        await until(partial(story.gone, WIDGETS, name))


async def test_a_changed_schema_ends_no_watch_for_good(story: Story, until: Until) -> None:
    def change(crd: Object) -> None:
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Another one."

    await story.define(WIDGETS)
    await story.is_watched(WIDGETS)
    await story.redefine(WIDGETS, change)
    owner = await story.create(WIDGETS, "owner")
    await story.create(WIDGETS, "child", owner)
    await story.is_watched(WIDGETS)
    await story.connection.delete(WIDGETS, "owner", NS)
    await until(lambda: story.gone(WIDGETS, "child"))


async def test_what_an_owner_of_unknown_kind_owns_stays_until_the_kind_is_known(story: Story, until: Until) -> None:
    stranger = {"apiVersion": WIDGETS.api_version, "kind": "Widget", "metadata": {"name": "w", "uid": "u"}}
    await story.create(CONFIG_MAPS, "dangling", stranger)
    await story.create(CONFIG_MAPS, "marker", {**stranger, "apiVersion": "v1", "kind": "ConfigMap"})
    await until(lambda: story.gone(CONFIG_MAPS, "marker"))
    assert not await story.gone(CONFIG_MAPS, "dangling")
    await story.define(WIDGETS)
    await until(lambda: story.gone(CONFIG_MAPS, "dangling"))


async def test_what_the_objects_of_a_deleted_definition_own_goes(story: Story, until: Until) -> None:
    await story.define(WIDGETS)
    owner = await story.create(WIDGETS, "owner")
    await story.create(CONFIG_MAPS, "child", owner)
    await story.is_watched(WIDGETS)
    await story.undefine(WIDGETS)
    await until(lambda: story.gone(CONFIG_MAPS, "child"))


async def test_owners_that_are_not_served_for_a_while_are_not_gone(story: Story, until: Until) -> None:
    """A version without the owner's kind, then the kind again, in which an owner has gone meanwhile unseen."""

    def serve(*served: str) -> Callable[[Object], None]:
        def change(crd: Object) -> None:
            for version in crd["spec"]["versions"]:
                version["served"] = version["name"] in served

        return change

    await story.define(WIDGETS, "v1beta1", "v1")
    owner = await story.create(WIDGETS, "owner")
    await story.create(CONFIG_MAPS, "child", owner)
    await story.is_watched(WIDGETS)
    await story.redefine(WIDGETS, serve())
    await until(lambda: story.gone(WIDGETS, "owner"))
    await story.create(CONFIG_MAPS, "later", owner)
    old = WIDGETS.in_version("v1beta1")
    await story.redefine(WIDGETS, serve("v1beta1"))
    await until(lambda: story.is_served(old))
    assert not await story.gone(CONFIG_MAPS, "child")
    await story.connection.delete(old, "owner", NS)
    await until(lambda: story.gone(CONFIG_MAPS, "child"))
    await until(lambda: story.gone(CONFIG_MAPS, "later"))


async def test_an_owner_in_another_namespace_is_reported_and_is_none(story: Story, until: Until) -> None:
    await story.define(WIDGETS)
    await story.connection.create(NAMESPACES, {"metadata": {"name": "team"}})
    owner = await story.create(WIDGETS, "owner", namespace="team")
    child = await story.create(CONFIG_MAPS, "child", owner)
    await until(lambda: story.gone(CONFIG_MAPS, "child"))

    async def reported() -> list[Object]:
        events = (await story.connection.list(EVENTS, NS))["items"]
        return [event for event in events if event["involvedObject"]["uid"] == child["metadata"]["uid"]]

    (event,) = await until(reported)
    uid = owner["metadata"]["uid"]
    assert (event["reason"], event["message"]) == (
        "OwnerRefInvalidNamespace",
        f"ownerRef [example.com/v1/Widget, namespace: default, name: owner, uid: {uid}] "
        'does not exist in namespace "default"',
    )


async def test_a_terminating_namespace_waits_for_custom_resources_and_says_so(story: Story, until: Until) -> None:
    await story.connection.create(NAMESPACES, {"metadata": {"name": "team"}})
    await story.define(WIDGETS)
    await story.create(WIDGETS, "held", namespace="team", finalizers=HELD)
    await story.create(WIDGETS, "free", namespace="team")
    await story.connection.delete(NAMESPACES, "team")

    async def condition(kind: str) -> Object | None:
        return conditions.find((await story.connection.get(NAMESPACES, "team"))["status"].get("conditions"), kind)

    remaining = await until(lambda: condition("NamespaceContentRemaining"))
    assert remaining["message"] == "Some resources are remaining: widgets.example.com has 1 resource instances"
    held = await condition("NamespaceFinalizersRemaining")
    assert held is not None
    assert held["message"].endswith("finalizers remaining: example.com/hold in 1 resource instances")
    await story.release(WIDGETS, "held", "team")
    await until(lambda: story.gone(NAMESPACES, "team"))
    assert (await story.connection.list(WIDGETS, "team"))["items"] == []


async def test_the_pods_of_a_namespace_go_first(story: Story, until: Until) -> None:
    await story.connection.create(NAMESPACES, {"metadata": {"name": "team"}})
    pod = {"metadata": {"name": "p", "finalizers": HELD}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await story.connection.create(PODS, pod, "team")
    await story.create(CONFIG_MAPS, "c", namespace="team")
    await story.connection.delete(NAMESPACES, "team")

    async def told() -> bool:
        namespace = await story.connection.get(NAMESPACES, "team")
        return conditions.find(namespace["status"].get("conditions"), "NamespaceContentRemaining") is not None

    await until(told)
    assert "deletionTimestamp" not in (await story.connection.get(CONFIG_MAPS, "c", "team"))["metadata"]
    assert "deletionTimestamp" in (await story.connection.get(PODS, "p", "team"))["metadata"]
    await story.release(PODS, "p", "team")
    await until(lambda: story.gone(NAMESPACES, "team"))


async def test_custom_resources_are_counted_from_before_their_definition_on(story: Story, until: Until) -> None:
    name = "count/widgets.example.com"
    await story.connection.create(RESOURCE_QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {name: "1"}}}, NS)

    async def uses(count: str) -> bool:
        status = (await story.connection.get(RESOURCE_QUOTAS, "q", NS)).get("status") or {}
        return (status.get("used") or {}).get(name) == count

    await story.define(WIDGETS)
    await until(lambda: uses("0"))
    await story.create(WIDGETS, "a")
    await until(lambda: uses("1"))
    with pytest.raises(ApiError, match=f"exceeded quota: q, requested: {name}=1, used: {name}=1, limited: {name}=1"):
        await story.create(WIDGETS, "b")
    await story.connection.delete(WIDGETS, "a", NS)
    await until(lambda: uses("0"))
    await story.create(WIDGETS, "b")
    await story.undefine(WIDGETS)
    await until(lambda: uses("0"))
    await story.define(WIDGETS)
    await story.create(WIDGETS, "c")
    await until(lambda: uses("1"))
