"""The backends that reach into the machine, and each way in which a test run on them may end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kind.docker import docker
from drakit_kind.nodes.footprint import footprint
from e2e.machine.docker_footprint import docker_footprint

Run = subprocess.Popen[bytes]
_START_SECONDS = 400.0


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When a test run is ended. ``wait(run, directory)`` returns the cluster's directory when it is time to.

    ``signs``: regular expressions for what must be in the footprint then, or the comparison would see nothing go.
    """

    wait: Callable[[Run, Path], Path]
    signs: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a test run is ended, of one process or of several ``workers`` (pytest-xdist) that share the cluster."""

    name: str
    moment: Moment
    end: Callable[[Run, Path], None]
    workers: int = 1


@dataclass(frozen=True, kw_only=True)
class Backend:
    """``options`` of pytest; ``footprint`` looks at the machine.

    ``works`` is when the story's pod runs; ``side_by_side``: two suites can run at once.
    """

    name: str
    options: Sequence[str]
    needs_root: bool = False
    footprint: Callable[[], frozenset[str]]
    works: Moment
    side_by_side: bool = False
    endings: Sequence[Ending]


def output_of(directory: Path) -> str:
    """What the test run has printed so far."""
    return (directory / "output").read_text()


def _until(found: Callable[[], Path | None], run: Run, directory: Path) -> Path:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and run.poll() is None:
        if (home := found()) is not None:
            return home
        time.sleep(0.1)
    raise AssertionError(output_of(directory))


def _stories_run(run: Run, directory: Path) -> Path:
    """All of the run's stories are where they wait to go on, each with a pod that runs."""

    def found() -> Path | None:
        places = [file.read_text() for file in directory.glob("running-*")]
        return Path(places[0]) if len(places) == int((directory / "stories").read_text()) else None

    return _until(found, run, directory)


def _nodes_start(run: Run, directory: Path) -> Path:
    """The first containerd is being started, and its node has not yet a kubelet."""

    def logs() -> set[Path]:
        return set(Path("/tmp").glob("drakit-*/logs/containerd-*.log"))

    before = logs()
    return _until(lambda: next((log.parent.parent for log in logs() - before), None), run, directory)


def _kind_makes_nodes(run: Run, directory: Path) -> Path:
    """The first of the nodes is there, and kind has not yet made the last one ready."""
    nodes = ("ps", "--all", "--quiet", "--filter", "label=io.x-k8s.kind.cluster")
    before = set(docker(*nodes).split())

    def found() -> Path | None:
        if set(docker(*nodes).split()) - before:
            return max(Path("/tmp").glob("drakit-*/kind.yaml"), key=lambda file: file.stat().st_mtime).parent
        return None

    return _until(found, run, directory)


def _kill_run(run: Run, home: Path) -> None:
    os.killpg(run.pid, signal.SIGKILL)


def press_ctrl_c(run: Run, home: Path | None = None) -> None:
    """A terminal sends it to all processes in the foreground, workers too."""
    os.killpg(run.pid, signal.SIGINT)


def _terminate_first_process(run: Run, home: Path) -> None:
    """As a job's runner does, that knows of no workers."""
    run.terminate()


def _kill_supervisor(run: Run, home: Path) -> None:
    supervisor = ClusterHome(home).running_pid()
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)


def _kill_supervisor_alone(run: Run, home: Path) -> None:
    _kill_supervisor(run, home)
    run.terminate()
    run.wait()


def _kill_both(run: Run, home: Path) -> None:
    _kill_supervisor(run, home)
    _kill_run(run, home)


def _program(name: str) -> str:
    return rf"process \d+ \S*/{name}( |$)"


_STORE_AND_API = [_program("etcd"), _program("kube-apiserver")]
_CONTROL_PLANE = [*_STORE_AND_API, _program("kube-controller-manager"), _program("kube-scheduler")]
_PREMISES = ["control group ", "interface drakit-", "file /run/drakit"]
_NODES = [*_PREMISES, _program("containerd"), _program("kubelet"), _program("containerd-shim-runc-v2")]

_WORKS = Moment(wait=_stories_run, signs=[*_CONTROL_PLANE, *_NODES])
_STARTS = Moment(wait=_nodes_start, signs=[*_STORE_AND_API, *_PREMISES])
_WORKS_SIMULATED = Moment(wait=_stories_run, signs=_CONTROL_PLANE)
_WORKS_IN_KIND = Moment(wait=_stories_run, signs=["container "])
_STARTS_IN_KIND = Moment(wait=_kind_makes_nodes, signs=["container "])

REAL_NODES = Backend(
    name="real nodes",
    options=["--drakit-cluster", "binaries", "--drakit-cluster-nodes", "2"],
    needs_root=True,
    footprint=footprint,
    works=_WORKS,
    side_by_side=True,
    endings=[
        Ending(name="kill workers", moment=_WORKS, end=_kill_run, workers=2),
        Ending(name="kill while nodes start", moment=_STARTS, end=_kill_run),
        Ending(name="kill the cluster's process", moment=_WORKS, end=_kill_supervisor_alone),
        Ending(name="kill both at once", moment=_WORKS, end=_kill_both),
    ],
)
# What `--drakit-cluster binaries` is without root.
SIMULATED_NODES = Backend(
    name="simulated nodes",
    options=[
        *("--drakit-cluster", "binaries", "--drakit-cluster-nodes", "2"),
        *("--drakit-real", "apiserver,controllers,scheduler"),
    ],
    footprint=footprint,
    works=_WORKS_SIMULATED,
    endings=[
        Ending(name="SIGTERM to the first process", moment=_WORKS_SIMULATED, end=_terminate_first_process, workers=2)
    ],
)
KIND = Backend(
    name="kind",
    options=["--drakit-cluster", "kind", "--drakit-cluster-nodes", "1"],
    footprint=docker_footprint,
    works=_WORKS_IN_KIND,
    endings=[
        Ending(name="kill the test run", moment=_WORKS_IN_KIND, end=_kill_run),
        Ending(name="kill the test run while kind makes nodes", moment=_STARTS_IN_KIND, end=_kill_run),
        Ending(name="Ctrl-C", moment=_WORKS_IN_KIND, end=press_ctrl_c),
        Ending(name="Ctrl-C while kind makes nodes", moment=_STARTS_IN_KIND, end=press_ctrl_c),
    ],
)
