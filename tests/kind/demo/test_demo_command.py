"""``drakit demo``: it shows what it promises, keeps what it is told to keep, and takes nothing of anybody else's."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.demo.command import demo
from drakit_kind.local.backend import LocalCluster
from tests.kind.drakit_command import Drakit
from tests.kind.waits import ended, gone

pytestmark = pytest.mark.slow

_SECONDS = 90.0


def test_a_kept_demo_stays_until_it_is_taken_down_whoever_starts_another(drakit: Drakit, home: Path) -> None:
    shown = drakit("demo", "--keep", "--cluster", "embedded").stdout
    assert "embedded cluster ready" in shown
    assert "all their pods run" in shown
    demo = ClusterHome(home / "state" / "demo")
    running = demo.running_pid()
    assert running is not None
    refused = drakit("demo", "--keep", code=1)
    assert refused.stderr == "Error: there is a cluster demo already; `drakit cluster down --name demo` removes it\n"
    assert demo.running_pid() == running
    assert "pods: 8 Running" in drakit("cluster", "status", "--name", "demo").stdout


def test_a_demo_whose_cluster_another_one_is_just_starting_leaves_it_alone(drakit: Drakit, home: Path) -> None:
    """It has not written down yet what it starts."""
    demo = ClusterHome(home / "state" / "demo")
    demo.make()
    with demo.starting():
        assert "another process is just starting this cluster" in drakit("demo", "--keep", code=1).stderr
    assert demo.directory.exists()


def test_a_demo_that_is_told_to_end_leaves_nothing() -> None:
    code = (
        "import time, drakit_kind.demo.command as demo\n"
        # Not one long wait, which would sleep through a signal that comes just before it.
        "def held(console, cluster):\n    print(cluster.home.directory, flush=True)\n    while True: time.sleep(0.1)\n"
        "demo._run = held\ndemo.demo()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        directory = next(line.strip() for line in running.stdout if line.startswith("/"))
        cluster = ClusterHome(Path(directory)).running_pid()
        assert cluster is not None
        running.send_signal(signal.SIGTERM)
        running.wait(_SECONDS)
    assert ended(cluster, seconds=_SECONDS)
    assert gone(Path(directory), seconds=_SECONDS)


def test_a_demo_of_real_components_says_what_it_does_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(cluster: LocalCluster) -> None:
        cluster._report("etcd started")
        raise ClusterError("that is enough")

    monkeypatch.setattr(LocalCluster, "start", start)
    failed = CliRunner().invoke(demo, ["--cluster", "binaries"])
    first, *others = failed.stderr.splitlines()
    assert first.startswith("starting Kubernetes 1.37.1: apiserver, controllers, scheduler")
    assert others == ["  etcd started", "Error: that is enough"]
    assert CliRunner().invoke(demo, []).stderr.splitlines() == ["Error: that is enough"]
