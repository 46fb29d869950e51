"""Run only the tests that start no other program and take moments (`make check`); name those that are too slow for it.

    python -m pytest -p tests.quick

A test without the mark ``slow`` that uses more than a second of CPU time fails, so that `make check` stays quick; so
does one that starts a program (``slow_marks``).
"""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

# CPU time, which others on the machine do not change much. Nearly all need less than a tenth of it; a test that is
# the first to import a large module pays for it.
_SECONDS = 1.5


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow tests."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Hold the fixtures of a test to the rule."""
    yield from _timed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Hold a test to the rule."""
    yield from _timed()


def _timed() -> Generator[None]:
    began = time.process_time()
    yield
    used = time.process_time() - began
    if used > _SECONDS:
        pytest.fail(f"takes {used:.1f} s of CPU time, more than {_SECONDS}: mark the test `slow`", pytrace=False)
