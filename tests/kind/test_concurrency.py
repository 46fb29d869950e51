"""Nothing goes on unnoticed when a part fails or is cancelled."""

from __future__ import annotations

import asyncio
import threading

import pytest

from drakit_kind.processes.concurrency import in_thread, together


async def test_a_thread_is_waited_for_also_when_its_caller_is_cancelled() -> None:
    loop, began, go_on, ended = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), threading.Event()

    def work() -> None:
        loop.call_soon_threadsafe(began.set)
        go_on.wait(20)
        ended.set()

    task = asyncio.create_task(in_thread(work))
    await began.wait()
    task.cancel()
    loop.call_soon(go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_thread_gives_and_raises_what_its_function_does() -> None:
    assert await in_thread(int, "7f", base=16) == 127
    with pytest.raises(ValueError, match="invalid literal"):
        await in_thread(int, "x")


async def test_a_failure_ends_the_others_before_it_is_raised() -> None:
    ended = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # as a process that is stopped in order
            ended.append("waits")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("no such image")

    with pytest.raises(RuntimeError, match="no such image"):
        await together(waits(), fails(), waits())
    assert ended == ["waits", "waits"]
