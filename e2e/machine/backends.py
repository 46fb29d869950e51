"""The backends that reach into the machine, and each way in which a test run on them may end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from drakit_kind.home import ClusterHome
from drakit_kind.kind.docker import docker
from drakit_kind.nodes.footprint import footprint
from e2e.machine.docker_footprint import docker_footprint

Run = subprocess.Popen[bytes]
_START_SECONDS = 400.0


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a test run is killed. ``wait(run, directory)`` returns the cluster's directory when it is time to."""

    name: str
    wait: Callable[[Run, Path], Path]
    kill: Callable[[Run, Path], None]


@dataclass(frozen=True, kw_only=True)
class Backend:
    """``options`` of pytest; ``footprint`` looks at the machine; ``sign`` is in it while a cluster runs."""

    options: Sequence[str]
    needs_root: bool
    footprint: Callable[[], frozenset[str]]
    sign: str
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


def running_in(directory: Path) -> Path | None:
    """The directory of the story's cluster, once the story's pod runs."""
    file = directory / "running"
    return Path(file.read_text()) if file.exists() else None


def _story_runs(run: Run, directory: Path) -> Path:
    return _until(lambda: running_in(directory), run, directory)


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


BACKENDS = {
    "binaries": Backend(
        options=["--cluster", "binaries", "--cluster-nodes", "2"],
        needs_root=True,
        footprint=footprint,
        sign="control group",
        endings=[
            Ending(name="the test run", wait=_story_runs, kill=_kill_run),
            Ending(name="its cluster's process", wait=_story_runs, kill=_kill_supervisor_alone),
            Ending(name="both at once", wait=_story_runs, kill=_kill_both),
        ],
    ),
    "kind": Backend(
        options=["--cluster", "kind", "--cluster-nodes", "1"],
        needs_root=False,
        footprint=docker_footprint,
        sign="container",
        endings=[
            Ending(name="the test run", wait=_story_runs, kill=_kill_run),
            Ending(name="the test run while kind makes nodes", wait=_kind_makes_nodes, kill=_kill_run),
        ],
    ),
}
