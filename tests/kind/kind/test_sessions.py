"""What a program has started ends with us, also where we cannot end it any more; and builds wait for each other."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from drakit_kind.kind.sessions import run_in_session
from drakit_kind.processes.turns import one_at_a_time

_SECONDS = 30.0
# The shell is the child, the sleep is what it starts; both write their process ids.
_SLOW = ["sh", "-c", 'sleep 1000 & echo $$ $! >"$0.new"; mv "$0.new" "$0"; wait']
_RUNNER = """
import sys
from pathlib import Path
from drakit_kind.kind.sessions import run_in_session
run_in_session(sys.argv[2:], Path(sys.argv[1]), timeout=60)
"""


def _pids(file: Path) -> list[int]:
    deadline = time.monotonic() + _SECONDS
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return [int(word) for word in file.read_text().split()]


def _lives_on(pid: int) -> bool:
    """Whether a process is still there when it had time to end."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([handle], [], [], _SECONDS)[0]
    finally:
        os.close(handle)


@pytest.mark.slow
@pytest.mark.parametrize(("script", "status"), [("echo done; exit 0", 0), ("echo done >&2; exit 3", 3)])
def test_a_command_has_its_status_and_its_log(tmp_path: Path, script: str, status: int) -> None:
    assert run_in_session(["sh", "-c", script], tmp_path / "log", timeout=_SECONDS) == status
    assert (tmp_path / "log").read_text() == "done\n"


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_what_a_command_has_started_ends_with_the_one_who_runs_it(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", _RUNNER, str(tmp_path / "log"), *_SLOW, str(tmp_path / "pids")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as runner:
        pids = _pids(tmp_path / "pids")
        runner.send_signal(number)
    assert not any(map(_lives_on, pids))


@pytest.mark.slow
def test_a_command_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_in_session([*_SLOW, str(tmp_path / "pids")], tmp_path / "log", timeout=6)
    assert not any(map(_lives_on, _pids(tmp_path / "pids")))


def test_builds_wait_for_each_other_and_say_so(tmp_path: Path) -> None:
    order: list[str] = []
    waits = threading.Event()

    def report(text: str) -> None:
        order.append(text)
        waits.set()

    def second() -> None:
        with one_at_a_time(tmp_path / "new" / "lock", report):
            order.append("second")

    with one_at_a_time(tmp_path / "new" / "lock", order.append):
        other = threading.Thread(target=second)
        other.start()
        assert waits.wait(_SECONDS)
        order.append("first")
    other.join()
    assert order == [f"waiting for another process that has {tmp_path / 'new' / 'lock'}", "first", "second"]


_COMMAND = """
import os
os.geteuid = lambda: 0
from drakit_kind.cli.drakit_command import main
main()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_debootstrap_ends_with_the_command_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    program = tmp_path / "programs" / "debootstrap"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nmkdir -p "$5/etc"\nset -- {tmp_path / "pids"}\nexec {_quoted(_SLOW)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    command = [sys.executable, "-c", _COMMAND, "kind", "driver-image", "--local"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        pids = _pids(tmp_path / "pids")
        run.send_signal(number)
        assert run.wait(_SECONDS) == 130
        assert run.stderr is not None
        assert "the same command continues from it" in run.stderr.read()
    assert not any(map(_lives_on, pids))
    assert [path.name for path in (tmp_path / "cache" / "debian").glob("*.root")] == []


_DRIVER_IMAGE = """
from drakit_kind.cluster import silent
from drakit_kind.kind.node_images import driver_image
driver_image.archive(silent, local=False)
"""
_DEPENDENCIES = """
import sys
from pathlib import Path
from drakit_kind.kind.node_images import driver_image
driver_image._pip_install(Path(sys.argv[1], "lib"), ["x"], Path(sys.argv[1]))
"""
_NODE_IMAGE = """
import sys
from pathlib import Path
from drakit_images import node_image
scratch = Path(sys.argv[1])
node_image._kind_build(scratch / "kind", scratch / "server.tar.gz", "base", scratch)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(
    ("builder", "program"),
    [(_DRIVER_IMAGE, "docker"), (_DEPENDENCIES, "pip/__main__.py"), (_NODE_IMAGE, "kind")],
    ids=["docker build", "pip", "kind build"],
)
def test_a_build_ends_with_the_test_run_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builder: str, program: str, number: signal.Signals
) -> None:
    """pytest ends at once, and can end nothing itself."""
    slow = [*_SLOW, str(tmp_path / "pids")]
    text = f"#!/bin/sh\n[ $1 != build ] || exec {_quoted(slow)}\n"
    if program.endswith(".py"):
        text = f"import os\nos.execvp({slow[0]!r}, {slow!r})\n"
        (tmp_path / "pip").mkdir()
        (tmp_path / "pip" / "__init__.py").touch()
    file = tmp_path / program
    file.write_text(text)
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    with subprocess.Popen([sys.executable, "-c", builder, str(tmp_path)]) as run:
        pids = _pids(tmp_path / "pids")
        run.send_signal(number)
    assert not any(map(_lives_on, pids))


def _quoted(command: list[str]) -> str:
    return " ".join(map(shlex.quote, command))
