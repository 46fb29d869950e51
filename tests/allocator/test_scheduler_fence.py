"""Late writes of a scheduler that fell silent: each is refused after the fence, and would succeed without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from drakit_allocator.scheduler.binding import Binder, BindingFailed, Decision
from drakit_allocator.scheduler.claims import Claims
from drakit_allocator.scheduler.leadership.fence import FENCE, Fence, Gap
from drakit_allocator.scheduler.leadership.lease import LeaseLost, NoLease
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import AllocationResult, DeviceRequestAllocationResult, ResourceClaim, as_claim
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Conflict, Invalid
from drakit_client.resources import NODES, PODS, RESOURCE_CLAIMS
from drakit_embedded.apiserver import Server, ServerConfig
from e2e.once_allowed import OnceAllowed

NAMESPACE = "default"
FINALIZER = "resource.kubernetes.io/delete-protection"
RESULTS: list[DeviceRequestAllocationResult] = [
    {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d0"}
]


@pytest.fixture
async def api() -> AsyncIterator[Connection]:
    async with Server(ServerConfig()) as server, Connection(server.url, token=server.token) as connection:
        yield connection


def claims(*seen: ResourceClaim) -> Claims:
    known = Claims(lambda _: None, lambda _: None)
    for claim in seen:
        known.seen(None, claim)
    return known


async def put_up(api: Connection) -> Fence:
    fence = Fence(api, NoLease(), claims(), lambda gap: None)
    await fence.put_up()
    return fence


async def add_pod(api: Connection, name: str = "pod") -> Object:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return await api.create(PODS, {"metadata": {"name": name}, "spec": spec}, NAMESPACE)


async def add_claim(api: Connection, name: str = "claim", parameters: str = '{"k":1}', *users: Object) -> ResourceClaim:
    """A claim with opaque parameters, allocated and reserved if it has users."""
    request = '{"name":"r","exactly":{"deviceClassName":"gpu"}}'
    config = f'{{"opaque":{{"driver":"d.example.com","parameters":{parameters}}}}}'
    metadata = f'{{"name":"{name}","finalizers":["{FINALIZER}"]}}'
    body = f'{{"metadata":{metadata},"spec":{{"devices":{{"requests":[{request}],"config":[{config}]}}}}}}'
    claim: ResourceClaim = json.loads(await api.request("POST", RESOURCE_CLAIMS.path(NAMESPACE), body.encode()))
    if not users:
        return claim
    reserved = [{"resource": "pods", "name": u["metadata"]["name"], "uid": u["metadata"]["uid"]} for u in users]
    status = {"allocation": {"devices": {"results": RESULTS}}, "reservedFor": reserved}
    return as_claim(await api.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, NAMESPACE))


# Prepares a write that a scheduler has decided on, and returns what sends it.
Late = Callable[[Connection], Awaitable[Callable[[Binder], Awaitable[None]]]]


async def allocation(api: Connection) -> Callable[[Binder], Awaitable[None]]:
    pod, claim = await add_pod(api), await add_claim(api)
    allocations: dict[str, AllocationResult] = {claim["metadata"]["uid"]: {"devices": {"results": RESULTS}}}
    return lambda binder: binder.prepare(Decision(PodInfo(pod), "n1", [claim], allocations))


async def reservation(api: Connection) -> Callable[[Binder], Awaitable[None]]:
    pod, other = await add_pod(api), await add_pod(api, "other")
    claim = await add_claim(api, "claim", "{}", other)
    return lambda binder: binder.prepare(Decision(PodInfo(pod), "n1", [claim], {}))


async def deallocation(api: Connection) -> Callable[[Binder], Awaitable[None]]:
    claim = await add_claim(api, "claim", "{}", await add_pod(api))
    return lambda binder: binder.deallocate(claim)


async def undone_allocation(api: Connection) -> Callable[[Binder], Awaitable[None]]:
    pod = await add_pod(api)
    claim = await add_claim(api, "claim", "{}", pod)
    decision = Decision(PodInfo(pod), "n1", [claim], {claim["metadata"]["uid"]: claim["status"]["allocation"]})
    return lambda binder: binder.undo(decision)


async def undone_reservation(api: Connection) -> Callable[[Binder], Awaitable[None]]:
    pod, other = await add_pod(api), await add_pod(api, "other")
    claim = await add_claim(api, "claim", "{}", pod, other)
    return lambda binder: binder.undo(Decision(PodInfo(pod), "n1", [claim], {}))


async def binding(api: Connection) -> Callable[[Binder], Awaitable[None]]:
    await api.create(NODES, {"metadata": {"name": "n1"}})
    pod = await add_pod(api)
    return lambda binder: binder.bind(Decision(PodInfo(pod), "n1", [], {}))


LATE_WRITES = [allocation, reservation, deallocation, undone_allocation, undone_reservation, binding]


async def everything(api: Connection) -> list[Object]:
    listed = [await api.list(resource) for resource in (RESOURCE_CLAIMS, PODS)]
    return [item for found in listed for item in found["items"]]


@pytest.mark.parametrize("late", LATE_WRITES)
async def test_a_write_decided_before_the_fence_is_refused_after_it(api: Connection, late: Late) -> None:
    write = await late(api)
    known = claims(*(await api.list(RESOURCE_CLAIMS))["items"])
    await put_up(api)
    before = await everything(api)
    with pytest.raises((LeaseLost, Conflict)):
        await write(Binder(api, known, OnceAllowed()))
    assert await everything(api) == before


@pytest.mark.parametrize("late", LATE_WRITES)
async def test_without_a_fence_that_write_succeeds(api: Connection, late: Late) -> None:
    """The same without the fence, to show that it is the fence that refuses."""
    write = await late(api)
    known = claims(*(await api.list(RESOURCE_CLAIMS))["items"])
    before = await everything(api)
    await write(Binder(api, known, OnceAllowed()))
    assert await everything(api) != before


@pytest.mark.parametrize("late", LATE_WRITES)
async def test_a_second_fence_of_the_same_scheduler_holds_as_well(api: Connection, late: Late) -> None:
    fence = await put_up(api)
    write = await late(api)
    await fence.put_up()
    known = claims(*(await api.list(RESOURCE_CLAIMS))["items"])
    await fence.put_up()
    with pytest.raises((LeaseLost, Conflict)):
        await write(Binder(api, known, OnceAllowed()))


@pytest.mark.parametrize("parameters", ['{"k": 1}', '{"b":1, "a":"<\\u00e9>"}', '{"n":1e2}', '{"a":1,"a":2}'])
async def test_claims_are_fenced_however_their_parameters_are_spelled(api: Connection, parameters: str) -> None:
    await add_claim(api, "pending", parameters)
    await add_claim(api, "allocated", parameters, await add_pod(api))
    fence = await put_up(api)
    assert fence.is_complete
    for claim in (await api.list(RESOURCE_CLAIMS))["items"]:
        assert FENCE in claim["metadata"]["annotations"]


async def test_pods_that_no_late_binding_can_reach_are_left_alone(api: Connection) -> None:
    await api.create(NODES, {"metadata": {"name": "n1"}})
    containers = [{"name": "c", "image": "i"}]
    gates = [{"name": "example.com/gate"}]
    specs: dict[str, Object] = {"bound": {"nodeName": "n1"}, "gated": {"schedulingGates": gates}, "waiting": {}}
    for name, spec in specs.items():
        await api.create(PODS, {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}, NAMESPACE)
    await put_up(api)
    fenced = [pod for pod in (await api.list(PODS))["items"] if FENCE in (pod["metadata"].get("annotations") or {})]
    assert [pod["metadata"]["name"] for pod in fenced] == ["waiting"]


async def test_a_pod_that_changed_in_what_scheduling_ignores_is_bound(api: Connection) -> None:
    await api.create(NODES, {"metadata": {"name": "n1"}})
    pod = await add_pod(api)
    await api.patch(PODS, "pod", {"metadata": {"annotations": {"a": "b"}}}, NAMESPACE)
    await Binder(api, claims(), NoLease()).bind(Decision(PodInfo(pod), "n1", [], {}))
    assert (await api.get(PODS, "pod", NAMESPACE))["spec"]["nodeName"] == "n1"


async def test_a_pod_that_asks_for_something_else_by_now_is_not_bound(api: Connection) -> None:
    await api.create(NODES, {"metadata": {"name": "n1"}})
    pod = await add_pod(api)
    await api.patch(PODS, "pod", {"metadata": {"labels": {"a": "b"}}}, NAMESPACE)
    with pytest.raises(BindingFailed, match=r"^binding rejected: .*Precondition failed"):
        await Binder(api, claims(), NoLease()).bind(Decision(PodInfo(pod), "n1", [], {}))


class Refusing(Connection):
    """A connection to a server whose policies refuse to change some objects, as long as these are in ``refused``."""

    refused: set[str]

    async def json(self, method: str, path: str, body: Any = None, **options: Any) -> Object:
        if method in ("PUT", "PATCH") and self.refused & set(path.split("/")):
            raise Invalid(422, {"reason": "Invalid", "message": "a policy forbids it"})
        return await super().json(method, path, body, **options)

    async def request(self, method: str, path: str, body: Any = None, **options: Any) -> bytes:
        if method in ("PUT", "PATCH") and self.refused & set(path.split("/")):
            raise ApiError(403, {"reason": "Forbidden", "message": "a policy forbids it"})
        return await super().request(method, path, body, **options)


@pytest.fixture
async def refusing(api: Connection) -> AsyncIterator[Refusing]:
    connection = Refusing(api.server, token=api._token)
    connection.refused = set()
    async with connection:
        yield connection


async def test_an_object_that_refuses_is_named_and_the_others_are_fenced(refusing: Refusing) -> None:
    for name in ("one", "odd", "two"):
        await add_claim(refusing, name)
    refusing.refused = {"odd"}
    told: list[Gap] = []
    fence = Fence(refusing, NoLease(), claims(), told.append)
    await fence.put_up()
    assert not fence.is_complete
    assert [str(gap) for gap in told] == ["ResourceClaim default/odd"]
    listed = (await refusing.list(RESOURCE_CLAIMS))["items"]
    fenced = {c["metadata"]["name"] for c in listed if FENCE in (c["metadata"].get("annotations") or {})}
    assert fenced == {"one", "two"}


@pytest.mark.parametrize("how", ["allowed", "deleted"])
async def test_a_gap_is_closed_when_the_write_is_allowed_or_the_object_is_gone(refusing: Refusing, how: str) -> None:
    claim = await add_claim(refusing, "odd")
    refusing.refused = {"odd"}
    known = claims(claim)
    fence = Fence(refusing, NoLease(), known, lambda gap: None)
    await fence.put_up()
    closed = asyncio.Event()
    closing = asyncio.create_task(fence.close(closed.set))
    refusing.refused = set()
    if how == "deleted":
        await refusing.patch(RESOURCE_CLAIMS, "odd", {"metadata": {"finalizers": None}}, NAMESPACE)
        await refusing.delete(RESOURCE_CLAIMS, "odd", NAMESPACE)
    async with asyncio.timeout(30):
        await closing
    assert closed.is_set()
    assert fence.is_complete


@pytest.mark.parametrize(
    ("gap", "blocked"),
    [
        pytest.param("pending", {"user of pending", "user of other"}, id="no devices are given while any may be taken"),
        pytest.param("allocated", {"user of allocated"}, id="an allocated claim is not used"),
        pytest.param("without", {"without"}, id="a pod is not bound"),
    ],
)
async def test_who_waits_for_a_gap(refusing: Refusing, gap: str, blocked: set[str]) -> None:
    without = await add_pod(refusing, "without")
    pending, other = await add_claim(refusing, "pending"), await add_claim(refusing, "other")
    allocated = await add_claim(refusing, "allocated", "{}", await add_pod(refusing))
    refusing.refused = {gap}
    fence = Fence(refusing, NoLease(), claims(), lambda gap: None)
    await fence.put_up()
    objections = {
        "without": fence.objection(without["metadata"]["uid"], [], allocates=False),
        "user of pending": fence.objection("u", [pending], allocates=True),
        "user of other": fence.objection("u", [other], allocates=True),
        "user of allocated": fence.objection("u", [allocated], allocates=False),
    }
    assert {who for who, why in objections.items() if why} == blocked
    assert all("a policy forbids it" in why for why in objections.values() if why)


async def test_a_fence_ends_with_the_lease(api: Connection) -> None:
    for number in range(3):
        await add_claim(api, f"claim-{number}")
    with pytest.raises(LeaseLost):
        await Fence(api, OnceAllowed(), claims(), lambda gap: None).put_up()
