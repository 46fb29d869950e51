"""Long work in a thread: others get turns often, and the garbage collector, in which they get none, does not start."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from drakit_embedded.serving.background import Background


@pytest.fixture
def background() -> Iterator[Background]:
    background = Background("test")
    yield background
    background.close()


def collections_of_a_large_tree() -> int:
    """How often the collector started while a tree was made."""
    started: list[str] = []

    def note(phase: str, _info: object) -> None:
        started.append(phase)

    gc.callbacks.append(note)
    try:
        tree = [[number] for number in range(50_000)]
    finally:
        gc.callbacks.remove(note)
    assert len(tree) == 50_000
    return started.count("start")


@pytest.mark.parametrize("run", [Background.run, Background.run_to_the_end])
async def test_nothing_is_collected_while_something_long_is_done(background: Background, run: object) -> None:
    assert collections_of_a_large_tree() > 0
    assert callable(run)
    assert await run(background, collections_of_a_large_tree) == 0
    assert collections_of_a_large_tree() > 0


async def test_threads_change_more_often_while_something_long_is_done(background: Background) -> None:
    """What a small request waits for at each of its readings and writings."""
    before = sys.getswitchinterval()
    assert await background.run(sys.getswitchinterval) <= before / 5
    assert sys.getswitchinterval() == before


async def test_what_is_collected_afterwards_is_as_it_was_before(background: Background) -> None:
    gc.disable()
    try:
        assert not await background.run(gc.isenabled)
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(ZeroDivisionError):
        await background.run(lambda: 1 // 0)
    assert gc.isenabled()


async def test_the_last_one_that_ends_starts_it_again(background: Background) -> None:
    other, begun, go_on = Background("other"), threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return go_on.wait(10)

    long = asyncio.create_task(other.run(wait))
    try:
        assert await asyncio.to_thread(begun.wait, 10)
        assert not await background.run(gc.isenabled)
        assert not gc.isenabled()
    finally:
        go_on.set()
        await long
        other.close()
    assert gc.isenabled()
