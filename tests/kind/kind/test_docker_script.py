"""`.ci/docker` runs as root and removes things: only its own, whatever it is given and whatever docker is set to."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drakit_kind.nodes import leftovers
from drakit_kind.nodes.leftovers import Journal
from tests.kind.kind.fake_docker import FakeDocker

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[3] / ".ci" / "docker"
MARKER = "made-by-drakit"
CONTAINER = "0123456789abcdef" * 4
# What names a container ends whatever has it in its command, also in tests that run beside this one.
_OTHER = "fedcba9876543210" * 4
_SECONDS = 60


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The daemon's directory as `start` leaves it, without what it remembers of the machine."""
    directory = tmp_path / "daemon"
    (directory / "data" / "containers").mkdir(parents=True)
    (directory / MARKER).touch()
    return directory


@pytest.fixture
def as_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """The script believes that it is root, in a machine whose docker answers to nobody.

    It may be root: nothing of the machine is within its reach, even if it is wrong.
    """
    programs = tmp_path / "programs"
    programs.mkdir()
    fakes = dict.fromkeys(("iptables", "iptables-save", "iptables-restore", "ip", "sysctl", "umount", "rmdir"), ":")
    fakes |= {f"ip6tables-{action}": ":" for action in ("save", "restore")}
    for name, text in {**fakes, "id": "echo 0", "dockerd": "exit 1"}.items():
        _program(programs / name, text)
    monkeypatch.setenv("DRAKIT_DOCKER_SOCKET", str(tmp_path / "docker.sock"))
    monkeypatch.setenv("DRAKIT_RUN", str(tmp_path / "run"))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    fake = FakeDocker(programs)
    fake.answers("exit 1")
    return fake


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _run(action: str, directory: Path, needed_by: int | str = "") -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), action, str(directory), str(needed_by)]
    return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)


@contextmanager
def _bystander(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sh", "-c", "read line", *arguments], stdin=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def test_without_containers_no_process_is_ended(as_root: FakeDocker, directory: Path) -> None:
    with _bystander("a command line with a *") as process:
        assert _run("stop", directory).returncode == 0
        assert process.poll() is None
    assert not directory.exists()


@pytest.mark.parametrize("name", [_OTHER[:-1], f"{_OTHER}0", "sh", _OTHER.replace("f", "g")])
def test_what_is_no_container_id_ends_nothing(as_root: FakeDocker, directory: Path, name: str) -> None:
    (directory / "data" / "containers" / name).mkdir()
    with _bystander(name) as process:
        assert _run("stop", directory).returncode == 0
        assert process.poll() is None


def test_processes_of_its_containers_are_ended(as_root: FakeDocker, directory: Path) -> None:
    (directory / "data" / "containers" / CONTAINER).mkdir()
    with _bystander(CONTAINER) as process:
        assert _run("stop", directory).returncode == 0
        assert process.wait(_SECONDS) < 0


@pytest.mark.parametrize("action", ["start", "stop"])
def test_a_directory_of_somebody_else_is_refused(as_root: FakeDocker, tmp_path: Path, action: str) -> None:
    directory = tmp_path / "photographs"
    directory.mkdir()
    (directory / "one").touch()
    done = _run(action, directory)
    assert done.returncode == 1
    assert f"{directory} was not made by `.ci/docker start`" in done.stderr
    assert list(directory.iterdir()) == [directory / "one"]


@pytest.mark.parametrize("action", ["start", "stop"])
def test_one_waits_for_another_one_of_the_same_place(as_root: FakeDocker, directory: Path, action: str) -> None:
    place = os.open(directory.parent, os.O_RDONLY)
    fcntl.flock(place, fcntl.LOCK_EX)
    with subprocess.Popen([str(SCRIPT), action, str(directory)]) as run:
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(1)
        assert (directory / MARKER).exists()
        os.close(place)
        assert run.wait(_SECONDS) == {"start": 3, "stop": 0}[action]
    assert not directory.exists()


@pytest.mark.parametrize("name", ["none", "none/below", "/none-of-drakit", "/none-of-drakit/below/that"])
def test_nothing_is_to_be_stopped_where_nothing_was_started(as_root: FakeDocker, tmp_path: Path, name: str) -> None:
    assert _run("stop", tmp_path / name).returncode == 0


@pytest.mark.parametrize(
    ("program", "text", "error"),
    [
        ("id", "echo 1000", "only root can stop the daemon of {directory}"),
        ("awk", "exit 3", ""),
    ],
    ids=["not root", "a program that fails with status 3"],
)
def test_a_failure_does_not_look_as_if_docker_cannot_be_had(
    as_root: FakeDocker, directory: Path, program: str, text: str, error: str
) -> None:
    """CI leaves its kind stage out at status 3."""
    _program(directory.parent / "programs" / program, text)
    done = _run("stop", directory)
    assert done.returncode == 1
    assert error.format(directory=directory) in done.stderr


def test_where_docker_cannot_be_had_the_status_is_3(as_root: FakeDocker, tmp_path: Path) -> None:
    _program(tmp_path / "programs" / "id", "echo 1000")
    done = _run("start", tmp_path / "daemon")
    assert done.returncode == 3
    assert done.stderr.startswith("docker cannot be had: no daemon answers, and only root can start one")


_READ_ONLY = """
case "$*" in
*-w*) echo "sysctl: permission denied on key" >&2; echo "sysctl: no more to say" >&2; exit 1 ;;
*-p*) [ ! -s "$3" ] ;;
"-n "*) echo INSTANCES ;;
*) echo "$1 = 1" ;;
esac
"""


@pytest.mark.parametrize(
    ("program", "text", "reason"),
    [
        ("iptables", "echo 'Permission denied' >&2; exit 4", "iptables does not work here: Permission denied"),
        (
            "sysctl",
            _READ_ONLY.replace("INSTANCES", "128"),
            "settings cannot be changed here: sysctl: permission denied on key",
        ),
        ("sysctl", _READ_ONLY.replace("INSTANCES", "8192"), "dockerd did not start: "),
        ("iptables", "seq 100000", "dockerd did not start: "),
    ],
    ids=["no right to see rules", "no right to change settings", "nothing to change in settings", "many rules"],
)
def test_root_of_a_machine_that_allows_no_daemon_is_told_so_in_one_line(
    as_root: FakeDocker, tmp_path: Path, program: str, text: str, reason: str
) -> None:
    """CI's job may be root in an ordinary container; the same is said each time, and nothing stays."""
    _program(tmp_path / "programs" / program, text)
    for _ in range(2):
        done = _run("start", tmp_path / "daemon")
        assert done.returncode == 3
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"docker cannot be had: {reason}")
        assert not (tmp_path / "daemon").exists()


def test_a_start_that_was_killed_before_it_changed_anything_is_cleared_away(
    as_root: FakeDocker, tmp_path: Path, directory: Path
) -> None:
    (directory / "before").mkdir()
    (directory / "before" / "forward").touch()
    for program in ("iptables", "iptables-save", "iptables-restore", "sysctl"):
        _program(tmp_path / "programs" / program, "exit 4")
    assert _run("stop", directory).returncode == 0
    assert not directory.exists()


@pytest.mark.parametrize("root_directory", ["its own", "another"])
def test_the_containers_of_another_daemon_stay(
    as_root: FakeDocker, directory: Path, monkeypatch: pytest.MonkeyPatch, root_directory: str
) -> None:
    data = directory / "data" if root_directory == "its own" else "/var/lib/docker"
    monkeypatch.setenv("DOCKER_HOST", "tcp://someone-else:2375")
    as_root.answers(f'case "$*" in *"ps -aq"*) echo aa bb ;; *info*) echo {data} ;; esac')
    with _bystander(f"--pidfile={directory}/docker.pid") as daemon:
        (directory / "docker.pid").write_text(str(daemon.pid))
        reaper = threading.Thread(target=daemon.wait, args=(_SECONDS,))  # an ended one that nobody asks for stays
        reaper.start()
        assert _run("stop", directory).returncode == 0
        reaper.join()
        assert daemon.returncode == -signal.SIGTERM
    here = f"-H unix://{directory.parent}/docker.sock "
    assert [call for call in as_root.calls if not call.startswith(here)] == []
    assert (f"{here}rm -fv aa bb" in as_root.calls) == (root_directory == "its own")


def test_a_daemon_that_the_package_starts_is_used_and_stays(
    as_root: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With systemd, installing docker.io does."""
    machine, programs = tmp_path / "machine", tmp_path / "programs"
    machine.mkdir()
    found = {each.name: each for path in os.environ["PATH"].split(os.pathsep)[:0:-1] for each in Path(path).glob("*")}
    for name in found.keys() - {"dockerd"}:
        (machine / name).symlink_to(found[name])
    monkeypatch.setenv("PATH", f"{programs}:{machine}")
    (programs / "dockerd").unlink()
    _program(programs / "installed", "exit 0")
    _program(programs / "second", f"touch {tmp_path}/second")
    (tmp_path / "docker.sock").touch()
    install = f"cd {programs}; cp installed docker; cp second dockerd"
    _program(programs / "apt-get", f'case "$*" in *docker.io*) {install} ;; esac')
    _, told = _run("start", tmp_path / "daemon").stdout.splitlines()
    assert told == "docker: the daemon that the package has started"
    assert _run("stop", tmp_path / "daemon").returncode == 0
    assert (tmp_path / "docker.sock").exists()
    assert not (tmp_path / "second").exists()
    assert not (tmp_path / "daemon").exists()


def test_no_daemon_is_started_for_a_docker_that_asks_another(
    as_root: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://someone-else:2375")
    done = _run("start", tmp_path / "daemon")
    assert done.returncode == 3
    assert "`docker` asks tcp://someone-else:2375, which does not answer" in done.stderr
    assert not (tmp_path / "daemon").exists()


# Keeps its values in files of the directory SETTINGS, as the kernel does.
_SYSCTL = """
case "$*" in
"-q -w "*) echo "${3#*=}" >"SETTINGS/${3%%=*}" ;;
"-q -p "*) while read -r name _ value; do echo "$value" >"SETTINGS/$name"; done <"$3" ;;
"-n "*) cat "SETTINGS/$2" ;;
*) echo "$1 = $(cat "SETTINGS/$1")" ;;
esac
"""
_FORWARDING, _INSTANCES = "net.ipv4.ip_forward", "fs.inotify.max_user_instances"
_DOCKERD = """
for option; do case "$option" in --pidfile=*) echo $$ >"${option#--pidfile=}" ;; esac; done
echo 1 >"SETTINGS/net.ipv4.ip_forward"
trap 'rm RUNS; exit' TERM
echo $$ >RUNS
while :; do sleep 0.1; done
"""


Machine = Callable[[dict[str, str]], tuple[Path, Path]]


@pytest.fixture
def machine(as_root: FakeDocker, tmp_path: Path) -> Iterator[Machine]:
    """Makes one with a dockerd, of these settings: the directory of those, and a file that is there while that runs."""
    settings, runs = tmp_path / "settings", tmp_path / "runs"
    settings.mkdir()
    for name, text in {"sysctl": _SYSCTL, "dockerd": _DOCKERD}.items():
        _program(tmp_path / "programs" / name, text.replace("SETTINGS", str(settings)).replace("RUNS", str(runs)))
    as_root.answers(f"[ -e {runs} ] || exit 1")

    def make(before: dict[str, str]) -> tuple[Path, Path]:
        unchanged = dict.fromkeys(("net.ipv6.conf.all.forwarding", "net.ipv6.conf.default.forwarding"), "0")
        for name, value in {**before, **unchanged}.items():
            (settings / name).write_text(f"{value}\n")
        return settings, runs

    yield make
    if runs.exists():  # the real `.ci/docker stop` would take it for a daemon that shares its rules
        os.kill(int(runs.read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    ("before", "put_back"),
    [
        ({_FORWARDING: "0", _INSTANCES: "128"}, {}),
        ({_FORWARDING: "1", _INSTANCES: "8192"}, {_FORWARDING: "0", _INSTANCES: "128"}),
    ],
    ids=["it has", "somebody else has, who goes first"],
)
def test_settings_are_put_back_by_who_has_changed_them(
    machine: Machine, tmp_path: Path, before: dict[str, str], put_back: dict[str, str]
) -> None:
    settings, runs = machine(before)
    directory = tmp_path / "docker"
    assert _run("start", directory).returncode == 0
    assert {name: (settings / name).read_text() for name in before} == {_FORWARDING: "1\n", _INSTANCES: "8192\n"}
    for name, value in put_back.items():
        (settings / name).write_text(f"{value}\n")
    assert _run("stop", directory).returncode == 0
    assert not runs.exists()
    assert {name: (settings / name).read_text() for name in before} == {_FORWARDING: "0\n", _INSTANCES: "128\n"}


def test_a_daemon_stays_until_nobody_who_lives_needs_it(machine: Machine, tmp_path: Path) -> None:
    """CI may run twice at once; the first to end must not take the daemon from the other."""
    _, runs = machine({_FORWARDING: "0", _INSTANCES: "128"})
    directory = tmp_path / "docker"
    with _bystander() as killed, _bystander() as first, _bystander() as second:
        for user in (killed, first):
            assert _run("start", directory, user.pid).returncode == 0
        assert _run("stop", directory, second.pid).returncode == 0, "it has failed before it needed any"
        assert _run("start", directory, second.pid).stdout == "docker: the daemon that runs already\n"
        assert _run("stop", directory, first.pid).returncode == 0
        assert runs.exists()
        killed.kill()
        killed.wait()
        assert _run("stop", directory, second.pid).returncode == 0
    assert not runs.exists()
    assert not directory.exists()


def test_whoever_stops_a_daemon_by_hand_means_it(machine: Machine, tmp_path: Path) -> None:
    _, runs = machine({_FORWARDING: "0", _INSTANCES: "128"})
    with _bystander() as user:
        assert _run("start", tmp_path / "docker", user.pid).returncode == 0
        assert _run("stop", tmp_path / "docker").returncode == 0
    assert not runs.exists()


def test_what_is_no_process_id_is_refused(as_root: FakeDocker, directory: Path) -> None:
    done = _run("stop", directory, "../made-by-drakit")
    assert (done.returncode, done.stderr) == (1, "../made-by-drakit is no process id\n")
    assert (directory / MARKER).exists()


@pytest.fixture
def shared(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[str, bool]]:
    """What the daemon and clusters with real nodes both want: a setting, and whether a directory is there."""
    settings, _ = machine({_FORWARDING: "0", _INSTANCES: "128"})
    (tmp_path / "run").mkdir()
    sysctl = tmp_path / "sysctl"
    (sysctl / "fs" / "inotify").mkdir(parents=True)
    (sysctl / _INSTANCES.replace(".", "/")).symlink_to(settings / _INSTANCES)
    monkeypatch.setattr(leftovers, "SYSCTL", sysctl)
    # Of scratch directories alone, whatever it is told.
    machine_path = os.environ["PATH"].partition(os.pathsep)[2]
    rmdir = shutil.which("rmdir", path=machine_path)
    remove = f'for path; do case "$path" in {tmp_path}/*) {rmdir} "$path" ;; esac; done'
    _program(tmp_path / "programs" / "rmdir", remove)
    return lambda: ((settings / _INSTANCES).read_text().strip(), (tmp_path / "run" / "containerd").is_dir())


def _cluster(tmp_path: Path) -> Journal:
    """What a cluster with real nodes wants."""
    records = tmp_path / "run" / "drakit"
    cluster = Journal.create(tmp_path / "home", records)
    with leftovers.machine_lock(records):
        leftovers.make_directory(cluster, tmp_path / "run" / "containerd")
        leftovers.raise_setting(cluster, _INSTANCES.replace(".", "/"), 8192)
    return cluster


@pytest.mark.parametrize("cluster_first", [True, False])
@pytest.mark.parametrize("cluster_ends_first", [True, False])
def test_what_clusters_want_too_goes_with_the_last_one(
    shared: Callable[[], tuple[str, bool]], tmp_path: Path, cluster_first: bool, cluster_ends_first: bool
) -> None:
    """A setting that is lowered under nodes, and a directory removed under their mounts, would end them."""
    directory = tmp_path / "docker"
    early = _cluster(tmp_path) if cluster_first else None
    assert _run("start", directory).returncode == 0
    cluster = early or _cluster(tmp_path)
    if cluster_ends_first:
        cluster.undo()
    else:
        assert _run("stop", directory).returncode == 0
    assert shared() == ("8192", True)
    if cluster_ends_first:
        assert _run("stop", directory).returncode == 0
    else:
        cluster.undo()
    assert shared() == ("128", False)
    assert list((tmp_path / "run").iterdir()) == []


def test_what_a_killed_daemon_wanted_is_put_back_by_the_next_cluster(
    shared: Callable[[], tuple[str, bool]], tmp_path: Path
) -> None:
    records, runs = tmp_path / "run" / "drakit", tmp_path / "runs"
    assert _run("start", tmp_path / "docker").returncode == 0
    assert leftovers.undo_dead(records=records) == [], "it lives"
    assert shared() == ("8192", True)
    os.kill(int(runs.read_text()), signal.SIGKILL)
    runs.unlink()
    assert leftovers.undo_dead(tmp_path / "docker", records) != []
    assert shared() == ("128", False)
    assert _run("stop", tmp_path / "docker").returncode == 0
    assert list((tmp_path / "run").iterdir()) == []


def test_settings_and_directories_of_others_stay(shared: Callable[[], tuple[str, bool]], tmp_path: Path) -> None:
    (tmp_path / "run" / "containerd").mkdir()
    (tmp_path / "settings" / _INSTANCES).write_text("10000")
    assert _run("start", tmp_path / "docker").returncode == 0
    assert _run("stop", tmp_path / "docker").returncode == 0
    assert shared() == ("10000", True)


# Bridges docker0 and, on it, the end of a cable. FAILING is what cannot be deleted.
_IP = """
case "$*" in
"-o link show type bridge") echo "3: docker0: <UP>" ;;
"-o link show master docker0") echo "7: veth1@if6: <UP>" ;;
"link delete FAILING") echo "Cannot find device" >&2; exit 1 ;;
"link show veth1") exit 1 ;;
esac
"""


@pytest.mark.parametrize(("failing", "status"), [("veth1", 0), ("docker0", 1)], ids=["is gone by now", "stays"])
def test_what_cannot_be_removed_keeps_nothing_else_from_being_put_back(
    machine: Machine, tmp_path: Path, failing: str, status: int
) -> None:
    settings, _ = machine({_FORWARDING: "0", _INSTANCES: "128"})
    directory = tmp_path / "docker"
    assert _run("start", directory).returncode == 0
    _program(tmp_path / "programs" / "ip", _IP.replace("FAILING", failing))
    done = _run("stop", directory)
    assert done.returncode == status
    assert [(settings / name).read_text() for name in (_FORWARDING, _INSTANCES)] == ["0\n", "128\n"]
    assert directory.exists() == bool(status)
    if status:
        assert f"not all that the daemon of {directory} left could be removed" in done.stderr
        _program(tmp_path / "programs" / "ip", ":")
        assert _run("stop", directory).returncode == 0
        assert not directory.exists()


def test_a_later_process_with_the_number_of_one_that_needed_the_daemon_keeps_it_from_nobody(
    machine: Machine, tmp_path: Path
) -> None:
    _, runs = machine({_FORWARDING: "0", _INSTANCES: "128"})
    with _bystander() as later, _bystander() as user:
        for each in (later, user):
            assert _run("start", tmp_path / "docker", each.pid).returncode == 0
        began = tmp_path / "docker" / "needed-by" / str(later.pid)
        began.write_text(f"{int(began.read_text()) - 1}\n")
        assert _run("stop", tmp_path / "docker", user.pid).returncode == 0
    assert not runs.exists()
