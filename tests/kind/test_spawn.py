"""Whoever starts a process learns when it is ready, or why it is not, and leaves none behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drakit_kind.processes import spawn
from tests.kind.waits import ended

_READY = "from drakit_client.processes.readiness import announce_ready; announce_ready(); "


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.slow
def test_a_ready_process_is_returned_running_and_can_be_ended(tmp_path: Path) -> None:
    process = spawn.spawn(_python(_READY + "import signal; signal.pause()"), log=tmp_path / "log", timeout=20)
    assert process.poll() is None
    spawn.end(process, timeout=20)
    assert process.returncode is not None


@pytest.mark.slow
def test_a_process_that_dies_first_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(spawn.SpawnError, match=r"status 3 before it was ready.*(?s:.*)no such profile"):
        spawn.spawn(_python("print('no such profile', flush=True); exit(3)"), log=tmp_path / "log", timeout=20)


@pytest.mark.slow
@pytest.mark.parametrize(("code", "says"), [("print('now')", "\n  now"), ("pass", " nothing was printed")])
def test_the_last_words_of_an_earlier_run_are_not_those_of_this_one(tmp_path: Path, code: str, says: str) -> None:
    log = tmp_path / "log"
    log.write_text("the run before\n")
    with pytest.raises(spawn.SpawnError) as failed:
        spawn.spawn(_python(code), log=log, timeout=20)
    assert str(failed.value) == f"ended with status 0 before it was ready; the end of {log}:{says}"


@pytest.mark.slow
def test_a_process_that_is_never_ready_is_ended(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"import os, signal; open({str(pid_file)!r}, 'w').write(str(os.getpid())); signal.pause()"
    with pytest.raises(spawn.SpawnError, match="not ready within"):
        spawn.spawn(_python(code), log=tmp_path / "log", timeout=5)
    assert not Path(f"/proc/{pid_file.read_text()}").exists()


@pytest.mark.slow
def test_interrupted_while_it_starts_a_process_it_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)  # before anybody else has this object

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            spawn.spawn(_python("import signal; signal.pause()"), log=tmp_path / "log", timeout=20)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [pid for pid in started if not ended(pid, seconds=0)] == []


@pytest.mark.slow
def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + _READY + "signal.pause()"
    process = spawn.spawn(_python(code), log=tmp_path / "log", timeout=20)
    spawn.end(process, timeout=0.1)
    assert process.returncode == -9


@pytest.mark.slow
def test_another_process_can_be_ended_by_its_id(tmp_path: Path) -> None:
    process = subprocess.Popen(_python("import signal; signal.pause()"))
    spawn.end_pid(process.pid, timeout=20)
    assert process.wait(20) < 0


@pytest.mark.slow
def test_the_log_is_private(tmp_path: Path) -> None:
    process = spawn.spawn(_python(_READY), log=tmp_path / "log", timeout=20)
    process.wait(20)
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_tied_process_does_not_outlive_the_one_that_started_it(tmp_path: Path) -> None:
    child = (
        "import asyncio; from drakit_client.processes.readiness import announce_ready, told_to_stop\n"
        "async def main():\n"
        "    stopping = told_to_stop()\n"
        "    announce_ready(); await stopping.wait()\n"
        "asyncio.run(main())\n"
    )
    starter = (
        "import os, signal, sys; from pathlib import Path; from drakit_kind.processes import spawn\n"
        f"command, log = [sys.executable, '-c', {child!r}], Path({str(tmp_path / 'log')!r})\n"
        "child = spawn.spawn(command, log=log, timeout=20, tied=True)\n"
        "print(child.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(_python(starter), capture_output=True, text=True, timeout=60, check=False)
    pid = int(killed.stdout)
    assert ended(pid, seconds=20)


@pytest.mark.slow
def test_a_starter_that_is_killed_while_it_waits_leaves_no_file(tmp_path: Path) -> None:
    kill_starter = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    starter = (
        "import sys; from pathlib import Path; from drakit_kind.processes import spawn\n"
        f"spawn.spawn([sys.executable, '-c', {kill_starter!r}], log=Path({str(tmp_path / 'log')!r}), timeout=20)\n"
    )
    temporary = tmp_path / "t"
    temporary.mkdir()
    subprocess.run(_python(starter), env={**os.environ, "TMPDIR": str(temporary)}, timeout=60, check=False)
    assert {path.name for path in tmp_path.rglob("*")} == {"t", "log"}


@pytest.mark.slow
def test_only_processes_of_the_same_user_can_say_that_one_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = _python(_READY + "import signal; signal.pause()")
    monkeypatch.setattr(os, "getuid", lambda: 1 + os.geteuid())  # as if the one that says so were another user's
    with pytest.raises(spawn.SpawnError, match="not ready within"):
        spawn.spawn(command, log=tmp_path / "log", timeout=1)


def test_the_end_of_a_log_begins_where_a_go_program_panicked(tmp_path: Path) -> None:
    """kubelets and others of Kubernetes print a stack of fifty lines after what was wrong."""
    log = tmp_path / "log"
    stack = "".join(f"main.function{number}()\n" for number in range(50))
    log.write_text(f"starting\npanic: cannot set feature gate A to false\n\ngoroutine 1 [running]:\n{stack}")
    tail = spawn.log_tail(log)
    assert tail.startswith("\n  panic: cannot set feature gate A to false")
    assert tail.endswith("main.function11()")


@pytest.mark.slow
def test_what_a_process_says_of_its_progress_is_passed_on(tmp_path: Path) -> None:
    program = (
        "from drakit_client.processes import readiness\n"
        "readiness.announce_progress('etcd started')\nreadiness.announce_progress('kube-apiserver started')\n"
        "readiness.announce_ready()\nimport signal; signal.pause()"
    )
    heard: list[str] = []
    process = spawn.spawn([sys.executable, "-c", program], log=tmp_path / "log", timeout=30, report=heard.append)
    spawn.kill(process)
    assert heard == ["etcd started", "kube-apiserver started"]


@pytest.mark.slow
def test_a_process_that_says_why_it_fails_is_taken_at_its_word(tmp_path: Path) -> None:
    program = (
        "from drakit_client.processes import readiness\n"
        "readiness.announce_progress('etcd started')\n"
        "readiness.announce_failure('kube-apiserver ended:' + 40 * '\\n  x')"
    )
    with pytest.raises(spawn.SpawnError) as failed:
        spawn.spawn([sys.executable, "-c", program], log=tmp_path / "log", timeout=30)
    assert str(failed.value) == "kube-apiserver ended:" + 40 * "\n  x"
