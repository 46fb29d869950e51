"""The life of a real component's process: healthy, failed at the start, dying later, stubborn, orphaned."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.processes.own_addresses import NODE_NETWORKS
from drakit_kind.processes.process import ServerProcess, State, Unhealthy

pytestmark = pytest.mark.slow

_BOUND = 20.0


def server(tmp_path: Path, program: str, **options: object) -> ServerProcess:
    """A Python program as a component; healthy as soon as it has made the file ``up``."""

    async def probe() -> None:
        if not (tmp_path / "up").exists():
            raise Unhealthy("it has not made its file")

    command = [
        sys.executable,
        "-c",
        f"import os, pathlib, signal, sys, time\nup = pathlib.Path('{tmp_path}/up')\n"
        f"pathlib.Path('{tmp_path}/pid').write_text(str(os.getpid()))\n{program}",
    ]
    return ServerProcess("thing", command, log=tmp_path / "logs" / "thing.log", probe=probe, **options)  # type: ignore[arg-type]


def pid(tmp_path: Path) -> int:
    """Of the program that ``server`` has started last."""
    return int((tmp_path / "pid").read_text())


SERVES = "up.touch(); signal.pause()"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN); up.touch(); signal.pause()\nwhile True: signal.pause()"


async def test_a_component_is_running_once_it_is_healthy_and_gone_once_it_is_stopped(tmp_path: Path) -> None:
    thing = server(tmp_path, SERVES)
    await thing.start()
    assert Path(f"/proc/{pid(tmp_path)}").exists()
    await thing.stop()
    assert thing.state is State.STOPPED
    assert not Path(f"/proc/{pid(tmp_path)}").exists()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "print('no such flag: --x'); sys.exit(3)",
            r"(?s)thing ended with status 3; the end of .*thing.log:.*no such flag: --x",
        ),
        (
            "print('waiting for etcd', flush=True); signal.pause()",
            r"(?s)thing is not healthy after 5 s: it has not made its file; .*waiting for etcd",
        ),
    ],
)
async def test_a_component_that_does_not_come_up_tells_the_end_of_its_log(
    tmp_path: Path, program: str, message: str
) -> None:
    thing = server(tmp_path, program, start_seconds=5.0)
    with pytest.raises(ClusterError, match=message):
        await thing.start()
    assert thing.state is State.FAILED


async def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    async def never() -> None:
        raise Unhealthy("never")

    thing = ServerProcess("etcd", [str(tmp_path / "etcd"), "--x"], log=tmp_path / "etcd.log", probe=never)
    with pytest.raises(ClusterError, match=r"(?s)etcd ended with status 1; .*/etcd: No such file or directory"):
        await thing.start()


async def test_a_component_that_ends_by_itself_is_reported_with_its_last_words(tmp_path: Path) -> None:
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    thing = server(
        tmp_path, f"signal.signal(signal.SIGUSR1, lambda *_: sys.exit('disk full'))\n{SERVES}", ended=ended.set_result
    )
    await thing.start()
    os.kill(pid(tmp_path), signal.SIGUSR1)
    async with asyncio.timeout(_BOUND):
        assert "thing ended by itself with status 1" in await ended
    assert "disk full" in ended.result()
    assert thing.state is State.FAILED


async def test_a_failed_restart_does_not_show_the_log_of_the_run_before(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "thing.log").write_text("of an earlier run\n")
    with pytest.raises(ClusterError) as failed:
        await server(tmp_path, "sys.exit('now')").start()
    assert str(failed.value).endswith("thing.log:\n  now")


async def test_readiness_of_a_component_is_not_announced_as_that_of_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    thing = server(tmp_path, f"print('told', os.environ.get('NOTIFY_SOCKET'), flush=True); {SERVES}")
    await thing.start()
    await thing.stop()
    assert thing.log.read_text() == "told None\n"


async def test_addresses_of_this_machine_are_reached_without_the_users_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "example.com")
    thing = server(tmp_path, f"print(os.environ['NO_PROXY'], os.environ['no_proxy'], flush=True); {SERVES}")
    await thing.start()
    await thing.stop()
    direct = ",".join(["example.com", "localhost", "127.0.0.1", *NODE_NETWORKS])
    assert thing.log.read_text() == f"{direct} {direct}\n"


async def test_a_component_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    thing = server(tmp_path, STUBBORN, stop_seconds=2)
    await thing.start()
    await thing.stop()
    assert not Path(f"/proc/{pid(tmp_path)}").exists()


async def test_a_stop_that_is_cancelled_can_be_asked_for_again(tmp_path: Path) -> None:
    """Whoever ends a restart has to stop what was being stopped, before that on which it depends."""
    thing = server(tmp_path, STUBBORN, stop_seconds=_BOUND)
    await thing.start()
    stop = asyncio.create_task(thing.stop())
    await _until(lambda: thing.state is State.STOPPING)
    stop.cancel()
    await asyncio.gather(stop, return_exceptions=True)
    assert Path(f"/proc/{pid(tmp_path)}").exists()
    thing._stop_seconds = 2
    await thing.stop()
    assert not Path(f"/proc/{pid(tmp_path)}").exists()


async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    thing = server(tmp_path, "signal.pause()")
    start = asyncio.create_task(thing.start())
    await _until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").stat().st_size > 0)
    start.cancel()
    await asyncio.gather(start, return_exceptions=True)
    assert not Path(f"/proc/{pid(tmp_path)}").exists()


_SUPERVISOR = """
import asyncio, signal, sys
from pathlib import Path
from drakit_kind.processes.process import ServerProcess

async def main():
    async def probe(): pass
    program = ["/bin/sh", "-c", "echo $$; exec sleep 1000"]
    await ServerProcess("thing", program, log=Path(sys.argv[1]), probe=probe).start()
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_component_ends_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _SUPERVISOR, str(tmp_path / "log"), stdout=subprocess.PIPE
    )
    assert supervisor.stdout is not None
    assert await supervisor.stdout.readline()
    await _until(lambda: (tmp_path / "log").read_text().endswith("\n"))
    supervisor.kill()
    await supervisor.wait()
    await _until(lambda: not _runs(int((tmp_path / "log").read_text())))


def _runs(pid: int) -> bool:
    """A zombie that its new parent has not waited for yet is no running process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_BOUND):
        while not condition():  # noqa: ASYNC110  # another process does it
            await asyncio.sleep(0.01)
