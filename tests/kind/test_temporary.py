"""What removes a directory when nobody else is left, and is gone itself when somebody is."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters import short_paths
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.temporary import _HEIR, Heir, remove
from drakit_kind.local.backend import LocalCluster
from tests.kind.waits import gone

_SECONDS = 60
# A removal that others disturb, by what they write meanwhile: the first time, or every time.
_ONCE = """
import shutil
rmtree, disturbed = shutil.rmtree, [True]
shutil.rmtree = lambda *args, **how: disturbed.pop() if disturbed else rmtree(*args, **how)
"""
_ALWAYS = """
import itertools, shutil, time
shutil.rmtree = lambda *args, **how: None
time.monotonic = itertools.count(step=59).__next__
"""


def _inherit(directory: Path, disturbed: str = "") -> None:
    """What is left to a process, whose starter has ended."""
    command = [sys.executable, "-I", "-S", "-c", disturbed + _HEIR, short_paths.PATTERN]
    subprocess.run(command, input=os.fsencode(directory) + b"\0", check=True, timeout=_SECONDS)


@pytest.mark.slow
def test_a_removal_that_was_disturbed_is_tried_again(tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    (directory / "n").mkdir(parents=True)
    _inherit(directory, _ONCE)
    assert not directory.exists()


def test_a_run_removes_what_others_still_write_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the driver of a cluster that has stopped does to its log, until it has ended, too."""
    directory, really, left = tmp_path / "cluster", shutil.rmtree, [1, 2]
    directory.mkdir()

    def disturbed(path: Path, *, ignore_errors: bool) -> None:
        really(path, ignore_errors=ignore_errors)
        if left:
            path.mkdir()
            (path / f"log-{left.pop()}").touch()

    monkeypatch.setattr(shutil, "rmtree", disturbed)
    remove(directory)
    assert left == []
    assert not directory.exists()


@pytest.mark.slow
def test_a_directory_that_cannot_be_removed_is_given_up(tmp_path: Path) -> None:
    _inherit(tmp_path, _ALWAYS)
    assert tmp_path.exists()


def _processes_of(directory: Path) -> list[str]:
    """Command lines that name a directory."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes()
        except OSError:
            continue
        if os.fsencode(directory) in command.split(b"\0"):
            found.append(command.decode(errors="replace"))
    return found


@pytest.mark.slow
def test_a_cluster_that_was_stopped_leaves_no_process() -> None:
    """Its files are still there: a test may look at them, and the run removes them."""
    home = ClusterHome.temporary()
    try:
        cluster = LocalCluster(ClusterSpec(name="stopped", scheduler=False), home, temporary=True)
        cluster.start()
        assert len(_processes_of(home.directory)) == 1
        cluster.stop()
        assert _processes_of(home.directory) == []
        assert home.log.exists()
    finally:
        shutil.rmtree(home.directory)


_STARTER = """
import os, subprocess, time
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster

def started(home):
    cluster = LocalCluster(ClusterSpec(nodes=[], scheduler=False), home, temporary=True)
    cluster.start()
    return cluster

home = ClusterHome.temporary()
"""
_WAITS = """
print(home.directory, flush=True)
while True:
    time.sleep(0.1)
"""


@contextmanager
def _starter(code: str, place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that does ``code`` with a temporary ``home`` and waits to be killed; with the home's directory."""
    command = [sys.executable, "-c", _STARTER + code + _WAITS]
    environment = {**os.environ, "DRAKIT_HOME": str(place)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as starter:
        try:
            assert starter.stdout is not None
            line = starter.stdout.readline()
            assert line, "it has failed, and said why"
            yield starter, Path(line.rstrip())
        finally:
            starter.kill()


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("", id="before it starts a cluster"),
        pytest.param("started(home)", id="while its cluster runs"),
        pytest.param("started(home).stop()", id="before it removes what its cluster has left"),
        # As the kernel does, which closes the files of a process that was killed before it tells of its end.
        pytest.param("c = started(home); c._process.stdin.close(); c._process.wait()", id="after its cluster"),
        pytest.param("c = started(home); c.stop(); c.start()", id="while its cluster runs for the second time"),
    ],
)
def test_a_run_that_is_killed_leaves_no_directory(code: str, home: Path) -> None:
    with _starter(code, home) as (starter, directory):
        assert directory.parent == home
        assert directory.exists()
        starter.send_signal(signal.SIGKILL)
        assert gone(directory, seconds=_SECONDS)


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_no_short_name(home: Path) -> None:
    deep = home / ("x" * 100)
    deep.mkdir()
    with _starter("started(home)", deep) as (starter, directory):
        link = short_paths.of(directory)
        assert link is not None
        starter.send_signal(signal.SIGKILL)
        assert gone(directory, seconds=_SECONDS)
        end = time.monotonic() + _SECONDS
        while link.is_symlink():
            assert time.monotonic() < end


@pytest.mark.slow
def test_the_directory_of_a_cluster_stays_until_its_process_has_ended(home: Path) -> None:
    with _starter("", home) as (starter, directory):
        with (directory / "lock").open("w") as cluster:
            fcntl.lockf(cluster, fcntl.LOCK_EX)
            waiting = f":{os.fstat(cluster.fileno()).st_ino} "
            starter.send_signal(signal.SIGKILL)
            end = time.monotonic() + _SECONDS
            while not any("-> POSIX" in line and waiting in line for line in _locks()):
                assert time.monotonic() < end
            assert (directory / "lock").exists()
        assert gone(directory, seconds=_SECONDS)


def _locks() -> list[str]:
    """What locks there are on this machine; with an arrow, who waits for one."""
    return Path("/proc/locks").read_text().splitlines()


@pytest.mark.slow
def test_one_process_is_the_heir_of_all_clusters_and_another_if_it_was_killed() -> None:
    heir = Heir.of_this_process()
    assert Heir.of_this_process() is heir
    heir._process.kill()
    while heir.lives:
        time.sleep(0.05)
    assert Heir.of_this_process().lives
