"""The shared lease: one holder, quick hand-over, and who has to put up a fence."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from drakit_allocator.scheduler.leadership.lease import Lease, LeaseLost, LeaseTimes
from drakit_client.connection import Connection
from drakit_client.resources import DEVICE_CLASSES, LEASES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_embedded.apiserver import Server, ServerConfig

QUICK = LeaseTimes(duration=1.0, deadline=0.5, retry=0.05, turn=0.2)


@pytest.fixture
async def api() -> AsyncIterator[Connection]:
    async with Server(ServerConfig()) as server, Connection(server.url, token=server.token) as connection:
        yield connection


def idle() -> bool:
    return False


def busy() -> bool:
    return True


async def acquire(lease: Lease, seconds: float = 10.0) -> bool:
    async with asyncio.timeout(seconds):
        return await lease.acquire(idle)


async def test_a_fresh_cluster_is_led_at_once(api: Connection) -> None:
    lease = Lease(api, "a")
    # Nobody can tell it from one whose lease was deleted.
    assert await acquire(lease, 2.0) is True
    lease.check()


async def test_a_released_lease_is_taken_at_once_and_cleanly(api: Connection) -> None:
    first, second = Lease(api, "a"), Lease(api, "a")
    await acquire(first)
    first.fenced()
    await first.release()
    with pytest.raises(LeaseLost):
        first.check()
    assert await acquire(second, 2.0) is False
    assert (await api.get(LEASES, "drakit-scheduler", "kube-system"))["spec"]["leaseTransitions"] == 2


@pytest.mark.slow
async def test_a_lease_released_before_the_fence_is_complete_stays_unclean_until_one_is(api: Connection) -> None:
    first, second, third, fourth = (Lease(api, "a") for _ in range(4))
    await acquire(first)
    await first.release()
    assert await acquire(second) is True
    await second.release()
    assert await acquire(third) is True
    third.fenced()
    await third.release()
    assert await acquire(fourth) is False


@pytest.mark.slow
async def test_a_lease_that_somebody_emptied_by_hand_has_to_expire_and_is_not_clean(api: Connection) -> None:
    times = LeaseTimes(duration=2.0, deadline=1.5, retry=0.05, turn=0.2)
    holder, other = Lease(api, "a", times), Lease(api, "a", times)
    await acquire(holder)
    holder.fenced()
    await api.patch(LEASES, "drakit-scheduler", {"spec": {"holderIdentity": ""}}, "kube-system")
    taking = asyncio.create_task(other.acquire(idle))
    while not taking.done():
        assert not (holder.is_held() and other.is_held())
        await asyncio.sleep(0.005)
    assert taking.result() is True


async def test_a_lease_that_has_changed_hands_more_often_than_a_number_can_say_is_taken(api: Connection) -> None:
    first = Lease(api, "a")
    await acquire(first)
    first.fenced()
    await first.release()
    await api.patch(LEASES, "drakit-scheduler", {"spec": {"leaseTransitions": 2**31 - 1}}, "kube-system")
    await acquire(Lease(api, "a"))


@pytest.mark.slow
async def test_a_holder_whose_lease_is_deleted_stops_at_once(api: Connection) -> None:
    lease = Lease(api, "a")
    watching = asyncio.create_task(lease.watch())
    await acquire(lease)
    keeper = asyncio.create_task(lease.keep())
    await api.delete(LEASES, "drakit-scheduler", "kube-system")
    async with asyncio.timeout(30):
        with pytest.raises(LeaseLost):
            await keeper
    watching.cancel()
    with pytest.raises(LeaseLost):
        lease.check()


@pytest.mark.slow
async def test_a_deleted_lease_is_taken_when_its_last_holder_must_have_stopped(api: Connection) -> None:
    holder, other = Lease(api, "a", QUICK), Lease(api, "a", QUICK)
    await acquire(holder)
    assert await other._try_acquire(has_work=False) is None
    await api.delete(LEASES, "drakit-scheduler", "kube-system")
    taking = asyncio.create_task(other.acquire(idle))
    while not taking.done():
        assert not (holder.is_held() and other.is_held())
        await asyncio.sleep(0.005)
    assert taking.result() is True


@pytest.mark.slow
async def test_a_held_lease_is_not_taken_while_it_is_renewed(api: Connection) -> None:
    times = LeaseTimes(duration=6.0, deadline=5.0, retry=0.05, turn=0.2)  # a busy machine may stop for some seconds
    first, second = Lease(api, "a", times), Lease(api, "a", times)
    await acquire(first)
    keeper = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquire(idle))
    done, _ = await asyncio.wait([waiting], timeout=1.5 * times.duration)
    assert not done
    first.check()
    for task in (keeper, waiting):
        task.cancel()


@pytest.mark.slow
async def test_a_holder_that_stalls_stops_before_another_takes_over_and_is_fenced_off(api: Connection) -> None:
    stalled, other = Lease(api, "a", QUICK), Lease(api, "a", QUICK)
    await acquire(stalled)
    taking = asyncio.create_task(other.acquire(idle))
    while not taking.done():
        # At no moment may both of them write.
        assert not (stalled.is_held() and other.is_held())
        await asyncio.sleep(0.005)
    assert taking.result() is True
    with pytest.raises(LeaseLost):
        stalled.check()


@pytest.mark.slow
async def test_a_holder_whose_process_is_gone_is_not_waited_for(api: Connection) -> None:
    crashed, heir = Lease(api, "a"), Lease(api, "a")
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()
    crashed.identity = crashed.identity.replace(f"_{os.getpid()}_", f"_{process.pid}_")
    await acquire(crashed)
    assert await acquire(heir, 2.0) is True


async def test_a_holder_of_another_machine_is_waited_for_even_if_no_such_process_is_here(api: Connection) -> None:
    other, heir = Lease(api, "a"), Lease(api, "a")
    other.identity = "a_elsewhere-0123456789ab_999999999_00"
    await acquire(other)
    with pytest.raises(TimeoutError):
        await acquire(heir, 1.0)


async def test_who_lost_its_own_lease_has_to_fence_its_own_late_writes(api: Connection) -> None:
    lease = Lease(api, "a", QUICK)
    await acquire(lease)
    lease.abandon()
    assert await acquire(lease) is True


async def test_a_turn_does_not_end_before_the_fence_is_up(api: Connection) -> None:
    lease = Lease(api, "a", QUICK)
    await acquire(lease)
    lease.asked_for.set()
    ended = asyncio.create_task(lease.turn_ended())
    done, _ = await asyncio.wait([ended], timeout=2 * QUICK.turn)
    assert not done
    lease.begin_turn()
    async with asyncio.timeout(10):
        await ended


async def test_a_scheduler_of_another_name_asks_for_its_turn(api: Connection) -> None:
    first, second = Lease(api, "a", QUICK), Lease(api, "b", QUICK)
    watching = [asyncio.create_task(lease.watch()) for lease in (first, second)]
    await acquire(first)
    keeper = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquire(busy))
    async with asyncio.timeout(10):
        first.begin_turn()
        await first.turn_ended()
        keeper.cancel()
        first.fenced()
        await first.release()
        # The first one has work too, but the second one asked.
        again = asyncio.create_task(first.acquire(busy))
        assert await waiting is False
    assert not again.done()
    for task in (*watching, again):
        task.cancel()


_PROCESS = """
import asyncio, sys
from drakit_allocator.scheduler import Scheduler
from drakit_allocator.scheduler.leadership.lease import LeaseTimes
from drakit_client.connection import Connection

async def main():
    async with Connection(sys.argv[1], token=sys.stdin.readline().strip()) as connection:
        times = LeaseTimes(duration=1.0, deadline=0.5, retry=0.05)
        await Scheduler(connection, lease_times=times).run()

asyncio.run(main())
"""


@asynccontextmanager
async def process(api: Connection) -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", _PROCESS, api.server, stdin=pipe)
    assert started.stdin is not None
    started.stdin.write(f"{api._token}\n".encode())
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            started.kill()
        await started.wait()


async def add_cluster(api: Connection, nodes: int, devices: int) -> None:
    selectors = [{"cel": {"expression": 'device.driver == "d.example.com"'}}]
    await api.create(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}})
    for name in (f"n{i}" for i in range(nodes)):
        await api.create(NODES, {"metadata": {"name": name}})
        await api.patch(NODES, name, {"spec": {"taints": None}})
        status = {"allocatable": {"cpu": "100", "memory": "1Ti", "pods": "500"}}
        await api.patch(NODES, name, {"status": status}, subresource="status")
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        names = [{"name": f"d{i}"} for i in range(devices)]
        spec = {"driver": "d.example.com", "pool": pool, "nodeName": name, "devices": names}
        await api.create(RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})


async def add_work(api: Connection, count: int) -> None:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    for name in (f"p{i}" for i in range(count)):
        await api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, "default")
        claims = [{"name": "c", "resourceClaimName": name}]
        pod = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims}
        await api.create(PODS, {"metadata": {"name": name}, "spec": pod}, "default")


async def devices_in_use(api: Connection) -> list[tuple[str, str]]:
    claims = (await api.list(RESOURCE_CLAIMS))["items"]
    allocations = [(claim.get("status") or {}).get("allocation") or {} for claim in claims]
    return [(r["pool"], r["device"]) for a in allocations for r in a.get("devices", {}).get("results", [])]


@pytest.mark.slow
async def test_a_process_that_is_stopped_and_continued_in_mid_work_never_gives_a_device_out_twice(
    api: Connection,
) -> None:
    await add_cluster(api, nodes=2, devices=40)
    async with process(api) as first, process(api), asyncio.timeout(110):
        working = asyncio.create_task(add_work(api, 100))
        stopped = False
        while len(used := await devices_in_use(api)) < 80:
            assert len(set(used)) == len(used)
            if not stopped and len(used) > 5:
                os.kill(first.pid, signal.SIGSTOP)
                stopped = True
            if len(used) > 60:
                os.kill(first.pid, signal.SIGCONT)
            await asyncio.sleep(0.01)
        await working
        used = await devices_in_use(api)
    assert len(set(used)) == len(used) == 80
