"""A test run that is killed leaves no kind cluster, whenever it is killed and whatever docker answers at first."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.kind import guard, removal
from tests.kind.kind.fake_docker import FakeDocker

pytestmark = pytest.mark.slow

CLUSTER = "drakit-story"
PS = f"ps --all --quiet --filter label=io.x-k8s.kind.cluster={CLUSTER}"
REMOVED = "rm --force --volumes node-1 node-2"
NETWORK = "network ls --quiet --no-trunc --filter name=^kind$"
_STARTER = """
import sys, time
from pathlib import Path
from drakit_kind.kind.guard import Guard
guard = Guard("drakit-story", Path(sys.argv[1]))
if sys.argv[2] == "dismiss":
    guard.dismiss()
print("ready", flush=True)
time.sleep(60)
"""


def _nth_look(*answers: str) -> str:
    """A docker whose first, second ... `ps` does this; later ones find nothing."""
    cases = " ".join(f"{number}) {answer} ;;" for number, answer in enumerate(answers, start=1))
    return f"""[ "$1" = ps ] || exit 0
case $(grep -c ^ps "$(dirname "$0")/calls") in {cases} esac"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    directory = tmp_path / "cluster"
    directory.mkdir()
    (directory / "kubeconfig").touch()
    return directory


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> int:
    """How often in a row it must find nothing."""
    for module in (guard, removal):
        monkeypatch.setattr(module, "_PAUSE", 0)
    return removal._LOOKS


def test_a_cluster_goes_with_its_directory(fake: FakeDocker, directory: Path, looks: int) -> None:
    fake.answers(_nth_look("echo node-1 node-2"))
    guard.remove(CLUSTER, directory)
    assert fake.calls == [PS, REMOVED, *[PS] * looks, NETWORK]
    assert not directory.exists()


def test_containers_that_are_made_after_a_look_go_too(fake: FakeDocker, directory: Path, looks: int) -> None:
    """The daemon goes on with what kind had asked it for before it was killed."""
    fake.answers(_nth_look("", "echo node-1 node-2", "", "echo node-1 node-2"))
    guard.remove(CLUSTER, directory)
    assert fake.calls[:6] == [PS, PS, REMOVED, PS, PS, REMOVED]
    assert fake.calls[6:] == [*[PS] * looks, NETWORK]


def test_a_daemon_that_does_not_answer_at_first_is_asked_again(fake: FakeDocker, directory: Path, looks: int) -> None:
    fake.answers(_nth_look("exit 1", "exit 1", "echo node-1 node-2"))
    guard.remove(CLUSTER, directory)
    assert REMOVED in fake.calls
    assert not directory.exists()


def test_where_a_cluster_cannot_be_removed_its_directory_says_why(
    fake: FakeDocker, directory: Path, looks: int, caplog: pytest.LogCaptureFixture
) -> None:
    fake.answers("echo the daemon is gone >&2; exit 1")
    with pytest.raises(ClusterError, match="the daemon is gone"):
        guard.remove(CLUSTER, directory)
    assert directory.exists()
    assert f"removing {CLUSTER} failed" in caplog.text


def test_a_killed_test_run_leaves_no_cluster(fake: FakeDocker, directory: Path) -> None:
    fake.answers(_nth_look("echo node-1 node-2"))
    starter = _start(directory, "stay")
    assert fake.calls == []
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    deadline = time.monotonic() + 30
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not directory.exists()
    assert fake.calls[:2] == [PS, REMOVED]


def test_a_dismissed_guard_does_nothing(fake: FakeDocker, directory: Path) -> None:
    fake.answers("exit 0")
    starter = _start(directory, "dismiss")
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    # It was waited for before the starter said so, hence nothing can come any more.
    assert fake.calls == []
    assert (directory / "kubeconfig").exists()


def _start(directory: Path, what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _STARTER, str(directory), what]
    starter = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    with starter.stdout:
        assert starter.stdout.readline() == "ready\n"
    return starter
