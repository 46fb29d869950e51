"""Stories of pods whose devices get a NoExecute taint, in slices or by rules (KEP-5055)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import DEVICE_TAINT_RULES, EVENTS, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_embedded import controllers as package

pytestmark = pytest.mark.slow

Until = Callable[..., Awaitable[Any]]
Start = Callable[..., Awaitable[None]]
NS = "default"
DRIVER = "gpu.example.com"
KEY = "example.com/broken"
TOLERATED = {"key": KEY, "operator": "Exists", "effect": "NoExecute"}


class Story:
    """Pods that use one device each, as a scheduler and a kubelet have left them."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def runs(self, name: str, *, device: str = "gpu-0", tolerations: list[Object] | None = None) -> None:
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        claim = {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
        made = await self.connection.create(RESOURCE_CLAIMS, claim, NS)
        container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
        spec = {
            "nodeName": "n",
            "containers": [container],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
        }
        pod = await self.connection.create(PODS, {"metadata": {"name": name}, "spec": spec}, NS)
        result = {"request": "gpu", "driver": DRIVER, "pool": "n", "device": device}
        if tolerations:
            result["tolerations"] = tolerations  # type: ignore[assignment]
        user = {"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
        await self.connection.replace_status(RESOURCE_CLAIMS, {**made, "status": status}, NS)

    async def publishes(self, *devices: Object) -> Object:
        pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": list(devices)}
        return await self.connection.create(RESOURCE_SLICES, {"metadata": {"name": "slice"}, "spec": spec})

    async def rule(self, effect: str = "NoExecute", **selector: str) -> None:
        spec = {"deviceSelector": {"driver": DRIVER, **selector}, "taint": {"key": KEY, "effect": effect}}
        await self.connection.create(DEVICE_TAINT_RULES, {"metadata": {"name": "rule"}, "spec": spec})

    async def is_ending(self, name: str) -> bool:
        """Whether the pod was deleted; its kubelet would end it."""
        try:
            pod = await self.connection.get(PODS, name, NS)
        except NotFound:
            return True
        return "deletionTimestamp" in pod["metadata"]

    def ends(self, name: str) -> Callable[[], Awaitable[bool]]:
        return lambda: self.is_ending(name)

    async def told(self, name: str) -> list[str]:
        events = (await self.connection.list(EVENTS, NS, field_selector=f"involvedObject.name={name}"))["items"]
        return [f"{event['reason']}: {event['message']}" for event in events]


@pytest.fixture
def story(connection: Connection) -> Story:
    return Story(connection)


@pytest.fixture
async def start(connection: Connection) -> AsyncIterator[Start]:
    """Start the controllers with some gates off."""
    tasks: list[asyncio.Task[None]] = []

    async def run(*off: str) -> None:
        ready = asyncio.Event()
        gates = FeatureGates(overrides=dict.fromkeys(off, False))
        tasks.append(asyncio.create_task(package.run(connection, gates=gates, ready=ready)))
        await ready.wait()

    yield run
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def tainted(name: str, effect: str = "NoExecute") -> Object:
    return {"name": name, "taints": [{"key": KEY, "effect": effect}]}


async def test_a_taint_in_a_slice_evicts_the_pods_of_its_device(story: Story, start: Start, until: Until) -> None:
    await start()
    await story.runs("user")
    await story.runs("neighbour", device="gpu-1")
    await story.publishes(tainted("gpu-0"), {"name": "gpu-1"})
    await until(story.ends("user"))
    pod = await story.connection.get(PODS, "user", NS)
    condition = {key: pod["status"]["conditions"][0][key] for key in ("type", "status", "reason", "message")}
    assert condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByDeviceTaintManager",
        "message": "Device Taint manager: deleting due to NoExecute taint",
    }

    async def told() -> list[str]:
        return await story.told("user")

    assert await until(told) == ["DeviceTaintManagerEviction: Marking for deletion"]
    assert not await story.is_ending("neighbour")


@pytest.mark.parametrize(
    ("selector", "hit"),
    [({}, True), ({"pool": "n"}, True), ({"pool": "n", "device": "gpu-0"}, True), ({"device": "gpu-1"}, False)],
)
async def test_a_rule_evicts_what_it_selects(
    story: Story, start: Start, until: Until, selector: dict[str, str], hit: bool
) -> None:
    await story.runs("user")
    await story.runs("other", device="gpu-1")
    await story.rule(**selector)
    await start()
    await until(story.ends("user" if hit else "other"))
    assert await story.is_ending("user") == hit


async def test_a_claim_that_is_allocated_a_tainted_device_is_evicted_too(
    story: Story, start: Start, until: Until
) -> None:
    await story.rule()
    await start()
    await story.runs("late")
    await until(story.ends("late"))


@pytest.mark.parametrize(
    ("tolerations", "evicted"),
    [
        ([TOLERATED], False),
        ([{**TOLERATED, "tolerationSeconds": 3600}], False),
        ([{**TOLERATED, "tolerationSeconds": 0}], True),
        # As upstream has it, a toleration of all effects does not count.
        ([{"key": KEY, "operator": "Exists"}], True),
        ([{**TOLERATED, "key": "example.com/other"}], True),
        ([{**TOLERATED, "operator": "Equal", "value": "x"}], True),
    ],
)
async def test_tolerations_of_the_allocation_count(
    story: Story, start: Start, until: Until, tolerations: list[Object], evicted: bool
) -> None:
    await start()
    await story.runs("tolerant", tolerations=tolerations)
    await story.runs("other", device="gpu-1")
    await story.rule()
    await until(story.ends("other"))
    if evicted:
        await until(story.ends("tolerant"))
    assert await story.is_ending("tolerant") == evicted


async def test_a_pod_is_evicted_when_its_time_is_over_unless_the_taint_went_before(
    story: Story, start: Start, until: Until
) -> None:
    await start()
    await story.runs("soon", tolerations=[{**TOLERATED, "tolerationSeconds": 2}])
    await story.runs("later", device="gpu-1", tolerations=[{**TOLERATED, "tolerationSeconds": 3600}])
    await story.rule()
    await until(story.ends("soon"))
    await story.connection.delete(DEVICE_TAINT_RULES, "rule")

    async def cancelled() -> bool:
        return "DeviceTaintManagerEviction: Cancelling deletion" in await story.told("later")

    await until(cancelled)
    assert not await story.is_ending("later")


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
async def test_other_effects_evict_nobody(story: Story, start: Start, until: Until, effect: str) -> None:
    await start()
    await story.runs("user")
    await story.runs("other", device="gpu-1")
    await story.rule(effect, device="gpu-0")
    await story.publishes({"name": "gpu-0"}, tainted("gpu-1"))
    await until(story.ends("other"))
    assert not await story.is_ending("user")


async def test_without_their_gate_rules_evict_nobody(story: Story, start: Start, until: Until) -> None:
    await start("DRADeviceTaintRules")
    await story.runs("user")
    await story.runs("other", device="gpu-1")
    await story.rule(device="gpu-0")
    await story.publishes({"name": "gpu-0"}, tainted("gpu-1"))
    await until(story.ends("other"))
    assert not await story.is_ending("user")
