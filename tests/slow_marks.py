"""Fail a test that starts another program without the mark ``slow``, so that `make check` stays quick.

Loaded by `make test`, too: whoever writes a test learns it there, and not from the next one's `make check`.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

_PROGRAM_EVENTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"}


class StartsProgramError(Exception):
    """A test without the mark ``slow`` starts another program."""


def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch."""
    config.pluginmanager.register(_SlowMarks())


class _SlowMarks:
    """Watches what the tests of this process start, from when it is made."""

    def __init__(self) -> None:
        self._watching = False
        self._started: list[str] = []
        sys.addaudithook(self._refuse_programs)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Hold the fixtures of a test to the rule."""
        yield from self._watched(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Hold a test to the rule."""
        yield from self._watched(item)

    def _watched(self, item: pytest.Item) -> Generator[None]:
        self._started.clear()
        self._watching = item.get_closest_marker("slow") is None
        try:
            yield
        finally:
            self._watching = False
        # Told here as well, in case what started it has caught the refusal.
        if self._started:
            pytest.fail(_refusal(self._started[0]), pytrace=False)

    def _refuse_programs(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._watching and event in _PROGRAM_EVENTS:
            self._started.append(f"{event} {arguments[:1]}")
            raise StartsProgramError(_refusal(self._started[-1]))


def _refusal(program: str) -> str:
    return f"starts a program ({program}): mark the test `slow`"
