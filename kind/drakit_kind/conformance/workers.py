"""A pytest plugin that lets workers of pytest-xdist end in order when a run is interrupted.

By itself, pytest-xdist interrupts its workers five seconds later, and kills them after five more, which is less than
pods and clusters take to end. ``runs`` interrupts all processes at once, as a terminal does; here the first one waits
for the others.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

# Less than the time that the whole run has; see ``runs``.
_SECONDS = 55.0


def pytest_configure(config: pytest.Config) -> None:
    """Wait in the process that has started the others."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Waiting(), "drakit-workers")


class _Waiting:
    def __init__(self) -> None:
        self._workers: list[Any] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        self._workers.append(node)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus != pytest.ExitCode.INTERRUPTED:
            return
        deadline = time.monotonic() + _SECONDS
        for worker in self._workers:
            # The exception says that the run was interrupted, or that time is over.
            with contextlib.suppress(Exception):
                worker.channel.waitclose(max(0.0, deadline - time.monotonic()))
