"""Starting a process and knowing when it is ready, or why it never will be.

The child says READY=1 on the socket that sd_notify defines; the kernel says when it died. The starter waits for exactly
one of these two, without polling and without guessing from log output.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from drakit_client.files import private_files
from drakit_client.processes.readiness import TIED_VARIABLE
from drakit_kind.cluster import Report, silent
from drakit_kind.interrupts import held_back

_LOG_TAIL_LINES = 15
_MESSAGE_BYTES = 65536
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_KEPT = "DRAKIT_KEPT_"
_SENDER = struct.Struct("3i")  # struct ucred of unix(7): process, user, group


class SpawnError(Exception):
    """The process ended, or the time ran out, before it was ready; the message has its reason or last log lines."""


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    timeout: float,
    tied: bool = False,
    report: Report = silent,
    end_timeout: float = 5.0,
) -> subprocess.Popen[bytes]:
    """Start ``command`` in a session of its own, its output appended to ``log`` (0600), and wait until it is ready.

    Raises ``SpawnError`` if it ends before it is, or is not within ``timeout`` seconds.
    ``tied``: it stops by itself when this process ends, however it ends. ``report`` gets what it says of its progress.
    On any failure, Ctrl-C included, it is ended before the exception leaves this function; it has ``end_timeout``
    seconds to do so in order.
    """
    process = None
    with _listener() as ready, private_files.append_to(log) as output:
        began = log.stat().st_size  # earlier runs have left that
        try:
            with held_back():
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE if tied else subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    env={**_environment(tied=tied), "NOTIFY_SOCKET": _address(ready)},
                )
            _wait_ready(ready, process, partial(_end_of_log, log, began), timeout, report)
        except BaseException:
            if process is not None:
                end(process, timeout=end_timeout)
            raise
    return process


def _environment(*, tied: bool) -> dict[str, str]:
    """Return our environment without the machine's certificate authorities.

    aiohttp reads all of them when it is imported, which takes a tenth of a cluster's start. What is started here talks
    to its own API server only, and trusts the one authority that its kubeconfig has. See ``restore_authorities``.
    """
    kept = {_KEPT + name: os.environ[name] for name in _AUTHORITIES if name in os.environ}
    without = dict.fromkeys(_AUTHORITIES, os.devnull)
    return {**os.environ, **kept, **without, **({TIED_VARIABLE: "1"} if tied else {})}


def restore_authorities() -> None:
    """In a process that was started here, once aiohttp is imported: programs that it starts get the user's own."""
    for name in _AUTHORITIES:
        if os.environ.get(name) == os.devnull:
            del os.environ[name]
        if _KEPT + name in os.environ:
            os.environ[name] = os.environ.pop(_KEPT + name)


def end(process: subprocess.Popen[bytes], *, timeout: float) -> None:
    """Ask a child to stop (SIGTERM), insist after ``timeout`` seconds (SIGKILL), and reap it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
    _reap(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL a child and reap it."""
    process.kill()
    _reap(process)


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def end_pid(pid: int, *, timeout: float) -> None:
    """Like ``end`` for a process that is not a child of this one."""
    if not _signal_and_wait(pid, signal.SIGTERM, timeout):
        _signal_and_wait(pid, signal.SIGKILL, timeout)


def _signal_and_wait(pid: int, number: signal.Signals, timeout: float) -> bool:
    """Whether the process ended in time. Works on a pidfd, so that the id cannot be another process's by then."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        signal.pidfd_send_signal(handle, number)
        return bool(select.select([handle], [], [], timeout)[0])
    except ProcessLookupError:
        return True
    finally:
        os.close(handle)


def log_tail(log: Path, *, since: int = 0) -> str:
    """Return the last lines of a log, from byte ``since`` on, indented to follow an error message.

    A Go program that panicked prints the reason before a long stack, so of a panic only the beginning is returned.
    """
    try:
        lines = log.read_bytes()[since:].decode(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    panics = [number for number, line in enumerate(lines) if line.startswith("panic: ")]
    first = min([*panics[-1:], max(0, len(lines) - _LOG_TAIL_LINES)])
    return "".join(f"\n  {line}" for line in lines[first : first + _LOG_TAIL_LINES])


def _end_of_log(log: Path, since: int) -> str:
    return f"the end of {log}:{log_tail(log, since=since) or ' nothing was printed'}"


def _listener() -> socket.socket:
    """Open a socket with an abstract name, which leaves no file however this process ends.

    Any process can send to such a name, so each message comes with its sender's user.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    listener.bind("")
    return listener


def _address(listener: socket.socket) -> str:
    """As sd_notify has it: @ for the NUL with which an abstract name begins."""
    name: bytes = listener.getsockname()
    return "@" + name[1:].decode()


def _heard(listener: socket.socket) -> str | None:
    """Receive the next message; None if it is from another user."""
    message, about, _, _ = listener.recvmsg(_MESSAGE_BYTES, socket.CMSG_SPACE(_SENDER.size))
    users = [_SENDER.unpack(data)[1] for _, kind, data in about if kind == socket.SCM_CREDENTIALS]
    return message.decode(errors="replace") if users == [os.getuid()] else None


def _wait_ready(
    ready: socket.socket,
    process: subprocess.Popen[bytes],
    end_of_log: Callable[[], str],
    timeout: float,
    report: Report,
) -> None:
    deadline = time.monotonic() + timeout
    died = os.pidfd_open(process.pid)
    try:
        while (left := deadline - time.monotonic()) > 0:
            readable = select.select([ready.fileno(), died], [], [], left)[0]
            if ready.fileno() in readable:
                said = _heard(ready)
                if said == "READY=1":
                    return
                if said is not None and said.startswith("ERROR="):
                    raise SpawnError(said.removeprefix("ERROR="))
                if said is not None:
                    report(said.removeprefix("STATUS="))
            elif died in readable:
                raise SpawnError(f"ended with status {process.wait()} before it was ready; {end_of_log()}")
        raise SpawnError(f"not ready within {timeout:.0f} s; {end_of_log()}")
    finally:
        os.close(died)
