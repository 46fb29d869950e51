"""What of drakit is on a machine: seen while it is there, and waited for until it is gone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_kind.nodes.footprint import footprint, left_behind

SLEEPER = [sys.executable, "-c", "import time; time.sleep(1000)"]
Process = subprocess.Popen[bytes]


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """``start("--root-dir=x")``: a process with these arguments, killed after the test."""
    started: list[Process] = []

    def run(*arguments: str) -> Process:
        started.append(subprocess.Popen([*SLEEPER, *arguments]))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


def of(process: Process, found: frozenset[str] | list[str]) -> list[str]:
    return [line for line in found if line.startswith(f"process {process.pid} ")]


def wait_seen(process: Process, home: Path | None = None) -> None:
    """Until it has its own command line: for a moment after its start it has ours, or none."""
    deadline = time.monotonic() + 20
    while not of(process, footprint(home)):
        assert time.monotonic() < deadline


def test_processes_that_mention_the_clusters_directory_are_its_own(
    tmp_path: Path, start: Callable[..., Process]
) -> None:
    own, other = start(f"--root-dir={tmp_path}/n/node-1"), start()
    wait_seen(own, tmp_path)
    assert not of(other, footprint(tmp_path))
    own.kill()
    own.wait()
    assert not of(own, footprint(tmp_path))


def test_components_of_drakit_are_seen_without_knowing_where_they_are(start: Callable[..., Process]) -> None:
    wait_seen(start("-m", "drakit_kind.host", "x"))


def test_what_goes_away_in_time_is_not_left_behind(tmp_path: Path, start: Callable[..., Process]) -> None:
    before = footprint(tmp_path)
    process = start(str(tmp_path))
    wait_seen(process, tmp_path)
    assert of(process, left_behind(before, tmp_path, seconds=0.3))

    def end() -> None:
        process.kill()
        process.wait()

    ending = threading.Timer(0.3, end)
    ending.start()
    assert not of(process, left_behind(before, tmp_path, seconds=20))
    ending.join()
