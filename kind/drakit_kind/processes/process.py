"""One real component as a child process: started, watched until healthy, stopped, its log kept.

Every real component goes through the same few states, so that "is it up", "why not" and "is it gone" are answered in
one place, the way controller-runtime's envtest does it. A child never outlives the process that supervises it: the
kernel kills it when that process ends, however it ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path

from drakit_client.files import private_files
from drakit_kind import bounds
from drakit_kind.cluster import ClusterError
from drakit_kind.processes.own_addresses import NODE_NETWORKS
from drakit_kind.processes.spawn import log_tail

log = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25  # seconds between two looks at a starting process
_PROBE_SECONDS = 5.0
_OWN_ADDRESSES = ("localhost", "127.0.0.1", *NODE_NETWORKS)


class State(Enum):
    """Where a process is in its life; ``FAILED`` is one that ended without being asked to."""

    STOPPED = "stopped"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FAILED = "failed"


class Unhealthy(Exception):
    """A component does not do its work, or not yet; the text says what is in the way."""


Probe = Callable[[], Awaitable[None]]
"""Returns once a component does its work; raises ``Unhealthy``, ``OSError`` or a timeout as long as it does not."""


class ServerProcess:
    """A program that serves until it is stopped.

    ``probe`` is asked until it says that the program does its work; what it said last is told if that takes too long.
    ``ended`` is called with a text when a running process ends by itself. Times are seconds.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        probe: Probe,
        environment: Mapping[str, str] | None = None,
        ended: Callable[[str], None] | None = None,
        start_seconds: float = bounds.PROGRAM_START,
        stop_seconds: float = bounds.PROGRAM_STOP,
    ) -> None:
        self.name = name
        self.log = log
        self.state = State.STOPPED
        self._command = list(command)
        self._probe = probe
        self._environment = environment
        self._ended = ended
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._log_start = 0  # bytes that earlier runs have left in the log

    async def start(self) -> None:
        """Start it and wait until it is healthy.

        Raises ``ClusterError`` with the end of the log if it ends or the time runs out first; nothing runs then.
        """
        began = time.monotonic()
        self.state = State.STARTING
        try:
            self._process = await self._spawn()
            await self._until_healthy(self._process)
        except BaseException:
            await self._end(signal.SIGKILL)
            self.state = State.FAILED
            raise
        self.state = State.RUNNING
        self._watch = asyncio.create_task(self._watched(self._process), name=f"watch {self.name}")
        log.info("%s ready after %.2f s, pid %d", self.name, time.monotonic() - began, self._process.pid)

    @property
    def pid(self) -> int:
        """The process id of the program, which must have been started."""
        assert self._process is not None
        return self._process.pid

    async def stop(self) -> None:
        """Ask it to end (SIGTERM), insist when the time is up (SIGKILL); nothing happens if it does not run."""
        await self._end(signal.SIGTERM)

    async def _spawn(self) -> asyncio.subprocess.Process:
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with private_files.append_to(self.log) as output:
            self._log_start = output.tell()
            return await asyncio.create_subprocess_exec(
                *tied(self._command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the supervisor, which stops its children in order
                env=_environment() | dict(self._environment or {}),
            )

    async def _until_healthy(self, process: asyncio.subprocess.Process) -> None:
        deadline = time.monotonic() + self._start_seconds
        pause = _FIRST_PAUSE
        problem: str | None = None
        exited = asyncio.ensure_future(process.wait())
        try:
            while time.monotonic() < deadline:
                if exited.done():
                    raise ClusterError(f"{self.name} ended with status {exited.result()}; {self._end_of_log()}")
                problem = await self._problem()
                if problem is None:
                    return
                await asyncio.wait([exited], timeout=pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            exited.cancel()
        after = f"{self.name} is not healthy after {self._start_seconds:.0f} s"
        raise ClusterError(f"{after}: {problem}; {self._end_of_log()}")

    async def _problem(self) -> str | None:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._probe()
        except TimeoutError:
            return f"no answer within {_PROBE_SECONDS:.0f} s"
        except (Unhealthy, OSError) as error:
            return str(error)
        return None

    async def _watched(self, process: asyncio.subprocess.Process) -> None:
        status = await process.wait()
        self.state = State.FAILED
        problem = f"{self.name} ended by itself with status {status}; {self._end_of_log()}"
        log.error("%s", problem)
        if self._ended is not None:
            self._ended(problem)

    async def _end(self, first: signal.Signals) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        process = self._process
        if process is None:
            return
        self.state = State.STOPPING
        for number in (first, signal.SIGKILL):
            with suppress(ProcessLookupError):
                process.send_signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._stop_seconds):
                    await process.wait()
                    break
            log.warning("%s did not end within %.0f s of %s", self.name, self._stop_seconds, number.name)
        self._process = None  # only now: who is cancelled while it ends can be called again
        self.state = State.STOPPED

    def _end_of_log(self) -> str:
        return f"the end of {self.log}:{log_tail(self.log, since=self._log_start)}"


def _environment() -> dict[str, str]:
    """Return our environment without what would lead a component astray.

    etcd, kube-apiserver and containerd would tell our starter that they are ready, which is too early; and a proxy does
    not know the way to addresses that only this machine has.
    """
    environment = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
    direct = environment.get("NO_PROXY") or environment.get("no_proxy")
    without_proxy = ",".join(filter(None, [direct, *_OWN_ADDRESSES]))
    return {**environment, "NO_PROXY": without_proxy, "no_proxy": without_proxy}


# Run by a new interpreter: a fork of this process, whose threads may hold any lock, must do nothing but exec.
_LAUNCHER = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {signal.SIGKILL.value}, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    try:
        os.execv(sys.argv[2], sys.argv[2:])
    except OSError as error:
        sys.exit(f"{{sys.argv[2]}}: {{error.strerror}}")
"""


def tied(command: Sequence[str]) -> list[str]:
    """Return a command that runs ``command``, whose first part is a path, and is killed when this process ends."""
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command]
