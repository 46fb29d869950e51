"""Stories of claims: made for pods, reserved, given back."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import EVENTS, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, RESOURCE_QUOTAS
from drakit_embedded import controllers as package
from drakit_embedded.controllers.claim_templates import claim_from_template

Until = Callable[..., Awaitable[Any]]
NS = "default"
FINALIZER = "resource.kubernetes.io/delete-protection"
SPEC: Object = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


def pod(name: str, *, node: str | None = None, **claim: str) -> Object:
    spec: Object = {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}]}
    spec["resourceClaims"] = [{"name": "gpu", **claim}]
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name}, "spec": spec}


def template(name: str = "t", **metadata: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"metadata": metadata, "spec": SPEC}}


class Story:
    """Shortcuts for what the stories do."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def create_pod(self, name: str, **options: Any) -> Object:
        return await self.connection.create(PODS, pod(name, **options), NS)

    async def create_claim(self, name: str, *users: Object, allocated: bool = True) -> Object:
        metadata = {"name": name, "finalizers": [FINALIZER]}
        claim = await self.connection.create(RESOURCE_CLAIMS, {"metadata": metadata, "spec": SPEC}, NS)
        return await self.allocate(claim, *users) if allocated else claim

    async def allocate(self, claim: Object, *users: Object) -> Object:
        result = {"request": "gpu", "driver": "gpu.example.com", "pool": "n", "device": "d"}
        consumers = [{"resource": "pods", "name": u["metadata"]["name"], "uid": u["metadata"]["uid"]} for u in users]
        if FINALIZER not in claim["metadata"].get("finalizers", []):
            patch = {"metadata": {"finalizers": [FINALIZER]}}
            claim = await self.connection.patch(RESOURCE_CLAIMS, claim["metadata"]["name"], patch, NS)
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": consumers}
        return await self.connection.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, NS)

    async def claim(self, name: str) -> Object:
        return await self.connection.get(RESOURCE_CLAIMS, name, NS)

    async def is_gone(self, name: str) -> bool:
        try:
            await self.claim(name)
        except NotFound:
            return True
        return False

    async def users(self, name: str) -> list[str]:
        claim = await self.connection.get(RESOURCE_CLAIMS, name, NS)
        return [consumer["name"] for consumer in claim.get("status", {}).get("reservedFor", [])]

    async def is_free(self, name: str) -> bool:
        claim = await self.connection.get(RESOURCE_CLAIMS, name, NS)
        return not claim.get("status", {}).get("allocation") and not claim["metadata"].get("finalizers")

    async def generated(self, name: str) -> str | None:
        statuses = (await self.connection.get(PODS, name, NS)).get("status", {}).get("resourceClaimStatuses")
        return statuses[0]["resourceClaimName"] if statuses else None

    async def finish(self, name: str, phase: str = "Succeeded") -> None:
        await self.connection.patch(PODS, name, {"status": {"phase": phase}}, NS, subresource="status")

    async def is_counted(self, quota: str) -> bool:
        """Whether the controller has taken a quota in."""
        return bool((await self.connection.get(RESOURCE_QUOTAS, quota, NS)).get("status", {}).get("hard"))

    async def events(self, reason: str) -> list[str]:
        listed = await self.connection.list(EVENTS, NS)
        return [event["message"] for event in listed["items"] if event["reason"] == reason]


@pytest.fixture
def story(connection: Connection) -> Story:
    return Story(connection)


@pytest.mark.slow
async def test_a_template_becomes_a_claim_of_the_pod(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(RESOURCE_CLAIM_TEMPLATES, template(labels={"a": "b"}, annotations={"c": "d"}), NS)
    created = await story.create_pod("p", resourceClaimTemplateName="t")
    name = await until(lambda: story.generated("p"))
    claim = await story.claim(name)
    assert name.startswith("p-gpu-")
    assert claim["metadata"]["annotations"] == {"c": "d", "resource.kubernetes.io/pod-claim-name": "gpu"}
    assert claim["metadata"]["labels"] == {"a": "b"}
    assert claim["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": created["metadata"]["uid"], "controller": True}
    ]


@pytest.mark.slow
async def test_a_pod_waits_for_its_template_and_says_so(story: Story, controllers: None, until: Until) -> None:
    await story.create_pod("p", resourceClaimTemplateName="t")
    assert await until(lambda: story.events("FailedResourceClaimCreation")) == [
        'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found'
    ]
    await story.connection.create(RESOURCE_CLAIM_TEMPLATES, template(), NS)
    await until(lambda: story.generated("p"))
    assert len((await story.connection.list(RESOURCE_CLAIMS, NS))["items"]) == 1


@pytest.mark.slow
async def test_a_claim_that_the_server_refuses_is_told_at_the_pod(
    story: Story, controllers: None, until: Until
) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/resourceclaims.resource.k8s.io": "0"}}}
    await story.connection.create(RESOURCE_QUOTAS, quota, NS)
    await until(lambda: story.is_counted("none"))
    await story.connection.create(RESOURCE_CLAIM_TEMPLATES, template(), NS)
    await story.create_pod("p", resourceClaimTemplateName="t")
    messages = await until(lambda: story.events("FailedResourceClaimCreation"))
    assert re.fullmatch(
        r'PodResourceClaim gpu: create ResourceClaim : resourceclaims.resource.k8s.io "p-gpu-[a-z0-9]{5}" is forbidden'
        r": exceeded quota: none, requested: count/resourceclaims.resource.k8s.io=1, "
        r"used: count/resourceclaims.resource.k8s.io=0, limited: count/resourceclaims.resource.k8s.io=0",
        messages[0],
    )
    await story.connection.delete(RESOURCE_QUOTAS, "none", NS)
    await until(lambda: story.generated("p"))


@pytest.mark.slow
async def test_a_claim_is_given_back_however_its_parameters_are_spelled(
    story: Story, controllers: None, until: Until
) -> None:
    metadata = f'{{"name":"c","finalizers":["{FINALIZER}"]}}'
    config = '[{"opaque":{"driver":"gpu.example.com","parameters":{"k": 1}}}]'
    spec = f'{{"devices":{{"requests":{json.dumps(SPEC["devices"]["requests"])},"config":{config}}}}}'
    body = f'{{"metadata":{metadata},"spec":{spec}}}'.encode()
    claim = json.loads(await story.connection.request("POST", RESOURCE_CLAIMS.path(NS), body))
    await story.allocate(claim, await story.create_pod("p", resourceClaimName="c"))
    await story.connection.delete(PODS, "p", NS)
    await until(lambda: story.is_free("c"))


@pytest.mark.slow
async def test_a_generated_claim_that_was_deleted_is_made_again(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(RESOURCE_CLAIM_TEMPLATES, template(), NS)
    await story.create_pod("p", resourceClaimTemplateName="t")
    first = await until(lambda: story.generated("p"))
    await story.connection.delete(RESOURCE_CLAIMS, first, NS)

    async def second() -> bool:
        name = await story.generated("p")
        return name is not None and name != first and not await story.is_gone(name)

    await until(second)


@pytest.mark.slow
async def test_a_finished_pod_gives_back_its_generated_claim(story: Story, controllers: None, until: Until) -> None:
    await story.connection.create(RESOURCE_CLAIM_TEMPLATES, template(), NS)
    created = await story.create_pod("p", resourceClaimTemplateName="t", node="n")
    name = await until(lambda: story.generated("p"))
    await story.allocate(await story.claim(name), created)
    await story.finish("p")
    await until(lambda: story.is_gone(name))


@pytest.mark.slow
@pytest.mark.parametrize("end", ["finished", "deleted", "failed"])
async def test_the_last_user_takes_the_allocation_with_it(
    end: str, story: Story, controllers: None, until: Until
) -> None:
    one, two = [await story.create_pod(name, resourceClaimName="shared", node="n") for name in ("one", "two")]
    await story.create_claim("shared", one, two)

    async def leave(name: str) -> None:
        if end == "deleted":
            await story.connection.delete(PODS, name, NS, grace_period_seconds=0)
        else:
            await story.finish(name, "Succeeded" if end == "finished" else "Failed")

    await leave("one")

    async def one_left() -> bool:
        return await story.users("shared") == ["two"]

    await until(one_left)
    assert not await story.is_free("shared")
    await leave("two")
    await until(lambda: story.is_free("shared"))


@pytest.mark.slow
async def test_a_reservation_for_a_pod_that_never_was_goes(story: Story, controllers: None, until: Until) -> None:
    await story.create_claim("c", {"metadata": {"name": "ghost", "uid": "not-there"}})
    await until(lambda: story.is_free("c"))


@pytest.mark.slow
async def test_a_reservation_for_a_pod_of_the_same_name_goes(story: Story, controllers: None, until: Until) -> None:
    created = await story.create_pod("p", resourceClaimName="c")
    await story.create_claim("c", {"metadata": {"name": "p", "uid": "an-earlier-one"}}, created)

    async def only_current() -> bool:
        claim = await story.claim("c")
        return [user["uid"] for user in claim["status"]["reservedFor"]] == [created["metadata"]["uid"]]

    await until(only_current)


@pytest.mark.slow
async def test_a_pod_deleted_before_it_was_scheduled_is_no_user(story: Story, controllers: None, until: Until) -> None:
    body = pod("p", resourceClaimName="c")
    body["metadata"]["finalizers"] = ["example.com/keep"]
    created = await story.connection.create(PODS, body, NS)
    await story.create_claim("c", created)
    await story.connection.delete(PODS, "p", NS)
    await until(lambda: story.is_free("c"))
    assert await story.connection.get(PODS, "p", NS)


@pytest.mark.slow
async def test_a_deleted_claim_waits_for_its_user(story: Story, controllers: None, until: Until) -> None:
    created = await story.create_pod("p", resourceClaimName="c", node="n")
    await story.create_claim("c", created)
    await story.connection.delete(RESOURCE_CLAIMS, "c", NS)
    await story.connection.patch(RESOURCE_CLAIMS, "c", {"metadata": {"labels": {"seen": "yes"}}}, NS)
    assert (await story.claim("c"))["status"]["allocation"]
    await story.connection.delete(PODS, "p", NS, grace_period_seconds=0)
    await until(lambda: story.is_gone("c"))


@pytest.mark.slow
async def test_an_unused_claim_can_be_deleted(story: Story, controllers: None, until: Until) -> None:
    await story.create_claim("c", allocated=False)
    await story.connection.delete(RESOURCE_CLAIMS, "c", NS)
    await until(lambda: story.is_gone("c"))


@pytest.mark.slow
async def test_a_pod_bound_without_a_scheduler_gets_its_reservation(
    story: Story, controllers: None, until: Until
) -> None:
    other = await story.create_pod("other", resourceClaimName="c", node="n")
    await story.create_claim("c", other)
    await story.create_pod("p", resourceClaimName="c", node="n")

    async def both() -> bool:
        return sorted(await story.users("c")) == ["other", "p"]

    await until(both)


@pytest.mark.slow
async def test_consumers_that_are_no_pods_stay(story: Story, controllers: None, until: Until) -> None:
    claim = await story.create_claim("c")
    consumer = {"apiGroup": "example.com", "resource": "things", "name": "x", "uid": "y"}
    ghost = {"resource": "pods", "name": "ghost", "uid": "z"}
    status = {**claim["status"], "reservedFor": [consumer, ghost]}
    await story.connection.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, NS)

    async def only_thing() -> bool:
        return bool((await story.claim("c"))["status"]["reservedFor"] == [consumer])

    await until(only_thing)
    assert (await story.claim("c"))["status"]["allocation"]


@pytest.mark.slow
async def test_a_prioritized_list_is_refused_while_its_gate_is_off(story: Story, until: Until) -> None:
    from drakit_api.features import FeatureGates

    gates = FeatureGates("1.36", {"DRAPrioritizedList": False})
    task = asyncio.create_task(package.run(story.connection, gates=gates))
    first = {"name": "gpu", "firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}
    body = {"metadata": {"name": "t"}, "spec": {"spec": {"devices": {"requests": [first]}}}}
    await story.connection.create(RESOURCE_CLAIM_TEMPLATES, body, NS)
    await story.create_pod("p", resourceClaimTemplateName="t")
    assert await until(lambda: story.events("FailedResourceClaimCreation")) == [
        "PodResourceClaim gpu: template includes a prioritized list of subrequests, but the feature is disabled"
    ]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.slow
async def test_a_template_of_a_feature_that_the_server_no_longer_has_is_told_at_the_pod(
    tmp_path: Path, until: Until
) -> None:
    """The controllers know the feature, and the API server has dropped it when it was restarted."""
    from drakit_api.features import FeatureGates
    from drakit_embedded.apiserver import Server, ServerConfig

    def config(*, enabled: bool) -> ServerConfig:
        gates = FeatureGates("1.36", {"DRAPrioritizedList": enabled})
        return ServerConfig(token="t", data_file=tmp_path / "store.sqlite", gates=gates)

    first = {"name": "gpu", "firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}
    body = {"metadata": {"name": "t"}, "spec": {"spec": {"devices": {"requests": [first]}}}}
    async with Server(config(enabled=True)) as server, Connection(server.url, token="t") as connection:
        await connection.create(RESOURCE_CLAIM_TEMPLATES, body, NS)
    async with Server(config(enabled=False)) as server, Connection(server.url, token="t") as connection:
        task = asyncio.create_task(package.run(connection, gates=FeatureGates("1.36")))
        story = Story(connection)
        await story.create_pod("p", resourceClaimTemplateName="t")
        # Each try is told, as the name of its claim is another one.
        message, *_ = await until(lambda: story.events("FailedResourceClaimCreation"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert re.fullmatch(
        r'PodResourceClaim gpu: create ResourceClaim : ResourceClaim.resource.k8s.io "p-gpu-[a-z0-9]{5}" is invalid: '
        r"spec.devices.requests\[0\]: Required value: exactly one of `exactly` or `firstAvailable` is required",
        message,
    )


@pytest.mark.parametrize(
    ("pod_name", "claim_name", "expected"),
    [
        ("p", "gpu", "p-gpu-"),
        ("p" * 40, "c" * 40, "p" * 27 + "-" + "c" * 27),
        ("p" * 55, "c", "p" * 54 + "-"),
    ],
    ids=["short", "both long", "pod long"],
)
def test_long_names_are_cut_in_proportion(pod_name: str, claim_name: str, expected: str) -> None:
    owner = {"metadata": {"name": pod_name, "uid": "u"}}
    assert claim_from_template(owner, claim_name, template())["metadata"]["generateName"] == expected
