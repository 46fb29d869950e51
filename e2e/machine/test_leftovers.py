"""Nothing of drakit stays on a machine after the suite ran on real nodes, however it ended.

Compared is the machine itself: processes, mounts, control groups, interfaces, packet filter rules, kernel settings,
files. These tests want it for themselves, so they are not part of the parallel suite: ``make e2e-leftovers``, as root.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drakit_kind.nodes.footprint import footprint, left_behind

_START_SECONDS = 300.0
_GONE_SECONDS = 90.0
# A pod runs on a real node: there is a container, its sandbox, its network, its devices are prepared.
_STORY = """
import os, pathlib, signal
from drakit_kind.manifests import claim, pod, request

def test_that_is_killed(cluster, api, driver):
    gpu = driver("a100-40gb")
    api.create(claim("part", request("gpu", gpu.name)), pod("user", "part"))
    api.wait_running("user")
    pathlib.Path("running").write_text(f"{cluster.home.running_pid()}\\n{cluster.home.directory}")
    if os.environ["HOLD"] == "true":
        signal.pause()
"""


@pytest.fixture(autouse=True)
def _machine(request: pytest.FixtureRequest) -> None:
    if os.geteuid() != 0:
        pytest.skip("real nodes need root")


@contextmanager
def _suite(directory: Path, *, hold: bool) -> Iterator[subprocess.Popen[bytes]]:
    """A test run with two real nodes, in a session of its own."""
    (directory / "test_it.py").write_text(_STORY)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--cluster", "binaries", "--cluster-nodes", "2"]
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


def _wait_running(run: subprocess.Popen[bytes], directory: Path) -> tuple[int, Path]:
    """Wait for the story to be in its middle; the process id of its cluster, and the cluster's directory."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and run.poll() is None:
        if (directory / "running").exists() and (text := (directory / "running").read_text()).count("\n"):
            pid, home = text.split("\n")
            return int(pid), Path(home)
        time.sleep(0.1)
    raise AssertionError((directory / "output").read_text())


def _removed(home: Path) -> bool:
    """Whether a cluster's directory is gone; that is the last thing to go, when its processes have ended."""
    deadline = time.monotonic() + _GONE_SECONDS
    while home.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not home.exists()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("killed", ["the test run", "its cluster's process", "both at once"])
def test_a_suite_that_is_killed_in_the_middle_leaves_the_machine_as_it_was(tmp_path: Path, killed: str) -> None:
    before = footprint()
    with _suite(tmp_path, hold=True) as run:
        supervisor, home = _wait_running(run, tmp_path)
        assert any("control group" in line for line in footprint() - before)  # the comparison sees what is there
        if killed != "the test run":
            os.kill(supervisor, signal.SIGKILL)
        if killed != "its cluster's process":
            os.killpg(run.pid, signal.SIGKILL)
        else:
            run.terminate()
            run.wait()
        assert left_behind(before, seconds=_GONE_SECONDS) == []
    assert _removed(home)


@pytest.mark.timeout(600)
def test_a_suite_that_ends_by_itself_leaves_the_machine_as_it_was(tmp_path: Path) -> None:
    before = footprint()
    with _suite(tmp_path, hold=False) as run:
        assert run.wait(_START_SECONDS) == 0, (tmp_path / "output").read_text()
    _, home = (tmp_path / "running").read_text().split("\n")
    assert left_behind(before, seconds=_GONE_SECONDS) == []
    assert _removed(Path(home))
