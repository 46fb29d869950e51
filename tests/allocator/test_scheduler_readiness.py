"""Binding conditions: which claims are ready, which never will be, and how long they are waited for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from drakit_allocator.scheduler import readiness
from drakit_allocator.scheduler.claims import Claims
from drakit_allocator.scheduler.readiness import DevicesNotReady, Readiness
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim, as_claim

DEVICE = {"driver": "gpu.example.com", "pool": "p", "device": "d"}
NEEDS = {"request": "r", **DEVICE, "bindingConditions": ["A", "B"], "bindingFailureConditions": ["F"]}
PLAIN = {"request": "r", **DEVICE, "device": "plain"}


def claim(*results: Object, age: float = 0.0, devices: list[Object] | None = None) -> ResourceClaim:
    since = datetime.now(UTC) - timedelta(seconds=age)
    allocation = {"devices": {"results": list(results)}, "allocationTimestamp": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    metadata = {"name": "c", "namespace": "default", "uid": "u", "resourceVersion": "1"}
    return as_claim({"metadata": metadata, "status": {"allocation": allocation, "devices": devices or []}})


def told(**conditions: str) -> list[Object]:
    listed = [{"type": kind, "status": status, "reason": "R", "message": "m"} for kind, status in conditions.items()]
    return [{**DEVICE, "conditions": listed}]


@pytest.mark.parametrize(
    ("devices", "ready"),
    [
        pytest.param([], False, id="no status of the device"),
        pytest.param(told(A="True"), False, id="one of two"),
        pytest.param(told(A="True", B="False"), False, id="one of two is false"),
        pytest.param(told(A="True", B="True"), True, id="both"),
        pytest.param(told(A="True", B="True", F="False"), True, id="a failure that is none"),
        pytest.param([{**told(A="True", B="True")[0], "pool": "q"}], False, id="of another device"),
    ],
)
def test_a_claim_is_ready_when_all_conditions_of_all_devices_are_true(devices: list[Object], ready: bool) -> None:
    assert readiness.is_ready(claim(PLAIN, NEEDS, devices=devices)) is ready


def test_devices_without_conditions_are_always_ready() -> None:
    assert readiness.is_ready(claim(PLAIN))
    assert not readiness.has_conditions(claim(PLAIN))


@pytest.mark.slow
def test_a_failure_counts_even_if_everything_else_is_true() -> None:
    with pytest.raises(DevicesNotReady, match='device binding failed: claim=c, reason=R, message="m"'):
        readiness.is_ready(claim(NEEDS, devices=told(A="True", B="True", F="True")))


@pytest.mark.parametrize(
    ("age", "devices", "unusable"),
    [
        pytest.param(0, [], False, id="there is time left"),
        pytest.param(601, [], True, id="the time is up"),
        pytest.param(601, told(A="True", B="True"), False, id="ready in time, or just after"),
        pytest.param(0, told(F="True"), True, id="failed"),
    ],
)
def test_what_will_never_be_ready_is_unusable(age: float, devices: list[Object], unusable: bool) -> None:
    assert readiness.is_unusable(claim(NEEDS, age=age, devices=devices)) is unusable


def following(*objects: ResourceClaim) -> tuple[Claims, Readiness]:
    known = Claims(lambda claim: None, lambda claim: None)
    for obj in objects:
        known.seen(None, obj)
    return known, Readiness(known)


KEYS = [("default", "c")]


async def test_waiting_ends_when_the_last_condition_becomes_true() -> None:
    known, devices = following(claim(NEEDS))
    waiting = asyncio.create_task(devices.wait(KEYS))
    for conditions in (told(A="True"), told(A="True", B="True")):
        await asyncio.sleep(0)
        assert not waiting.done()
        known.seen(known.get(KEYS[0]), claim(NEEDS, devices=conditions))
        devices.claim_changed()
    await asyncio.wait_for(waiting, 30)


@pytest.mark.slow
async def test_the_time_begins_with_the_allocation_and_not_with_the_pod() -> None:
    """Another pod may have waited for the same claim before."""
    _, devices = following(claim(NEEDS, age=598))
    with pytest.raises(DevicesNotReady, match="device binding timeout: claim=c"):
        await asyncio.wait_for(devices.wait(KEYS), 10)


async def test_a_claim_that_loses_its_allocation_is_not_waited_for() -> None:
    known, devices = following(claim(NEEDS))
    waiting = asyncio.create_task(devices.wait(KEYS))
    await asyncio.sleep(0)
    gone = claim()
    del gone["status"]["allocation"]
    known.seen(known.get(KEYS[0]), gone)
    devices.claim_changed()
    with pytest.raises(DevicesNotReady, match="no longer allocated"):
        await asyncio.wait_for(waiting, 30)
