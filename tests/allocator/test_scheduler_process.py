"""The scheduler against a real API server: what ends up in claims, pods and events."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from drakit_allocator.scheduler import Scheduler
from drakit_allocator.scheduler.binding import Binder, Decision
from drakit_allocator.scheduler.cycle import Cycle
from drakit_allocator.scheduler.leadership.lease import LeaseTimes
from drakit_allocator.scheduler.nodes.cluster import NodeInfo
from drakit_allocator.scheduler.nodes.filters import Rejection, reject
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.pace import Pace
from drakit_allocator.search import Search
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_client.resources import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from drakit_embedded.apiserver import Server, ServerConfig

pytestmark = pytest.mark.slow

NAMESPACE = "default"
DRIVER = "gpu.example.com"
FINALIZER = "resource.kubernetes.io/delete-protection"
# Quick to hand over, but no machine is so slow that the lease is lost by accident.
TIMES = LeaseTimes(duration=4.0, deadline=3.0, retry=0.1, turn=0.2)


@pytest.fixture
async def api() -> AsyncIterator[Connection]:
    async with Server(ServerConfig()) as server, Connection(server.url, token=server.token) as connection:
        yield connection


@asynccontextmanager
async def scheduling(api: Connection, name: str = "default-scheduler", **options: Any) -> AsyncIterator[Scheduler]:
    async with Connection(api.server, token=api._token) as own:
        options = {"backoff": Backoff(initial=0.05, longest=0.5), "lease_times": TIMES, **options}
        scheduler = Scheduler(own, name=name, **options)
        task = asyncio.create_task(scheduler.run())
        try:
            yield scheduler
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 30.0) -> Any:
    async with asyncio.timeout(seconds):
        while not (result := await condition()):  # noqa: ASYNC110 - the server cannot tell us
            await asyncio.sleep(0.01)
        return result


async def add_node(api: Connection, name: str = "n1", devices: int = 0, **spec: Any) -> None:
    allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    node = await api.create(NODES, {"metadata": {"name": name}, "spec": spec})
    await api.patch(
        NODES, name, {"status": {"allocatable": allocatable, "capacity": allocatable}}, subresource="status"
    )
    # A server may taint new nodes until somebody says that they are ready.
    await api.patch(NODES, name, {"spec": {"taints": spec.get("taints")}})
    assert node["metadata"]["name"] == name
    if devices:
        await add_devices(api, name, devices)


async def add_devices(api: Connection, node: str, devices: int) -> None:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": node, "devices": [{"name": f"d{i}"} for i in range(devices)]}
    await api.create(RESOURCE_SLICES, {"metadata": {"name": f"slice-{node}"}, "spec": spec})


async def add_class(api: Connection, name: str = "gpu") -> None:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    await api.create(DEVICE_CLASSES, {"metadata": {"name": name}, "spec": {"selectors": selectors}})


async def add_claim(api: Connection, name: str = "claim", device_class: str = "gpu") -> Object:
    request = {"name": "r", "exactly": {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1}}
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"devices": {"requests": [request]}}}
    return await api.create(RESOURCE_CLAIMS, body, NAMESPACE)


async def add_pod(api: Connection, name: str = "pod", *claims: str, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": spec.pop("requests", {"cpu": "10m"})}}
    body = {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": f"c{i}", "resourceClaimName": claim} for i, claim in enumerate(claims)],
            **spec,
        },
    }
    return await api.create(PODS, body, NAMESPACE)


async def bound(api: Connection, name: str = "pod") -> Object:
    async def look() -> Object | None:
        pod = await api.get(PODS, name, NAMESPACE)
        return pod if pod["spec"].get("nodeName") else None

    pod: Object = await until(look)
    return pod


async def claim_of(api: Connection, name: str = "claim") -> Object:
    return await api.get(RESOURCE_CLAIMS, name, NAMESPACE)


async def event(api: Connection, reason: str, name: str = "pod", containing: str = "") -> str:
    async def look() -> str | None:
        events = (await api.list(EVENTS, NAMESPACE))["items"]
        found = [e["message"] for e in events if e["reason"] == reason and e["involvedObject"]["name"] == name]
        return next((message for message in found if containing in message), None)

    message: str = await until(look)
    return message


def condition(pod: Object) -> Object | None:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == "PodScheduled"), None)


async def all_items(api: Connection, resource: Resource) -> list[Object]:
    return list((await api.list(resource))["items"])


async def test_a_pod_is_bound_and_its_event_says_so(api: Connection) -> None:
    await add_node(api)
    async with scheduling(api):
        await add_pod(api)
        assert (await bound(api))["spec"]["nodeName"] == "n1"
        assert await event(api, "Scheduled") == "Successfully assigned default/pod to n1"


async def test_a_claim_is_protected_allocated_and_reserved_before_its_pod_is_bound(api: Connection) -> None:
    await add_node(api, devices=1)
    await add_class(api)
    await add_claim(api)
    async with scheduling(api):
        await add_pod(api, "pod", "claim")
        pod = await bound(api)
        claim = await claim_of(api)
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    assert [r["device"] for r in claim["status"]["allocation"]["devices"]["results"]] == ["d0"]
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "pod", "uid": pod["metadata"]["uid"]}]


async def test_a_scheduler_without_the_defects_of_kubernetes_says_which_it_avoids(api: Connection) -> None:
    await add_node(api)
    await add_class(api)
    counters = [{"name": name, "counters": {"u": {"value": value}}} for name, value in (("a", "5"), ("b", "2"))]
    drawn = [("d0", "a", "1"), ("d1", "b", "3")]
    devices = [
        {"name": name, "consumesCounters": [{"counterSet": one, "counters": {"u": {"value": amount}}}]}
        for name, one, amount in drawn
    ]
    for name, content in (("devices", {"devices": devices}), ("counters", {"sharedCounters": counters})):
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
        spec = {"driver": DRIVER, "pool": pool, "nodeName": "n1", **content}
        await api.create(RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})
    held = await add_claim(api, "old")
    result = {"request": "r", "driver": DRIVER, "pool": "p", "device": "d1"}
    held["status"] = {"allocation": {"devices": {"results": [result]}}}
    await api.replace_status(RESOURCE_CLAIMS, held, NAMESPACE)
    await add_claim(api)
    async with scheduling(api):
        await add_pod(api, "pod", "claim")
        await event(api, "FailedScheduling", containing="would fit but for Kubernetes' defect overdraftBlocksPool")
    async with scheduling(api, compat="safe"):
        await bound(api)
        message = await event(api, "UpstreamDefectAvoided")
        assert message.startswith("on n1: one overdrawn counter blocks all devices of its pool")
        assert f"(d0 by counter set b of {DRIVER}/p, held by default/old): does not fit in Kubernetes" in message


async def test_an_unschedulable_pod_says_why_and_a_new_node_helps_at_once(api: Connection) -> None:
    await add_node(api, "small", taints=[{"key": "k", "effect": "NoSchedule"}])
    await add_node(api, "tiny")
    async with scheduling(api):
        await add_pod(api, requests={"cpu": "9"}, tolerations=[])
        expected = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
        assert await event(api, "FailedScheduling") == expected

        async def told() -> Object | None:
            return condition(await api.get(PODS, "pod", NAMESPACE))

        found = await until(told)
        assert (found["status"], found["reason"], found["message"]) == ("False", "Unschedulable", expected)
        await api.patch(NODES, "tiny", {"status": {"allocatable": {"cpu": "9"}}}, subresource="status")
        assert (await bound(api))["spec"]["nodeName"] == "tiny"


async def test_without_nodes_pods_wait_for_the_first(api: Connection) -> None:
    async with scheduling(api):
        await add_pod(api)
        assert await event(api, "FailedScheduling") == "no nodes available to schedule pods"
        await add_node(api)
        await bound(api)


async def test_a_missing_claim_is_waited_for_without_a_word(api: Connection) -> None:
    """As kube-scheduler does with pods that PreEnqueue rejects: seen with 1.37.1, which tells nothing for 30 s."""
    await add_node(api, devices=1)
    await add_class(api)
    async with scheduling(api):
        await add_pod(api, "pod", "claim")
        await add_pod(api, "huge", requests={"cpu": "999"})
        await event(api, "FailedScheduling", "huge")
        assert condition(await api.get(PODS, "pod", NAMESPACE)) is None
        await add_claim(api)
        await bound(api)
        await event(api, "Scheduled")
        events = (await api.list(EVENTS, NAMESPACE))["items"]
        assert [e["reason"] for e in events if e["involvedObject"]["name"] == "pod"] == ["Scheduled"]


async def test_a_missing_class_is_waited_for_and_told(api: Connection) -> None:
    await add_node(api, devices=1)
    await add_claim(api)
    async with scheduling(api):
        await add_pod(api, "pod", "claim")
        message = await event(api, "FailedScheduling")
        assert message == "0/1 nodes are available: request r: device class gpu does not exist."
        await add_class(api)
        await bound(api)


async def test_pods_that_want_more_devices_than_there_are_wait_until_one_is_given_back(api: Connection) -> None:
    await add_node(api, devices=1)
    await add_class(api)
    for name in ("first", "second"):
        await add_claim(api, name)
    async with scheduling(api):
        await add_pod(api, "first", "first")
        await bound(api, "first")
        await add_pod(api, "second", "second")
        message = await event(api, "FailedScheduling", "second")
        in_use = "n1: request r: 1 device: 1 are in use (d0 by default/first)."
        assert message == f"0/1 nodes are available: 1 cannot allocate all claims. {in_use}"
        claim = await claim_of(api, "first")
        await api.delete(PODS, "first", NAMESPACE, grace_period_seconds=0)
        await api.replace_status(RESOURCE_CLAIMS, {**claim, "status": {}}, NAMESPACE)
        await bound(api, "second")


async def test_pods_share_a_claim_wherever_its_devices_are(api: Connection) -> None:
    await add_node(api, "n1")
    await add_node(api, "n2", devices=1)
    await add_class(api)
    await add_claim(api)
    names = [f"pod-{i}" for i in range(10)]
    async with scheduling(api):
        await asyncio.gather(*(add_pod(api, name, "claim") for name in names))
        pods = [await bound(api, name) for name in names]
        claim = await claim_of(api)
    assert {pod["spec"]["nodeName"] for pod in pods} == {"n2"}
    assert {c["name"] for c in claim["status"]["reservedFor"]} == set(names)


async def test_a_claim_has_a_limited_number_of_consumers(api: Connection) -> None:
    await add_class(api)
    await add_node(api, devices=1)
    claim = await add_claim(api)
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "d0"}
    consumers = [{"resource": "pods", "name": f"p{number}", "uid": f"u{number}"} for number in range(256)]
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": consumers}
    await api.replace(RESOURCE_CLAIMS, {**claim, "status": status}, NAMESPACE, subresource="status")
    await add_pod(api, "pod", "claim")
    async with scheduling(api):
        message = await event(api, "FailedScheduling")
        assert message.startswith("0/1 nodes are available: resourceclaim in use: default/claim")
        await api.patch(
            RESOURCE_CLAIMS, "claim", {"status": {"reservedFor": consumers[1:]}}, NAMESPACE, subresource="status"
        )
        await bound(api)


async def test_only_own_pods_are_scheduled_and_gates_are_respected(api: Connection) -> None:
    await add_node(api)
    async with scheduling(api):
        await add_pod(api, "foreign", schedulerName="other")
        await add_pod(api, "gated", schedulingGates=[{"name": "example.com/wait"}])
        await add_pod(api, "own")
        await bound(api, "own")
        for name in ("foreign", "gated"):
            assert not (await api.get(PODS, name, NAMESPACE))["spec"].get("nodeName")
        await api.patch(PODS, "gated", {"spec": {"schedulingGates": None}}, NAMESPACE)
        await bound(api, "gated")


async def test_a_broken_selector_is_an_error_of_the_scheduler(api: Connection) -> None:
    await add_node(api, devices=1)
    selectors = [{"cel": {"expression": 'device.attributes["x"].y == 1'}}]
    await api.create(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}})
    await add_claim(api)
    async with scheduling(api) as scheduler:
        await add_pod(api, "pod", "claim")
        assert "no such key" in await event(api, "FailedScheduling")
        found = condition(await until(lambda: api.get(PODS, "pod", NAMESPACE)))
        assert found is None or found["reason"] == "SchedulerError"
        assert scheduler.counters.errors >= 1


async def device_counts(api: Connection) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for claim in await all_items(api, RESOURCE_CLAIMS):
        for result in ((claim.get("status") or {}).get("allocation") or {}).get("devices", {}).get("results", []):
            counts[result["pool"], result["device"]] += 1
    return counts


async def assert_consistent(api: Connection) -> int:
    """Each device at most once; a pod is bound exactly when its claim is allocated there and reserved for it."""
    counts = await device_counts(api)
    assert not [device for device, count in counts.items() if count > 1]
    claims = {claim["metadata"]["name"]: claim for claim in await all_items(api, RESOURCE_CLAIMS)}
    on_node = 0
    for pod in await all_items(api, PODS):
        status = claims[pod["spec"]["resourceClaims"][0]["resourceClaimName"]].get("status") or {}
        node = pod["spec"].get("nodeName")
        on_node += bool(node)
        if not node:
            assert not status.get("allocation")
            continue
        assert [r["pool"] for r in status["allocation"]["devices"]["results"]] == [node]
        assert [c["uid"] for c in status["reservedFor"]] == [pod["metadata"]["uid"]]
    assert on_node == sum(counts.values())
    return on_node


@pytest.mark.parametrize("names", [("one", "two"), ("same", "same")], ids=["of-different-names", "of-one-name"])
async def test_two_schedulers_racing_never_give_a_device_out_twice(api: Connection, names: tuple[str, str]) -> None:
    for node in range(4):
        await add_node(api, f"n{node}", devices=10)
    await add_class(api)
    await asyncio.gather(*(add_claim(api, f"c{i}") for i in range(100)))
    async with scheduling(api, names[0]), scheduling(api, names[1]):
        await asyncio.gather(*(add_pod(api, f"p{i}", f"c{i}", schedulerName=names[i % 2]) for i in range(100)))

        async def full() -> bool:
            return sum((await device_counts(api)).values()) >= 40

        await until(full, 60)

        async def decided() -> bool:
            pods = await all_items(api, PODS)
            return all(pod["spec"].get("nodeName") or condition(pod) for pod in pods)

        await until(decided, 60)
    assert await assert_consistent(api) == 40
    schedulers_of_bound = {p["spec"]["schedulerName"] for p in await all_items(api, PODS) if p["spec"].get("nodeName")}
    assert schedulers_of_bound <= set(names)


async def test_stopping_in_the_middle_leaves_nothing_half_done_and_the_next_one_starts_at_once(api: Connection) -> None:
    for node in range(4):
        await add_node(api, f"n{node}", devices=25)
    await add_class(api)
    await asyncio.gather(*(add_claim(api, f"c{i}") for i in range(100)))
    # A lease that a slow machine does not lose: here it is given up, not lost.
    async with scheduling(api, lease_times=LeaseTimes()) as scheduler:
        await scheduler.synced.wait()
        await asyncio.gather(*(add_pod(api, f"p{i}", f"c{i}") for i in range(100)))

        async def some() -> bool:
            return scheduler.counters.scheduled > 5

        await until(some)
    assert (await api.get(LEASES, "drakit-scheduler", "kube-system"))["spec"]["holderIdentity"] == ""
    await assert_consistent(api)
    async with scheduling(api, lease_times=LeaseTimes()):

        async def all_bound() -> bool:
            return sum((await device_counts(api)).values()) == 100

        # A lease that nobody had given up would be waited for 15 s.
        await until(all_bound, 12)
        await until(lambda: event(api, "Scheduled", "p99"))
    assert await assert_consistent(api) == 100


async def test_a_bound_pod_that_is_deleted_makes_room(api: Connection) -> None:
    await add_node(api)
    async with scheduling(api) as scheduler:
        for turn in range(5):
            await add_pod(api, f"big-{turn}", requests={"cpu": "8"})
            await bound(api, f"big-{turn}")
            await api.delete(PODS, f"big-{turn}", NAMESPACE, grace_period_seconds=0)

        async def empty() -> bool:
            return not scheduler.state.cluster.pods and not scheduler.state.binding

        await until(empty)


async def test_what_a_lost_lease_interrupted_is_done_in_the_next_term(api: Connection) -> None:
    await add_node(api, devices=1)
    await add_class(api)
    await add_claim(api)
    async with scheduling(api) as scheduler:
        await scheduler.synced.wait()
        replace = scheduler._binder._connection.replace
        lost = asyncio.Event()

        async def lose_first(*arguments: Any, **options: Any) -> Object:
            if not lost.is_set():
                lost.set()
                scheduler.lease.abandon()
                raise OSError("cut off")
            return await replace(*arguments, **options)

        scheduler._binder._connection.replace = lose_first  # type: ignore[method-assign]
        for name in ("one", "two"):
            await add_pod(api, name, "claim")
        await asyncio.gather(bound(api, "one"), bound(api, "two"))
        assert lost.is_set()
    assert len((await claim_of(api))["status"]["reservedFor"]) == 2


async def test_a_claim_is_allocated_however_its_parameters_are_spelled(api: Connection) -> None:
    await add_node(api, devices=1)
    await add_class(api)
    request = '{"name":"r","exactly":{"deviceClassName":"gpu"}}'
    config = f'{{"opaque":{{"driver":"{DRIVER}","parameters":{{"k": 1}}}}}}'
    body = f'{{"metadata":{{"name":"claim"}},"spec":{{"devices":{{"requests":[{request}],"config":[{config}]}}}}}}'
    await api.request("POST", RESOURCE_CLAIMS.path(NAMESPACE), body.encode())
    async with scheduling(api):
        await add_pod(api, "pod", "claim")
        await bound(api)
    assert (await claim_of(api))["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]


GUARD = (
    "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() "
    "for optional fields"
)


@pytest.mark.parametrize("at", ["the decision", "the binding"])
async def test_a_pod_that_nobody_has_thought_of_is_told_tried_again_and_keeps_no_other(
    api: Connection, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    await add_node(api, devices=2)
    await add_class(api)
    for claim in ("one", "two"):
        await add_claim(api, claim)
    decide, bind = Cycle.decide, Binder.bind

    def odd(pod: PodInfo) -> None:
        if pod.name == "odd":
            raise OverflowError("int too large")

    async def no_decision(cycle: Cycle, pod: PodInfo, pace: Pace) -> Decision:
        odd(pod)
        return await decide(cycle, pod, pace)

    async def no_binding(binder: Binder, decision: Decision) -> None:
        odd(decision.pod)
        await bind(binder, decision)

    async def gave_back() -> bool:
        return "allocation" not in (await claim_of(api, "one")).get("status", {})

    if at == "the decision":
        monkeypatch.setattr(Cycle, "decide", no_decision)
    else:
        monkeypatch.setattr(Binder, "bind", no_binding)
    async with scheduling(api) as scheduler:
        await add_pod(api, "odd", "one")
        message = "internal error of the scheduler: OverflowError: int too large"
        assert await event(api, "FailedScheduling", "odd") == message
        await add_pod(api, "even", "two")
        await bound(api, "even")
        # It is given devices whenever it is tried, and they are taken back.
        await until(gave_back)
        monkeypatch.undo()
        await bound(api, "odd")
        assert scheduler.counters.scheduled == 2


async def test_an_odd_node_keeps_no_pod_from_the_others(api: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("odd", "even"):
        await add_node(api, name)

    def cannot_judge(pod: PodInfo, node: NodeInfo) -> Rejection | None:
        if node.name == "odd":
            raise ZeroDivisionError
        return reject(pod, node)

    monkeypatch.setattr("drakit_allocator.scheduler.nodes.rankings.reject", cannot_judge)
    async with scheduling(api):
        await add_pod(api)
        assert (await bound(api))["spec"]["nodeName"] == "even"
        await add_pod(api, "large", requests={"cpu": "100"})
        assert "1 node(s) cannot be judged, see the scheduler's log" in await event(api, "FailedScheduling", "large")


# One device has the attribute, the other has not.
NEEDS_IT = f'device.attributes["{DRIVER}"].there'


async def add_unequal_nodes(api: Connection) -> None:
    """``fits`` has a device with the attribute, and gets pods first; ``lacks`` has one without it."""
    attributes: dict[str, Object] = {"fits": {"there": {"bool": True}}, "lacks": {}}
    for name, attributes_of_node in attributes.items():
        await add_node(api, name)
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": "d", "attributes": attributes_of_node}]
        spec = {"driver": DRIVER, "pool": pool, "nodeName": name, "devices": devices}
        await api.create(RESOURCE_SLICES, {"metadata": {"name": f"slice-{name}"}, "spec": spec})


async def add_selecting_claim(api: Connection, expression: str, *, in_class: bool) -> None:
    selectors = [{"cel": {"expression": expression}}]
    await api.create(
        DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors if in_class else []}}
    )
    exactly = {"deviceClassName": "gpu", "selectors": [] if in_class else selectors}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    await api.create(RESOURCE_CLAIMS, {"metadata": {"name": "claim"}, "spec": spec}, NAMESPACE)


@pytest.mark.parametrize(
    ("expression", "in_class", "message"),
    [
        (
            NEEDS_IT,
            False,
            f"claim default/claim: selector #0 on device {{}}: CEL runtime error: no such key: there. {GUARD}",
        ),
        (NEEDS_IT, True, f"class gpu: selector #0 on device {{}}: CEL runtime error: no such key: there. {GUARD}"),
    ],
    ids=["of the claim", "of its class"],
)
async def test_a_selector_that_fails_on_one_node_keeps_the_pod_from_all(
    api: Connection, expression: str, in_class: bool, message: str
) -> None:
    await add_unequal_nodes(api)
    await add_selecting_claim(api, expression, in_class=in_class)
    async with scheduling(api) as scheduler:
        await add_pod(api, "pod", "claim")
        told = await event(api, "FailedScheduling")
        assert told == 'running "DynamicResources" filter plugin: ' + message.format(f"{DRIVER}/lacks/d")
        await until(lambda: seen(scheduler.counters.errors >= 3 or None))
        condition = (await api.get(PODS, "pod", NAMESPACE))["status"]["conditions"][0]
        assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SchedulerError", told)
        assert scheduler.counters.scheduled == 0


async def test_devices_that_no_search_visits_end_no_attempt(api: Connection) -> None:
    await add_unequal_nodes(api)
    await add_selecting_claim(api, NEEDS_IT, in_class=False)
    await api.patch(NODES, "lacks", {"spec": {"unschedulable": True}})
    async with scheduling(api):
        await add_pod(api, "pod", "claim")
        assert (await bound(api))["spec"]["nodeName"] == "fits"


@pytest.mark.parametrize("mended", ["slice", "node"])
async def test_a_pod_is_scheduled_when_the_selector_fails_nowhere_any_more(api: Connection, mended: str) -> None:
    await add_unequal_nodes(api)
    await add_selecting_claim(api, NEEDS_IT, in_class=False)
    async with scheduling(api):
        await add_pod(api, "pod", "claim")
        await event(api, "FailedScheduling", containing="CEL runtime error")
        if mended == "slice":
            devices = [{"name": "d", "attributes": {"there": {"bool": False}}}]
            pool = {"name": "lacks", "generation": 2, "resourceSliceCount": 1}
            await api.patch(RESOURCE_SLICES, "slice-lacks", {"spec": {"pool": pool, "devices": devices}})
        else:
            await api.delete(NODES, "lacks")
        assert (await bound(api))["spec"]["nodeName"] == "fits"


async def test_a_node_that_comes_to_fail_is_noticed_by_the_next_pod(api: Connection) -> None:
    await add_node(api, "n1", devices=2)
    await add_selecting_claim(api, f'device.attributes["{DRIVER}"].?there.orValue(1) > 0', in_class=True)
    await add_claim(api, "other")
    async with scheduling(api):
        await add_pod(api, "first", "claim")
        await bound(api, "first")
        await add_node(api, "n2")
        pool = {"name": "n2", "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": "d", "attributes": {"there": {"string": "x"}}}]
        spec = {"driver": DRIVER, "pool": pool, "nodeName": "n2", "devices": devices}
        await api.create(RESOURCE_SLICES, {"metadata": {"name": "slice-n2"}, "spec": spec})
        await add_pod(api, "second", "other")
        assert "no such overload" in await event(api, "FailedScheduling", "second")


class Stubborn(Connection):
    """A connection to a server that refuses the fence at one claim."""

    stubborn = ""

    async def json(self, method: str, path: str, body: Any = None, **options: Any) -> Object:
        if method == "PATCH" and self.stubborn and path.endswith(f"/resourceclaims/{self.stubborn}"):
            raise ApiError(403, {"reason": "Forbidden", "message": "a policy forbids it"})
        return await super().json(method, path, body, **options)


async def test_a_claim_that_cannot_be_fenced_is_named_and_holds_up_only_what_it_must(api: Connection) -> None:
    await add_node(api, devices=2)
    await add_class(api)
    for claim in ("odd", "other"):
        await add_claim(api, claim)
    own = Stubborn(api.server, token=api._token)
    own.stubborn = "odd"
    async with own:
        scheduler = Scheduler(own, backoff=Backoff(initial=0.05, longest=0.5), lease_times=TIMES)
        task = asyncio.create_task(scheduler.run())
        await add_pod(api, "with-devices", "other")
        await add_pod(api, "without")
        await bound(api, "without")
        message = await event(api, "FailedScheduling", "with-devices")
        assert "ResourceClaim default/odd may still get a write of it" in message
        assert "a policy forbids it" in await event(api, "FencingFailed", "odd")
        assert "drakit.dev/clean" not in (await held_lease(api))["metadata"].get("annotations", {})
        own.stubborn = ""
        await bound(api, "with-devices")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "drakit.dev/clean" in (await held_lease(api))["metadata"]["annotations"]


async def held_lease(api: Connection) -> Object:
    return await api.get(LEASES, "drakit-scheduler", "kube-system")


async def add_taint_rule(api: Connection, version: str) -> Resource:
    resource = DEVICE_TAINT_RULES.in_version(version)
    taint = {"key": "maintenance", "value": "now", "effect": "NoSchedule"}
    rule = {"metadata": {"name": "r"}, "spec": {"deviceSelector": {"driver": DRIVER}, "taint": taint}}
    await api.create(resource, rule)
    return resource


@pytest.mark.parametrize(("emulated", "version"), [("1.35", "v1alpha3"), ("1.36", "v1beta2"), ("1.37", "v1")])
async def test_taint_rules_are_followed_in_the_newest_version_that_is_served(emulated: str, version: str) -> None:
    gates = FeatureGates(emulated, {"DRADeviceTaints": True, "DRADeviceTaintRules": True})
    config = ServerConfig(gates=gates, runtime_config={f"resource.k8s.io/{version}": "true"})
    async with Server(config) as server, Connection(server.url, token=server.token) as api:
        await add_class(api)
        await add_node(api, devices=1)
        rules = await add_taint_rule(api, version)
        await add_claim(api)
        await add_pod(api, "pod", "claim")
        async with scheduling(api, gates=gates):
            await event(api, "FailedScheduling", containing="maintenance=now:NoSchedule")
            await api.delete(rules, "r")
            await bound(api)


@pytest.mark.parametrize("emulated", ["1.34", "1.36", "1.37"])
async def test_taint_rules_that_are_not_served_or_switched_off_are_done_without(emulated: str) -> None:
    gates = FeatureGates(emulated, {"DRADeviceTaintRules": False} if emulated == "1.37" else None)
    config = ServerConfig(gates=FeatureGates(emulated))
    async with Server(config) as server, Connection(server.url, token=server.token) as api:
        await add_class(api)
        await add_node(api, devices=1)
        if emulated == "1.37":
            await add_taint_rule(api, "v1")
        await add_claim(api)
        await add_pod(api, "pod", "claim")
        async with scheduling(api, gates=gates):
            await bound(api)


async def test_a_deleted_pod_takes_nothing_with_it(api: Connection) -> None:
    await add_node(api, devices=1)
    await add_class(api)
    await add_claim(api)
    async with scheduling(api) as scheduler:
        await add_pod(api, "gone", nodeSelector={"no": "where"})
        await event(api, "FailedScheduling", "gone")
        await api.delete(PODS, "gone", NAMESPACE, grace_period_seconds=0)

        async def forgotten() -> bool:
            return not scheduler.state.queue.entries

        await until(forgotten)
        await add_pod(api, "pod", "claim")
        await bound(api)


async def test_an_unused_allocation_in_the_wrong_place_is_given_back(api: Connection) -> None:
    await add_node(api, "n1", devices=1)
    await add_node(api, "n2", devices=1)
    await add_class(api)
    claim = await add_claim(api)
    selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    results = [{"request": "r", "driver": DRIVER, "pool": "n1", "device": "d0"}]
    claim["metadata"]["finalizers"] = [FINALIZER]
    claim = await api.replace(RESOURCE_CLAIMS, claim, NAMESPACE)
    status = {"allocation": {"devices": {"results": results}, "nodeSelector": selector}}
    await api.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, NAMESPACE)
    async with scheduling(api):
        # n1 is full, so the claim must move.
        await add_pod(api, "full", nodeName="n1", requests={"cpu": "8"})
        await add_pod(api, "pod", "claim")
        assert (await bound(api))["spec"]["nodeName"] == "n2"


async def allocate_elsewhere(api: Connection, claim: Object, node: str) -> None:
    """The claim has a device of that node, and a consumer that keeps it."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    allocation = {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": node, "device": "d0"}]},
        "nodeSelector": {"nodeSelectorTerms": [term]},
    }
    user = {"apiGroup": "example.com", "resource": "users", "name": "keeper", "uid": "keeper"}
    status = {"allocation": allocation, "reservedFor": [user]}
    await api.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, NAMESPACE)


async def test_what_one_claim_lacks_is_told_before_where_the_other_one_is(api: Connection) -> None:
    """kube-scheduler asks the allocator on every node, also where an allocated claim cannot be reached."""
    await add_node(api, "n1", devices=1)
    await add_node(api, "n2", devices=1)
    await add_node(api, "n3")
    await add_class(api)
    await allocate_elsewhere(api, await add_claim(api, "there"), "n1")
    await add_claim(api, "here")
    async with scheduling(api):
        await add_pod(api, "pod", "there", "here")
        message = await event(api, "FailedScheduling")
    assert message.startswith(
        "0/3 nodes are available: 1 resourceclaim not available on the node, 2 cannot allocate all claims. "
    )


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ([{}], "1 node(s) didn't match Pod's node affinity/selector"),
        ([("n1", "n2")], "pod affinity terms conflict"),
        ([("n2",)], "1 node(s) didn't satisfy plugin(s) [NodeAffinity]"),
    ],
)
async def test_required_node_names_are_told_as_kube_scheduler_does(
    api: Connection, terms: list[Any], reason: str
) -> None:
    def named(*names: str) -> Object:
        return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}

    await add_node(api, "n1")
    selector = {"nodeSelectorTerms": [named(*term) if term else {} for term in terms]}
    async with scheduling(api):
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
        await add_pod(api, "pod", affinity=affinity)
        assert await event(api, "FailedScheduling") == f"0/1 nodes are available: {reason}."


async def test_refused_writes_give_everything_back(api: Connection) -> None:
    await add_node(api, devices=1)
    await add_class(api)
    await add_claim(api)
    async with scheduling(api) as scheduler:
        bind = scheduler._binder._connection.create
        refusals = 0

        async def refuse_once(resource: Resource, *arguments: Any, **options: Any) -> Object:
            nonlocal refusals
            if resource is PODS and not refusals:
                refusals += 1
                claim = await claim_of(api)
                assert claim["status"]["reservedFor"]
                raise ApiError(403, {"reason": "Forbidden", "message": "not today"})
            return await bind(resource, *arguments, **options)

        scheduler._binder._connection.create = refuse_once  # type: ignore[method-assign]
        await add_pod(api, "pod", "claim")
        assert await event(api, "FailedScheduling") == "binding rejected: not today"
        await bound(api)
    assert await assert_consistent(api) == 1


class Obstruction:
    """Searches for devices begin, and end only when they are let through; meanwhile they count their steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = asyncio.Event()
        self.is_open = False
        walk = Search.walk

        def obstructed(search: Search, steps: int) -> bool | None:
            self.begun.set()
            time.sleep(0.001)
            return walk(search, steps) if self.is_open else None

        monkeypatch.setattr(Search, "walk", obstructed)


@pytest.fixture
def obstruction(monkeypatch: pytest.MonkeyPatch) -> Obstruction:
    return Obstruction(monkeypatch)


async def add_work(api: Connection) -> None:
    await add_class(api)
    await add_node(api, devices=1)
    await add_claim(api)
    await add_pod(api, "pod", "claim")


async def test_a_long_search_holds_up_neither_lease_nor_server(api: Connection, obstruction: Obstruction) -> None:
    await add_work(api)
    async with scheduling(api) as scheduler:
        await obstruction.begun.wait()
        begin = time.monotonic()
        while time.monotonic() < begin + TIMES.duration:
            assert scheduler.lease.is_held()
            await api.get(PODS, "pod", NAMESPACE)
        obstruction.is_open = True
        await bound(api)
        assert scheduler.counters.attempts == 1


async def test_a_search_begins_again_when_its_devices_change(api: Connection, obstruction: Obstruction) -> None:
    await add_work(api)
    async with scheduling(api) as scheduler:
        await obstruction.begun.wait()
        await api.delete(RESOURCE_SLICES, "slice-n1")
        await add_node(api, "n2", devices=1)
        await until(lambda: seen(scheduler.state.cluster.get("n2")))
        obstruction.is_open = True
        assert (await bound(api))["spec"]["nodeName"] == "n2"
        assert (await claim_of(api))["status"]["allocation"]["devices"]["results"][0]["pool"] == "n2"


async def seen(thing: object) -> bool:
    return thing is not None


@pytest.mark.parametrize(
    ("change", "attempts"), [({"annotations": {"a": "b"}}, 1), ({"labels": {"a": "b"}}, 2)], ids=["nothing", "labels"]
)
async def test_a_pod_that_changes_during_a_search_is_scheduled_once(
    api: Connection, obstruction: Obstruction, change: Object, attempts: int
) -> None:
    await add_work(api)
    async with scheduling(api) as scheduler:
        await obstruction.begun.wait()
        await api.patch(PODS, "pod", {"metadata": change}, NAMESPACE)
        await until(lambda: seen((scheduler._pods.get("pod", NAMESPACE) or {})["metadata"].get(next(iter(change)))))
        obstruction.is_open = True
        await bound(api)
        await until(lambda: seen(scheduler.counters.scheduled or None))
        assert (scheduler.counters.attempts, scheduler.counters.scheduled) == (attempts, 1)
        assert not scheduler.state.queue.entries


async def test_a_pod_that_goes_during_a_search_takes_nothing(api: Connection, obstruction: Obstruction) -> None:
    await add_work(api)
    async with scheduling(api) as scheduler:
        await obstruction.begun.wait()
        await api.delete(PODS, "pod", NAMESPACE, grace_period_seconds=0)
        await until(lambda: seen(None if scheduler._pods.get("pod", NAMESPACE) else True))
        obstruction.is_open = True
        await until(lambda: seen(None if scheduler.state.deciding else True))
        assert not scheduler.state.queue.entries
        assert "allocation" not in (await claim_of(api)).get("status", {})


async def test_a_device_given_back_during_a_search_that_fails_is_not_missed(
    api: Connection, obstruction: Obstruction
) -> None:
    await add_class(api)
    await add_node(api, "n1", devices=2)
    await add_node(api, "n2", devices=1)
    for claim in ("one", "other", "third", "fourth"):
        await add_claim(api, claim)
    obstruction.is_open = True
    async with scheduling(api):
        await add_pod(api, "first", "one", "other")
        await bound(api, "first")
        obstruction.is_open = False
        obstruction.begun.clear()
        # There is nothing left on n1, which needs no search. On n2 each claim has a device, but both need one each.
        await add_pod(api, "second", "third", "fourth")
        await obstruction.begun.wait()
        await api.delete(PODS, "first", NAMESPACE)
        status = {"status": {"allocation": None, "reservedFor": None}}
        for claim in ("one", "other"):
            freed = {"metadata": {"name": claim}, **status}
            await api.patch(RESOURCE_CLAIMS, claim, freed, NAMESPACE, subresource="status")
        obstruction.is_open = True
        await bound(api, "second")


async def test_a_turn_that_ends_lets_the_search_end_first(api: Connection, obstruction: Obstruction) -> None:
    await add_work(api)
    async with scheduling(api) as first:
        await obstruction.begun.wait()
        await add_pod(api, "other", schedulerName="b")
        async with scheduling(api, "b"):
            await asyncio.wait_for(first.lease.turn_ended(), 30)
            obstruction.is_open = True
            await bound(api)
            await bound(api, "other")
        assert first.counters.attempts == 1


async def test_a_lease_lost_during_a_search_does_not_lose_the_pod(api: Connection, obstruction: Obstruction) -> None:
    await add_work(api)
    async with scheduling(api) as scheduler:
        await obstruction.begun.wait()
        lease = await api.get(LEASES, "drakit-scheduler", "kube-system")
        usurped = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 1}}
        await api.patch(LEASES, "drakit-scheduler", usurped, "kube-system")
        await until(lambda: seen(None if scheduler.lease.is_held() else True))
        obstruction.is_open = True
        await bound(api)
    assert lease["spec"]["holderIdentity"] != "usurper"


READY, BROKEN = "example.com/attached", "example.com/broken"


async def add_attachable_work(api: Connection) -> None:
    """A pod whose device is on the node once its conditions say so."""
    await add_class(api)
    await add_node(api)
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "d0", "bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}]
    spec = {"driver": DRIVER, "pool": pool, "nodeName": "n1", "devices": devices}
    await api.create(RESOURCE_SLICES, {"metadata": {"name": "slice"}, "spec": spec})
    await add_claim(api)
    await add_pod(api, "pod", "claim")


async def report(api: Connection, kind: str) -> None:
    """What the driver says of the device."""
    now = "2026-01-01T00:00:00Z"
    told = {"type": kind, "status": "True", "reason": "R", "message": "as told", "lastTransitionTime": now}
    status = {"devices": [{"driver": DRIVER, "pool": "n1", "device": "d0", "conditions": [told]}]}
    await api.patch(RESOURCE_CLAIMS, "claim", {"status": status}, NAMESPACE, subresource="status")


async def test_a_pod_is_bound_when_its_devices_are_ready(api: Connection) -> None:
    await add_attachable_work(api)
    async with scheduling(api):
        assert await event(api, "BindingConditionsPending") == "waiting for binding conditions for device on node n1"
        status = (await claim_of(api))["status"]
        assert status["reservedFor"]
        assert "nodeName" not in (await api.get(PODS, "pod", NAMESPACE))["spec"]
        await report(api, READY)
        await bound(api)


async def test_devices_that_cannot_be_attached_are_given_back(api: Connection) -> None:
    await add_attachable_work(api)
    async with scheduling(api, backoff=Backoff(initial=60, longest=60)):
        await event(api, "BindingConditionsPending")
        await report(api, BROKEN)
        message = await event(api, "FailedScheduling")
        assert message == 'device binding failed: claim=claim, reason=R, message="as told"'

        async def free() -> bool:
            status = (await claim_of(api)).get("status", {})
            return not status.keys() & {"allocation", "reservedFor", "devices"}

        await until(free)


async def test_stopping_does_not_wait_for_devices(api: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of such a binding is on its way: the lease is passed on at once, and the next scheduler waits on."""
    monkeypatch.setattr("drakit_allocator.scheduler.scheduler._DRAIN", 1000.0)  # longer than a test may take
    await add_attachable_work(api)
    async with scheduling(api):
        await event(api, "BindingConditionsPending")
    assert (await api.get(LEASES, "drakit-scheduler", "kube-system"))["spec"]["holderIdentity"] == ""
    async with scheduling(api):
        await report(api, READY)
        await bound(api)


async def test_without_the_feature_conditions_are_not_waited_for(api: Connection) -> None:
    await add_attachable_work(api)
    async with scheduling(api):
        await event(api, "BindingConditionsPending")
    async with scheduling(api, gates=FeatureGates("1.37", {"DRADeviceBindingConditions": False})):
        await bound(api)
