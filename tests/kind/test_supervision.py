"""What a supervisor does about ends of components."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from drakit_kind.cli.cluster.endings import lines
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.processes.supervision import Patience, Supervisor, _Component, endings

_BOUND = 20.0


class Place:
    """Where components are started, each when ``go_on`` is set; its clock stands still until somebody moves it."""

    def __init__(self, tmp_path: Path, patience: Patience) -> None:
        self.started: list[str] = []
        self.given_up: list[str] = []
        self.clock = 1000.0
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.home = ClusterHome(tmp_path)
        self.supervisor = Supervisor(self.again, self.given_up.append, self.home.endings, patience)
        self.supervisor.now = lambda: self.clock

    async def again(self, name: str) -> None:
        self.started.append(name)
        self.begun.set()
        await self.go_on.wait()

    async def end(self, name: str, times: int = 1) -> None:
        """Let a component end, each time after it has been started again."""
        for number in range(times):
            self.supervisor.ended(name, f"panic {number}")
            async with asyncio.timeout(_BOUND):
                await self.supervisor.idle()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, Patience(ends=3, seconds=60.0, first_pause=0.0))


async def test_ends_in_a_row_use_up_the_patience(place: Place) -> None:
    await place.end("scheduler", times=3)
    assert place.started == ["scheduler"] * 2
    assert place.given_up == ["scheduler has ended 3 times in a row, the last time: panic 2"]


async def test_ends_of_several_components_are_counted_apart(place: Place) -> None:
    await place.end("scheduler", times=2)
    await place.end("controllers", times=2)
    assert place.given_up == []


async def test_who_has_run_for_a_while_has_all_the_patience_again(place: Place) -> None:
    for _ in range(5):
        await place.end("scheduler", times=2)
        place.clock += 60.0
    assert place.given_up == []
    assert len(place.started) == 10


async def test_a_component_that_ends_while_it_is_started_is_started_once_more(place: Place) -> None:
    place.go_on.clear()
    place.supervisor.ended("scheduler", "panic 0")
    async with asyncio.timeout(_BOUND):
        await place.begun.wait()
        place.supervisor.ended("scheduler", "panic 1")
        place.go_on.set()
        await place.supervisor.idle()
    assert place.started == ["scheduler", "scheduler"]


async def test_nothing_is_started_after_the_end(place: Place) -> None:
    await place.supervisor.stop()
    await place.end("scheduler")
    assert place.started == []


def test_pauses_grow() -> None:
    assert [Patience(first_pause=0.25).pause(ends) for ends in (1, 2, 3, 4)] == [0.25, 0.5, 1.0, 2.0]


async def test_status_tells_how_often_and_why(place: Place) -> None:
    await place.end("scheduler", times=2)
    await place.end("controllers")
    told = lines(endings(place.home.endings))
    assert [line.partition(" at ")[0] for line in told] == [
        "scheduler ended by itself 2 times, the last time",
        "controllers ended by itself once",
    ]
    assert told[0].endswith("Z: panic 1")


def test_status_shows_the_panic_and_not_all_of_its_stack(place: Place) -> None:
    """As ``ServerProcess`` tells an end."""
    stack = "".join(f"\n  \tmain.go:{number}" for number in range(20))
    reason = f"x ended by itself with status 2; the end of x.log:\n  panic: nil map\n  \n  goroutine 1:{stack}"
    place.supervisor._noted("controllers", _Component(), reason)
    (told,) = lines(endings(place.home.endings))
    assert told.splitlines()[1:] == ["  panic: nil map", "  ", "  goroutine 1:"]


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "endings.jsonl").write_bytes(b"{")
    with pytest.raises(ClusterError, match=r"endings.jsonl is damaged: "):
        list(endings(tmp_path / "endings.jsonl"))


def test_where_nothing_has_ended_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert lines(endings(ClusterHome(tmp_path).endings)) == []
