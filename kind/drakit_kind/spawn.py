"""Starting a process and knowing when it is ready, or why it never will be.

The child inherits one end of a pipe: it writes a line when it is ready, and the kernel closes the pipe when it dies. So
the parent waits for exactly one of two things, without polling and without guessing from log output.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

READY_VARIABLE = "DRAKIT_READY_FD"
_LOG_TAIL_LINES = 15


class SpawnError(Exception):
    """The process ended, or the time ran out, before it was ready; the message ends with its last log lines."""


def spawn(command: Sequence[str], *, log: Path, timeout: float, detach: bool = True) -> subprocess.Popen[bytes]:
    """Start ``command`` with its output appended to ``log`` (0600) and wait until it calls ``announce_ready``.

    On any failure, Ctrl-C included, the process is ended before the exception leaves this function.
    """
    read_end, write_end = os.pipe()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=detach,
            pass_fds=[write_end],
            env={**os.environ, READY_VARIABLE: str(write_end)},
        )
    finally:
        os.close(descriptor)
        os.close(write_end)
    try:
        _wait_ready(read_end, process, log, timeout)
    except BaseException:
        end(process, timeout=5)
        raise
    finally:
        os.close(read_end)
    return process


def announce_ready() -> None:
    """In the child: tell the parent, if there is one that waits."""
    if descriptor := os.environ.pop(READY_VARIABLE, None):
        with os.fdopen(int(descriptor), "wb") as pipe:
            pipe.write(b"ready\n")


def end(process: subprocess.Popen[bytes], *, timeout: float) -> None:
    """Ask a child to stop (SIGTERM), insist after ``timeout`` seconds (SIGKILL), and reap it."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_pid(pid: int, *, timeout: float) -> None:
    """Like ``end`` for a process that is not a child of this one; waits on a pidfd, so the id cannot be reused."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        if not select.select([handle], [], [], timeout)[0]:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], timeout)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


def log_tail(log: Path) -> str:
    """The last lines of a log, indented to follow an error message."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
    except FileNotFoundError:
        return ""
    return "".join(f"\n  {line}" for line in lines)


def _wait_ready(read_end: int, process: subprocess.Popen[bytes], log: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    if not select.select([read_end], [], [], timeout)[0]:
        raise SpawnError(f"not ready within {timeout:.0f} s; the end of {log}:{log_tail(log)}")
    if not os.read(read_end, 16):
        code = process.wait(max(0.1, deadline - time.monotonic()))
        raise SpawnError(f"ended with status {code} before it was ready; the end of {log}:{log_tail(log)}")
