"""What of drakit is on a machine is seen while it is there."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from drakit_kind.nodes.footprint import footprint

SLEEPER = [sys.executable, "-c", "import time; time.sleep(1000)"]
Process = subprocess.Popen[bytes]


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """``start("-m", "x")``: a process with these arguments, killed after the test."""
    started: list[Process] = []

    def run(*arguments: str) -> Process:
        started.append(subprocess.Popen([*SLEEPER, *arguments]))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


def seen(process: Process) -> bool:
    return any(line.startswith(f"process {process.pid} ") for line in footprint())


def test_components_of_drakit_are_seen_without_knowing_where_they_are_until_they_end(
    start: Callable[..., Process],
) -> None:
    component, other = start("-m", "drakit_kind.host", "x"), start()
    deadline = time.monotonic() + 20
    while not seen(component):  # for a moment after its start it has our command line, or none
        assert time.monotonic() < deadline
    assert not seen(other)
    component.kill()
    component.wait()
    assert not seen(component)
