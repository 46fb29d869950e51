"""Nothing of drakit stays on a machine after the suite ran on Kubernetes' programs, or in kind, however it ended.

Compared is the machine itself: processes, mounts, control groups, interfaces, packet filter rules, kernel settings,
files; for kind also containers, volumes and networks. These tests want it for themselves, so they are not part of the
parallel suite: ``make e2e-leftovers``, also as root, and ``make e2e-leftovers CLUSTER=kind``.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from drakit_kind.nodes.leftovers import RECORDS
from e2e.machine.backends import Backend, Ending, Run, output_of, press_ctrl_c

_RUN_SECONDS = 500.0
_GONE_SECONDS = 90.0
_PAUSE = 0.3  # a look takes a tenth of a second, which whoever cleans up needs too
# A pod runs on a real node: there is a container, its sandbox, its network, its devices are prepared. Then, when the
# test says so, everything is done once more, on each node.
_STORY = """
import pathlib, time
import pytest
from drakit_client.resources import PODS
from drakit_kind.clusters.manifests import claim, pod, request

HERE = pathlib.Path(__file__).parent

@pytest.mark.parametrize("number", range(int((HERE / "stories").read_text())))
def test_that_is_ended(cluster, api, driver, number):
    gpu = driver("a100-40gb")
    api.create(claim("part", request("gpu", gpu.name)), pod("user", "part"))
    api.wait_running("user")
    (HERE / f"new-{number}").write_text(str(cluster.kubeconfig.parent))
    (HERE / f"new-{number}").rename(HERE / f"running-{number}")
    while not (HERE / "go-on").exists():
        time.sleep(0.1)
    api.delete(PODS, "user")
    api.wait_gone(PODS, ["user"])
    for node in cluster.spec.nodes:
        here = {"nodeSelector": {"kubernetes.io/hostname": node}}
        api.create(claim(node, request("gpu", gpu.name)), pod(node, node, **here))
    api.wait_running(*cluster.spec.nodes)
    for node in cluster.spec.nodes:
        assert api.environment(node)
"""
# What clusters on the same machine have together, and the last one removes.
_SHARED = re.compile(rf"directory .*|file {RECORDS}(/lock)?")


@contextmanager
def _suite(backend: Backend, directory: Path, *, workers: int = 1) -> Iterator[Run]:
    """A test run on the backend, in a session of its own, with a story for each worker."""
    (directory / "test_it.py").write_text(_STORY)
    (directory / "stories").write_text(str(workers))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *backend.options]
    command += ["-n", str(workers)] if workers > 1 else []
    with (directory / "output").open("wb") as output:
        run = subprocess.Popen(
            command, cwd=directory, stdout=output, stderr=output, start_new_session=True,
            env={**os.environ, "TMPDIR": tempfile.gettempdir()},
        )  # fmt: skip
    try:
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def _processes_of(run: Run) -> Iterator[str]:
    """Those of the test run itself: workers look like anybody's, but are in its session."""
    run.poll()
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended while we looked
            if os.getsid(int(directory.name)) == run.pid and (directory / "cmdline").read_bytes():
                yield f"process {directory.name} of the test run"


def _left_behind(backend: Backend, run: Run, before: frozenset[str]) -> list[str]:
    """What is there and was not before, once there is nothing, or when everything had time to go."""
    deadline = time.monotonic() + _GONE_SECONDS
    while (more := {*backend.footprint() - before, *_processes_of(run)}) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return sorted(more)


def _unseen(signs: Iterable[str], lines: Iterable[str]) -> list[str]:
    return [sign for sign in signs if not any(re.match(sign, line) for line in lines)]


@pytest.mark.usefixtures("signals_heard")
@pytest.mark.timeout(600)
def test_a_suite_that_is_ended_leaves_the_machine_as_it_was(backend: Backend, ending: Ending, tmp_path: Path) -> None:
    before = backend.footprint()
    with _suite(backend, tmp_path, workers=ending.workers) as run:
        home = ending.moment.wait(run, tmp_path)
        there = backend.footprint() - before
        assert _unseen([*ending.moment.signs, f"file {home}$"], there) == [], "the comparison would not see it go"
        ending.end(run, home)
        assert _left_behind(backend, run, before) == []


@dataclass(frozen=True)
class _Running:
    """A test run whose stories wait to go on; ``own``: what it brought to the machine."""

    directory: Path
    run: Run
    own: frozenset[str]

    def go_on(self) -> None:
        """Let it end by itself; all its stories must pass."""
        (self.directory / "go-on").touch()
        assert self.run.wait(_RUN_SECONDS) == 0, output_of(self.directory)


@contextmanager
def _running_suite(backend: Backend, directory: Path, *, workers: int = 1) -> Iterator[_Running]:
    before = backend.footprint()
    directory.mkdir()
    with _suite(backend, directory, workers=workers) as run:
        home = backend.works.wait(run, directory)
        # Twice, as programs that come and go while containers start do not last.
        own = (backend.footprint() & backend.footprint()) - before
        assert _unseen([f"file {home}$"], own) == []
        yield _Running(directory, run, own)


@pytest.mark.usefixtures("signals_heard")
@pytest.mark.timeout(600)
def test_suites_that_end_in_order_leave_the_machine_and_each_other_as_they_were(
    backend: Backend, tmp_path: Path
) -> None:
    """One ends by Ctrl-C where another can run beside it; that one goes on, and ends by itself."""
    before = backend.footprint()
    with ExitStack() as stack:
        first = stack.enter_context(
            _running_suite(backend, tmp_path / "first", workers=2 if backend.side_by_side else 1)
        )
        last = stack.enter_context(_running_suite(backend, tmp_path / "last")) if backend.side_by_side else first
        assert _unseen(backend.works.signs, first.own) == [], "the comparison would not see it go"
        if last is not first:
            _ends_alone(backend, first, last, before)
        last.go_on()
        assert _left_behind(backend, last.run, before) == []


def _ends_alone(backend: Backend, suite: _Running, other: _Running, before: frozenset[str]) -> None:
    """What the suite brought goes; what the other brought, or needs too, stays."""
    needed = other.own | {line for line in suite.own if _SHARED.fullmatch(line)}
    press_ctrl_c(suite.run)
    assert _left_behind(backend, suite.run, before | needed) == []
    assert needed - backend.footprint() == frozenset()
