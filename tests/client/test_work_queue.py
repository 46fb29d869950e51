"""The work queue: each key once, never twice at a time, again after a failure."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from drakit_client.backoff import Backoff
from drakit_client.work_queue import NotYet, WorkQueue

Until = Callable[..., Awaitable[Any]]
K = TypeVar("K", bound=Hashable)


@asynccontextmanager
async def running(queue: WorkQueue[K]) -> AsyncIterator[None]:
    task = asyncio.create_task(queue.run())
    yield
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_key_added_many_times_is_worked_on_once(until: Until) -> None:
    done: list[str] = []

    async def sync(key: str) -> None:
        done.append(key)

    queue = WorkQueue(sync, name="test")
    for _ in range(3):
        queue.add("a")
    queue.add("b")
    async with running(queue):
        await until(lambda: len(done) >= 2)
        assert done == ["a", "b"]


async def test_a_key_that_changes_while_worked_on_is_worked_on_again_afterwards(until: Until) -> None:
    active: set[str] = set()
    overlap: list[str] = []
    done: list[str] = []
    release = asyncio.Event()

    async def sync(key: str) -> None:
        overlap.extend(active & {key})
        active.add(key)
        await release.wait()
        active.discard(key)
        done.append(key)

    queue = WorkQueue(sync, name="test")
    async with running(queue):
        queue.add("a")
        await until(lambda: active)
        queue.add("a")
        queue.add("a")
        release.set()
        await until(lambda: done == ["a", "a"])
    assert not overlap


async def test_failures_are_tried_again_with_growing_delays(until: Until) -> None:
    times: list[float] = []

    async def sync(key: str) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) < 5:
            raise NotYet("wait")

    queue = WorkQueue(sync, name="test", backoff=Backoff(0.02, 16.0))
    async with running(queue):
        queue.add("a")
        await until(lambda: len(times) == 5)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert all(gap >= wanted * 0.99 for gap, wanted in zip(gaps, (0.02, 0.04, 0.08, 0.16), strict=True))


async def test_a_bug_in_one_key_does_not_stop_the_others(until: Until, caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    async def sync(key: str) -> None:
        if key == "bad":
            raise KeyError("bug")
        done.append(key)

    queue = WorkQueue(sync, name="test")
    async with running(queue):
        queue.add("bad")
        queue.add("good")
        await until(lambda: done == ["good"])
    assert "test bad failed" in caplog.text


async def test_what_is_in_order_and_may_last_is_not_told_aloud(until: Until, caplog: pytest.LogCaptureFixture) -> None:
    tried: list[str] = []

    async def sync(key: str) -> None:
        tried.append(key)
        raise NotYet(f"{key} is missing", level=logging.DEBUG if key == "quiet" else logging.INFO)

    queue = WorkQueue(sync, name="test")
    with caplog.at_level(logging.INFO):
        async with running(queue):
            queue.add("quiet")
            queue.add("told")
            await until(lambda: len(tried) >= 2)
    assert "told is missing" in caplog.text
    assert "quiet is missing" not in caplog.text


async def test_the_earlier_of_two_times_wins(until: Until) -> None:
    done: list[str] = []

    async def sync(key: str) -> None:
        done.append(key)

    queue = WorkQueue(sync, name="test")
    async with running(queue):
        queue.add_after("a", 60)
        queue.add_after("a", 0.01)
        queue.add_after("a", 60)
        await until(lambda: done == ["a"])


async def test_a_returned_number_is_a_time_to_come_back(until: Until) -> None:
    done: list[str] = []

    async def sync(key: str) -> float | None:
        done.append(key)
        return 0.01 if len(done) < 3 else None

    queue = WorkQueue(sync, name="test")
    async with running(queue):
        queue.add("a")
        await until(lambda: len(done) == 3)


async def test_no_more_keys_at_once_than_the_limit(until: Until) -> None:
    active: set[int] = set()
    most: list[int] = []
    done: list[int] = []

    async def sync(key: int) -> None:
        active.add(key)
        most.append(len(active))
        await asyncio.sleep(0)
        active.discard(key)
        done.append(key)

    queue = WorkQueue(sync, name="test", limit=2)
    for key in range(10):
        queue.add(key)
    async with running(queue):
        await until(lambda: len(done) == 10)
    assert max(most) == 2


async def test_who_is_told_of_failures_may_end_the_queue_and_run_it_again(until: Until) -> None:
    """Also the key whose turn it was just then, and that had not begun."""
    told: list[tuple[str, str, float]] = []
    done: list[str] = []

    async def sync(key: str) -> None:
        if not told:
            raise NotYet("wait")
        done.append(key)

    async def failed(key: str, error: Exception, delay: float) -> None:
        told.append((key, str(error), delay))
        raise LookupError(key)

    queue = WorkQueue(sync, name="test", limit=1, backoff=Backoff(0.5, 16.0), failed=failed)
    for key in "ab":
        queue.add(key)
    with pytest.raises(ExceptionGroup) as caught:
        await queue.run()
    assert caught.group_contains(LookupError, match="a")
    assert (told, done) == ([("a", "wait", 0.5)], [])
    for key in "ab":
        queue.add(key)
    async with running(queue):
        await until(lambda: sorted(done) == ["a", "b"])
