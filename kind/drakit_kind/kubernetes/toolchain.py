"""The user's Go: whether it is there and new enough, and running it so that nothing of it stays behind.

Go would download another toolchain by itself, take flags from the user's settings and work inside a workspace that
happens to lie above; all of that is switched off, so that the same module gives the same binaries.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from drakit_kind.cluster import ClusterError

_VERSION = re.compile(r"go(\d+)\.(\d+)(?:\.(\d+))?")
_SECONDS_TO_END = 10.0
# Go's own, said because what a user has set with `go env -w` would hold otherwise.
_DEFAULTS = {"GO111MODULE": "on", "GOAMD64": "v1", "GOARM64": "v8.0", "GOFIPS140": "off"}
# Runs a command in its own process group, and kills all of that when the process that started it ends (prctl(2),
# PR_SET_PDEATHSIG): Go's compilers would go on otherwise. Interrupts are for Go; a signal that is ignored, rather than
# handled, would be so in Go too.
_GROUP = f"""
import ctypes, os, signal, subprocess, sys
signal.signal(signal.SIGINT, lambda *_: None)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
ctypes.CDLL(None).prctl(1, {signal.SIGTERM.value}, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    sys.exit(subprocess.call(sys.argv[2:]))
"""


@dataclass(frozen=True)
class Go:
    """A Go toolchain: its ``go`` command and what that says about itself, e.g. ``go1.26.8``."""

    executable: Path
    version: str


def find_go(minimum: str, purpose: str) -> Go:
    """Find the ``go`` in PATH; raise ``ClusterError`` if there is none of at least ``minimum`` (``1.26.6``)."""
    in_path = shutil.which("go")
    if in_path is None:
        raise ClusterError(
            f"{purpose} needs Go {minimum} or later, and there is no `go` in PATH; install it from https://go.dev/dl"
        )
    found = Path(in_path).absolute()  # PATH may have relative directories, and builds run elsewhere
    asked = subprocess.run(
        [found, "env", "GOVERSION"],
        cwd="/",
        env={**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    version = asked.stdout.strip()
    if asked.returncode or not _VERSION.search(version):
        raise ClusterError(f"{found} does not tell its version: {(asked.stderr or asked.stdout).strip()}")
    if _numbers(version) < _numbers(f"go{minimum}"):
        raise ClusterError(
            f"{purpose} needs Go {minimum} or later, and {found} is {version}; install a newer one from "
            "https://go.dev/dl (drakit does not let Go download another Go by itself)"
        )
    return Go(found, version)


def _numbers(version: str) -> tuple[int, ...]:
    found = _VERSION.search(version)
    return tuple(int(number or 0) for number in found.groups()) if found else ()


def environment(flags: Sequence[str], **variables: str) -> dict[str, str]:
    """Return our environment with ``flags`` (GOFLAGS) and ``variables`` for Go's settings; proxies and caches stay."""
    kept = {name: value for name, value in os.environ.items() if name != "GOEXPERIMENT"}
    return {**kept, **_DEFAULTS, "GOFLAGS": " ".join(flags), "GOTOOLCHAIN": "local", "GOWORK": "off", **variables}


def run(
    command: Sequence[str | Path],
    *,
    directory: Path,
    environment: Mapping[str, str],
    log: IO[str],
    on_line: Callable[[str], None],
) -> int:
    """Run a command of Go to its end, every line of its output to ``log`` and ``on_line``; return its exit status.

    It and the compilers that it starts are one process group, which is ended before any exception, Ctrl-C included,
    leaves this function, and also when this process is killed.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _GROUP, str(os.getpid()), *command],
        cwd=directory,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                log.write(line)
                log.flush()
                on_line(line.rstrip("\n"))
        except BaseException:
            _end_group(process.pid)
            raise
    return process.returncode


def _end_group(leader: int) -> None:
    """Interrupt the group, so that Go removes its temporary files, and kill what is left of it after a while.

    The leader is not reaped yet: its id stands for the group until then, and for no other.
    """
    handle = os.pidfd_open(leader)
    try:
        os.killpg(leader, signal.SIGINT)
        select.select([handle], [], [], _SECONDS_TO_END)
    finally:
        os.killpg(leader, signal.SIGKILL)
        os.close(handle)
