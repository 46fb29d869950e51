"""A cluster's directory is the user's alone, and nothing that was there before becomes a part of it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from unittest.mock import Mock

import pytest

from drakit_client.files.regular_files import UnusableFileError
from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.clusters import cluster_logs
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.processes import supervision

SPEC = ClusterSpec(token="t", port=1, nodes=[], drivers=[])


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty private directory whose path is short enough for sockets."""
    directory = Path(tempfile.mkdtemp(prefix="drakit-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory)


def test_a_new_directory_is_private(place: Path) -> None:
    home = ClusterHome(place / "new")
    home.make()
    assert home.directory.stat().st_mode & 0o777 == 0o700


def test_a_relative_directory_is_the_same_one_wherever_a_component_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real nodes mount what is below it from another directory, and other processes look for it from theirs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRAKIT_HOME", "state")
    assert ClusterHome(Path("data")).directory == tmp_path / "data"
    assert ClusterHome.of("red").directory == tmp_path / "state" / "red"


@pytest.mark.slow
def test_temporary_ones_are_where_the_user_says_that_clusters_are(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From /tmp nothing can be run on some machines. Nobody takes one for a cluster of a name."""
    monkeypatch.setenv("DRAKIT_HOME", str(place / "deeper" / "state"))
    home = ClusterHome.temporary()
    assert home.directory.parent == place / "deeper" / "state"
    assert home.directory.stat().st_mode & 0o777 == 0o700
    with pytest.raises(ClusterError, match="cluster name"):
        ClusterHome.of(home.directory.name)
    monkeypatch.delenv("DRAKIT_HOME")
    elsewhere = ClusterHome.temporary().directory
    elsewhere.rmdir()
    assert elsewhere.parent == Path("/tmp")


def test_a_home_knows_how_commands_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAKIT_HOME", "/state")
    homes = [ClusterHome.of("default"), ClusterHome.of("red"), ClusterHome(Path("/state/red/data"))]
    assert [home.option for home in homes] == ["", " --name red", " --data-dir /state/red/data"]


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701])
def test_a_directory_that_others_can_look_into_is_refused_and_stays_as_it_is(place: Path, mode: int) -> None:
    """As root, `--data-dir /tmp` would take /tmp away from everybody else."""
    shared = place / "shared"
    shared.mkdir()
    shared.chmod(mode)
    with pytest.raises(
        ClusterError, match=rf"{shared}: others than its owner .*; `chmod 700` it, or name .* not exist"
    ):
        ClusterHome(shared).make()
    assert shared.stat().st_mode & 0o777 == mode


def test_a_directory_with_files_of_something_else_is_refused(place: Path) -> None:
    (place / "thesis.tex").write_text("precious")
    with pytest.raises(ClusterError, match=rf"{place}: there is something else in it \(thesis.tex\); name "):
        ClusterHome(place).make()
    assert [path.name for path in place.iterdir()] == ["thesis.tex"]


def test_what_a_start_leaves_that_is_killed_before_it_wrote_what_to_start_is_used(place: Path) -> None:
    home = ClusterHome(place)
    with home.starting():
        home.never_ready.touch()
    home.make()
    assert not home.was_ready


def test_an_empty_directory_and_that_of_an_earlier_run_are_used(place: Path) -> None:
    home = ClusterHome(place)
    home.make()
    home.write_spec(SPEC)
    (place / "store.sqlite").touch()
    home.make()
    assert home.read_spec() == SPEC


def test_a_directory_of_another_user_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write there, and the other one may read it."""
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(ClusterError, match=rf"{place}: it belongs to another user \(uid {other - 1}\), .*; name one"):
        ClusterHome(place).make()


USES: dict[str, tuple[str, Callable[[ClusterHome], object]]] = {
    "spec": ("cluster.json", ClusterHome.read_spec),
    "exports": ("exported-to", ClusterHome.exported_to),
    "process": ("lock", ClusterHome.running_pid),
    "lock": ("lock", ClusterHome.lock),
    "start": ("starting", lambda home: home.starting().__enter__()),
    "endings": ("endings.jsonl", lambda home: list(supervision.endings(home.endings))),
    "log": ("drakit.log", lambda home: list(cluster_logs.lines(home, "scheduler"))),
}


@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("use", USES)
def test_what_lies_in_the_place_of_a_file_is_refused_by_name(
    place: Path, use: str, put: Callable[[Path], object]
) -> None:
    """With --data-dir, `status` and `down` look into a directory that may be anybody's."""
    name, read = USES[use]
    put(place / name)
    with pytest.raises(UnusableFileError, match=rf"{place / name} is a .*, not a regular file"):
        read(ClusterHome(place))


def test_a_deep_spec_is_damaged(place: Path) -> None:
    (place / "cluster.json").write_text('{"nodes": ' + "[" * 100_000)
    with pytest.raises(ClusterError, match=r"cluster\.json is damaged .*; remove"):
        ClusterHome(place).read_spec()


_HOLDER = """
import sys
from pathlib import Path
from drakit_kind.clusters.home import ClusterHome
with ClusterHome(Path(sys.argv[1])).lock() as held:
    print("running", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_the_process_of_a_cluster_is_known_for_as_long_as_it_lives(place: Path) -> None:
    home = ClusterHome(place)
    assert home.running_pid() is None
    for _ in range(2):  # what the first one leaves says nothing of the second
        command = [sys.executable, "-c", _HOLDER, str(place)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"running\n"
            assert home.running_pid() == holder.pid
            assert home.lock() is None
            holder.kill()
        assert home.running_pid() is None


def test_one_process_at_a_time_starts_a_cluster(place: Path) -> None:
    home = ClusterHome(place)
    with home.starting():
        with (
            pytest.raises(ClusterError, match=f"{place}: another process is just starting this cluster"),
            home.starting(),
        ):
            pass
        home.make()  # what it has made so far is not something else
    with home.starting():
        pass


def test_a_home_is_removed_with_all_that_is_in_it(place: Path) -> None:
    home = ClusterHome(place / "state")
    home.make()
    home.write_spec(SPEC)
    (home.nodes / "node-1").mkdir(parents=True)
    (home.directory / "link").symlink_to(place)
    with home.starting():
        home.remove()
    assert list(place.iterdir()) == []


def test_what_a_removal_that_was_interrupted_leaves_is_still_a_cluster(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ClusterHome(place)
    home.write_spec(SPEC)
    for number in range(5):
        (place / f"file-{number}").touch()
    (place / "z").mkdir()
    monkeypatch.setattr(shutil, "rmtree", Mock(side_effect=KeyboardInterrupt))
    with home.starting(), pytest.raises(KeyboardInterrupt):
        home.remove()
    assert home.read_spec() == SPEC


def test_who_waits_for_a_home_that_is_removed_meanwhile_does_not_start_in_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock would be that of a file that nobody else can find."""
    home = ClusterHome(place / "state")
    home.make()
    lock = fcntl.flock

    def removed_before(file: IO[bytes], how: int) -> None:
        shutil.rmtree(home.directory)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with pytest.raises(ClusterError, match="just starting this cluster, or removing it"), home.starting():
        pass


def test_a_cluster_that_is_begun_while_the_last_one_is_removed_keeps_its_home(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ClusterHome(place / "state")
    home.make()
    rmdir = Path.rmdir

    def begun_before(directory: Path) -> None:
        with home.starting():
            home.write_spec(SPEC)
        rmdir(directory)

    monkeypatch.setattr(Path, "rmdir", begun_before)
    with home.starting():
        home.remove()
    assert home.read_spec() == SPEC
