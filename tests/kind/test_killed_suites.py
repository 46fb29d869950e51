"""A test run that is killed in the middle leaves no process and no file; with real nodes, see e2e/machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kind.waits import ended, gone

_SUITE = """
import pathlib, time

def test_that_is_killed(cluster, driver):
    driver("a100-40gb", nodes=["node-1"])
    pathlib.Path("directory").write_text(str(cluster.home.directory))
    pathlib.Path("pid").write_text(str(cluster.home.running_pid()))
    print("now", flush=True)
    while True:  # signal.pause() would sleep through a signal that comes just before it
        time.sleep(0.1)
"""
_SECONDS = 60.0


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard", "few_plugins")
@pytest.mark.parametrize(
    ("number", "cluster_too"),
    [(signal.SIGKILL, False), (signal.SIGKILL, True), (signal.SIGTERM, False), (signal.SIGINT, False)],
)
def test_a_killed_test_run_leaves_nothing(tmp_path: Path, number: signal.Signals, cluster_too: bool) -> None:
    (tmp_path / "test_it.py").write_text(_SUITE)
    command = [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", "--drakit-cluster-nodes", "1"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None
        assert any("now" in line for line in run.stdout)
        cluster = int((tmp_path / "pid").read_text())
        if cluster_too:
            os.kill(cluster, signal.SIGKILL)
        os.kill(run.pid, number)
        run.stdout.close()
        run.wait(_SECONDS)
    directory = (tmp_path / "directory").read_text()
    assert ended(cluster, seconds=_SECONDS)
    # Its driver tries to say goodbye to an API server that is gone; and somebody removes the directory.
    assert [pid for pid in _processes_of(directory) if not ended(pid, seconds=_SECONDS)] == []
    assert gone(Path(directory), seconds=_SECONDS)


def _processes_of(directory: str) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,args=", "-ww"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if directory in line]
