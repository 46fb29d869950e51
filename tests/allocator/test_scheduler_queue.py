"""The scheduling queue: order, backoff, and events that retry what they can help and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.queue import DEFAULT_BACKOFF, SchedulingQueue
from drakit_client.backoff import Backoff


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def pod(name: str, priority: int = 0) -> PodInfo:
    return PodInfo({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"priority": priority}})


async def popped(queue: SchedulingQueue) -> str | None:
    """The name of the next pod, None if the queue would wait."""
    try:
        async with asyncio.timeout(0.01):
            return (await queue.pop()).pod.name
    except TimeoutError:
        return None


async def test_highest_priority_first_then_first_come() -> None:
    queue = SchedulingQueue()
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        queue.add(pod(name, priority))
    assert [await popped(queue) for _ in range(5)] == ["b", "d", "a", "c", None]


@pytest.mark.slow
async def test_a_waiting_pop_gets_a_pod_that_comes_later() -> None:
    queue = SchedulingQueue()
    waiting = asyncio.create_task(queue.pop())
    await asyncio.sleep(0)
    queue.add(pod("late"))
    async with asyncio.timeout(30):
        assert (await waiting).pod.name == "late"


async def test_a_deleted_pod_is_not_tried() -> None:
    queue = SchedulingQueue()
    queue.add(pod("gone"))
    queue.delete("gone")
    assert await popped(queue) is None


async def test_a_rejected_pod_waits_for_an_event_that_concerns_its_rejector() -> None:
    queue = SchedulingQueue(Backoff(0.0, 10.0))
    queue.add(pod("p"))
    queue.rejected(await queue.pop(), ["NodeResourcesFit"])
    assert await popped(queue) is None
    assert queue.move({"DynamicResources": lambda _: True}) == 0
    assert queue.move({"NodeResourcesFit": lambda _: False}) == 0
    assert await popped(queue) is None
    assert queue.move({"NodeResourcesFit": lambda waiting: waiting.name == "p"}) == 1
    assert await popped(queue) == "p"


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (9, 10), (1_000_000, 10)]
)
def test_backoff_doubles_up_to_its_limit(failures: int, seconds: float) -> None:
    assert DEFAULT_BACKOFF.seconds(failures) == seconds


async def test_after_an_error_the_pod_waits_its_time() -> None:
    clock = Clock()
    queue = SchedulingQueue(clock=clock)
    queue.add(pod("p"))
    queue.errored(await queue.pop())
    assert await popped(queue) is None
    clock.now += 1.0
    entry = await queue.pop()
    queue.errored(entry)
    clock.now += 1.5
    assert await popped(queue) is None
    clock.now += 0.5
    assert await popped(queue) == "p"


async def test_a_pod_that_backs_off_after_a_verdict_is_tried_early_when_nothing_else_is_to_do() -> None:
    queue = SchedulingQueue(clock=Clock())
    queue.add(pod("rejected"))
    queue.rejected(await queue.pop(), ["NodeAffinity"])
    queue.move({"NodeAffinity": lambda _: True})
    queue.add(pod("fresh"))
    assert [await popped(queue), await popped(queue)] == ["fresh", "rejected"]


async def test_a_pod_held_before_it_was_tried_has_no_backoff() -> None:
    queue = SchedulingQueue(clock=Clock())
    queue.hold(pod("p"), ["DynamicResources"])
    assert await popped(queue) is None
    queue.activate("p")
    entry = await queue.pop()
    assert (entry.pod.name, entry.failures) == ("p", 0)


async def test_a_held_pod_is_moved_by_no_event() -> None:
    """PreEnqueue would reject it again: only who holds it knows when it may be tried."""
    clock = Clock()
    queue = SchedulingQueue(clock=clock)
    queue.hold(pod("p"), ["DynamicResources"])
    assert queue.move({"DynamicResources": lambda _: True}) == 0
    clock.now += 302
    queue.retry_stale()
    assert await popped(queue) is None


async def test_an_unschedulable_pod_is_tried_again_in_the_end_without_any_event() -> None:
    clock = Clock()
    queue = SchedulingQueue(clock=clock)
    queue.add(pod("p"))
    queue.rejected(await queue.pop(), ["NodeAffinity"])
    clock.now += 302
    queue.retry_stale()
    assert await popped(queue) == "p"
