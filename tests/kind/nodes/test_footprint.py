"""What of drakit is on a machine is seen while it is there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_kind.clusters.home import CLUSTER_VARIABLE, ClusterHome
from drakit_kind.nodes.footprint import footprint

SLEEPER = [sys.executable, "-c", "import time; time.sleep(1000)"]
Process = subprocess.Popen[bytes]


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """``start("-m", "x", NAME="value")``: a process with these arguments and variables, killed after the test."""
    started: list[Process] = []

    def run(*arguments: str, **variables: str) -> Process:
        started.append(subprocess.Popen([*SLEEPER, *arguments], env={**os.environ, **variables}))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


def seen(pid: int) -> bool:
    return any(line.startswith(f"process {pid} ") for line in footprint())


def wait_seen(pid: int) -> None:
    """For a moment after its start a process has our command line, or none."""
    deadline = time.monotonic() + 20
    while not seen(pid):
        assert time.monotonic() < deadline


@pytest.mark.slow
def test_components_of_drakit_are_seen_without_knowing_where_they_are_until_they_end(
    start: Callable[..., Process],
) -> None:
    component, other = start("-m", "drakit_kind.local.host", "x"), start()
    wait_seen(component.pid)
    assert not seen(other.pid)
    component.kill()
    component.wait()
    assert not seen(component.pid)


@pytest.mark.slow
def test_programs_of_a_cluster_are_seen_whatever_they_are_called(start: Callable[..., Process]) -> None:
    program, other = start(**{CLUSTER_VARIABLE: "/somewhere"}), start("/somewhere", NAME=f"{CLUSTER_VARIABLE}=x")
    wait_seen(program.pid)
    assert not seen(other.pid)


@pytest.fixture
def home() -> Iterator[ClusterHome]:
    """A temporary cluster's directory, removed whatever becomes of the cluster."""
    home = ClusterHome.temporary()
    yield home
    shutil.rmtree(home.directory)


_HOST_WITH_A_CHILD = """
import asyncio
import drakit_kind.local.host as host

async def serve(home):
    child = await asyncio.create_subprocess_exec("sleep", "1000")
    print(child.pid, flush=True)
    await child.wait()

host._serve = serve
host.main()
"""


@pytest.mark.slow
def test_whatever_the_process_of_a_cluster_starts_is_seen(home: ClusterHome) -> None:
    command = [sys.executable, "-c", _HOST_WITH_A_CHILD, str(home.directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        child = int(host.stdout.readline())
        try:
            wait_seen(child)
            assert f"file {home.directory}" in footprint()
        finally:
            os.kill(child, signal.SIGKILL)  # then the host ends by itself


@pytest.mark.slow
def test_temporary_directories_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "other").mkdir()
    with tempfile.TemporaryDirectory(prefix="drakit-image-") as directory:
        found = footprint()
        assert f"file {directory}" in found
        assert f"file {tmp_path}/other" not in found


@pytest.mark.slow
def test_temporary_clusters_are_seen_where_the_user_has_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAKIT_HOME", str(tmp_path))
    (tmp_path / "default").mkdir()
    cluster = ClusterHome.temporary()
    found = footprint()
    assert f"file {cluster.directory}" in found
    assert f"file {tmp_path}/default" not in found
