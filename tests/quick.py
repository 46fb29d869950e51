"""Run only the tests that start no other program and take moments (`make check`); name those that are too slow for it.

    python -m pytest -p tests.quick

A test without the mark ``slow`` that starts a program or uses more than a second of CPU time fails, so that
`make check` stays quick.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from typing import Any

import pytest

# CPU time, which others on the machine do not change much. Nearly all need less than a tenth of it; a test that is
# the first to import a large module pays for it.
_SECONDS = 1.5
_PROGRAM_EVENTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"}
_started: list[str] = []


class StartsProgramError(Exception):
    """A test without the mark ``slow`` starts another program."""


def _refuse_programs(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _PROGRAM_EVENTS and "PYTEST_CURRENT_TEST" in sys.modules["os"].environ:
        _started.append(f"{event} {arguments[:1]}")
        raise StartsProgramError(f"starts a program ({_started[-1]}): mark the test `slow`")


def pytest_configure() -> None:
    """Watch what this process starts, from now on."""
    sys.addaudithook(_refuse_programs)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow tests."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Hold the fixtures of a test to the rules."""
    yield from _watched()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Hold a test to the rules."""
    yield from _watched()


def _watched() -> Generator[None]:
    _started.clear()
    began = time.process_time()
    yield
    if _started:
        pytest.fail(f"starts a program ({_started[0]}): mark the test `slow`", pytrace=False)
    used = time.process_time() - began
    if used > _SECONDS:
        pytest.fail(f"takes {used:.1f} s of CPU time, more than {_SECONDS}: mark the test `slow`", pytrace=False)
