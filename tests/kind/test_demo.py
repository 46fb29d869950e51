"""``drakit demo``: it shows what it promises, keeps what it is told to keep, and takes nothing of anybody else's."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_kind.home import ClusterHome
from tests.kind.waits import ended, gone

_DRAKIT = [sys.executable, "-m", "drakit_kind"]
_SECONDS = 90.0
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def state() -> Iterator[Path]:
    """A short directory for the state of kept clusters."""
    directory = Path(tempfile.mkdtemp(prefix="drakit-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def drakit(state: Path) -> Iterator[Run]:
    def run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*_DRAKIT, *arguments],
            env={**os.environ, "DRAKIT_HOME": str(state)},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    yield run
    if (state / "demo").exists():
        run("cluster", "down", "--name", "demo")


def test_a_kept_demo_stays_until_it_is_taken_down_whoever_starts_another(drakit: Run, state: Path) -> None:
    shown = drakit("demo", "--keep", "--cluster", "embedded").stdout
    assert "embedded cluster ready" in shown
    assert "all their pods run" in shown
    home = ClusterHome(state / "demo")
    running = home.running_pid()
    assert running is not None
    refused = drakit("demo", "--keep", code=1)
    assert refused.stderr == "Error: there is a cluster demo already; `drakit cluster down --name demo` removes it\n"
    assert home.running_pid() == running
    assert "pods: 8 Running" in drakit("cluster", "status", "--name", "demo").stdout


def test_a_demo_whose_cluster_another_one_is_just_starting_leaves_it_alone(drakit: Run, state: Path) -> None:
    """It has the lock, and has not written down yet what it starts."""
    home = ClusterHome(state / "demo")
    home.make()
    lock = home.lock()
    assert lock is not None
    with lock:
        assert "is running already" in drakit("demo", "--keep", code=1).stderr
        assert home.running_pid() == os.getpid()
    shutil.rmtree(home.directory)


def test_a_demo_that_is_told_to_end_leaves_nothing() -> None:
    code = (
        "import sys, drakit_kind.demo as demo\n"
        "def held(console, cluster):\n    print(cluster.home.directory, flush=True); sys.stdin.read()\n"
        "demo._run = held\ndemo.demo()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        directory = next(line.strip() for line in running.stdout if line.startswith("/"))
        cluster = ClusterHome(Path(directory)).running_pid()
        assert cluster is not None
        running.send_signal(signal.SIGTERM)
        running.wait(_SECONDS)
    assert ended(cluster, seconds=_SECONDS)
    assert gone(Path(directory), seconds=_SECONDS)
