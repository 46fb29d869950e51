"""Seconds until a cluster is ready, with and without drivers: what a test session or a user waits first.

Ready means that nodes are Ready, the scheduler has its caches, and drivers are registered and have published. The real
control plane is etcd, kube-apiserver, kube-controller-manager and kube-scheduler, started together, without a node.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from bench import clusters
from bench.report import Report, Step
from drakit_kind.cluster import ClusterSpec, DriverSpec

TARGET = 1.0  # seconds
UPSTREAM_CONTROL_PLANE = 9.0  # seconds, measured with Kubernetes 1.37.1 and etcd 3.7.3 on two cores

_ROUNDS = 3
_COMMAND_SECONDS = 60.0
_QUICK = "API server and controllers"
_COMMAND = "the same by `drakit cluster up`"
_NODE = ["node-1"]
_FIVE = [f"node-{number}" for number in range(1, 6)]
_DGX = DriverSpec(profile="dgx-a100", nodes=_NODE)
_TPU = DriverSpec(profile="tpu-v6e-4x4", nodes=_FIVE[1:])


def run(step: Step, *, quick: bool = False) -> Report:
    """Medians of three starts each; the quick run is one start of two clusters."""
    cases: dict[str, Callable[[], float]] = {
        _QUICK: partial(_start, ClusterSpec(scheduler=False)),
        "1 node, no driver": partial(_start, ClusterSpec(nodes=_NODE)),
        "1 node, dgx-a100": partial(_start, ClusterSpec(nodes=_NODE, drivers=[_DGX])),
        "5 nodes, dgx-a100 and tpu-v6e-4x4": partial(_start, ClusterSpec(nodes=_FIVE, drivers=[_DGX, _TPU])),
        _COMMAND: _command,
    }
    if quick:
        cases = {name: cases[name] for name in (_QUICK, _COMMAND)}
    rounds = 1 if quick else _ROUNDS
    report = Report(
        title=f"Start to ready, seconds ({rounds} starts each)",
        columns=["cluster", "median", "most", f"target {TARGET:.0f} s"],
        notes=[f"Kubernetes' control plane: {UPSTREAM_CONTROL_PLANE:.0f} s, and 0.9 s more until a node is Ready."],
    )
    with report.kept():
        for name, start in cases.items():
            seconds = []
            for number in range(rounds):
                step(f"{name}, start {number + 1} of {rounds}")
                seconds.append(start())
            report.rows.append(_row(name, seconds))
    return report


def _row(name: str, seconds: list[float]) -> list[str]:
    median = statistics.median(seconds)
    return [name, f"{median:.2f}", f"{max(seconds):.2f}", "met" if median <= TARGET else "missed"]


def _start(spec: ClusterSpec) -> float:
    with clusters.running(spec) as cluster:
        return cluster.ready_seconds


def _command() -> float:
    """The command with its defaults, start of the interpreter included."""
    with clusters.scratch_directory() as directory:
        environment = {**os.environ, "DRAKIT_HOME": str(directory), "KUBECONFIG": str(directory / "config")}
        began = time.monotonic()
        try:
            _drakit("up", environment, directory)
            return time.monotonic() - began
        finally:
            # Nothing to take down where `up` itself failed, and that error says more.
            with suppress(subprocess.CalledProcessError):
                _drakit("down", environment, directory)


def _drakit(verb: str, environment: dict[str, str], directory: Path) -> None:
    """``drakit cluster VERB``; its last words are in the error if it fails."""
    command = [sys.executable, "-m", "drakit_kind", "cluster", verb]
    with (directory / f"{verb}.log").open("w+") as log:
        done = subprocess.run(command, env=environment, stdout=log, stderr=log, timeout=_COMMAND_SECONDS, check=False)
        if done.returncode:
            log.seek(0)
            raise subprocess.CalledProcessError(done.returncode, command, log.read())
