"""Nothing of drakit stays on a machine after the suite ran on real nodes, or in kind, however it ended.

Compared is the machine itself: processes, mounts, control groups, interfaces, packet filter rules, kernel settings,
files; for kind also containers, volumes and networks. These tests want it for themselves, so they are not part of the
parallel suite: ``make e2e-leftovers``, as root, and ``pytest e2e/machine --cluster kind``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.machine.backends import Backend, Ending, Run, output_of, running_in

_RUN_SECONDS = 500.0
_GONE_SECONDS = 90.0
# A pod runs on a real node: there is a container, its sandbox, its network, its devices are prepared.
_STORY = """
import os, pathlib, signal
from drakit_kind.manifests import claim, pod, request

def test_that_is_killed(cluster, api, driver):
    gpu = driver("a100-40gb")
    api.create(claim("part", request("gpu", gpu.name)), pod("user", "part"))
    api.wait_running("user")
    pathlib.Path("running.new").write_text(str(cluster.kubeconfig.parent))
    pathlib.Path("running.new").rename("running")
    if os.environ["HOLD"] == "true":
        signal.pause()
"""


@contextmanager
def _suite(backend: Backend, directory: Path, *, hold: bool) -> Iterator[Run]:
    """A test run on real nodes, in a session of its own."""
    (directory / "test_it.py").write_text(_STORY)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *backend.options]
    with (directory / "output").open("wb") as output:
        run = subprocess.Popen(
            command, cwd=directory, stdout=output, stderr=output, start_new_session=True,
            env={**os.environ, "HOLD": str(hold).lower(), "TMPDIR": tempfile.gettempdir()},
        )  # fmt: skip
    try:
        yield run
    finally:
        run.kill()
        run.wait()


def _left_behind(backend: Backend, before: frozenset[str]) -> list[str]:
    """What is there and was not before, once there is nothing, or when everything had time to go."""
    deadline = time.monotonic() + _GONE_SECONDS
    while (more := backend.footprint() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    return sorted(more)


def _removed(home: Path) -> bool:
    """Whether a cluster's directory is gone; that is the last thing to go, when its processes have ended."""
    deadline = time.monotonic() + _GONE_SECONDS
    while home.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not home.exists()


@pytest.mark.timeout(600)
def test_a_suite_that_is_killed_leaves_the_machine_as_it_was(backend: Backend, ending: Ending, tmp_path: Path) -> None:
    before = backend.footprint()
    with _suite(backend, tmp_path, hold=True) as run:
        home = ending.wait(run, tmp_path)
        assert any(backend.sign in line for line in backend.footprint() - before)  # the comparison sees what is there
        ending.kill(run, home)
        assert _left_behind(backend, before) == []
    assert _removed(home)


@pytest.mark.timeout(600)
def test_a_suite_that_ends_by_itself_leaves_the_machine_as_it_was(backend: Backend, tmp_path: Path) -> None:
    before = backend.footprint()
    with _suite(backend, tmp_path, hold=False) as run:
        assert run.wait(_RUN_SECONDS) == 0, output_of(tmp_path)
    home = running_in(tmp_path)
    assert home is not None
    assert _left_behind(backend, before) == []
    assert _removed(home)
