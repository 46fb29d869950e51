"""The directories of clusters that must not outlive a test run, removed also if nobody is left who would.

A test run removes its clusters' directories at its end. If it is killed, a small process does it: one for all clusters
that the run has started, whether they run then or have been stopped. It is told of a directory before that is made, so
that it does not matter when the run is killed.
"""

from __future__ import annotations

import atexit
import base64
import os
import secrets
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from drakit_kind.clusters import short_paths

# Of the standard library only, so that it starts in no time and cannot fail for want of anything.
# Told on stdin are directories, with a NUL after each; the kernel closes that when the run has ended. Its argument is
# what short names of directories look like.
_HEIR = """
import fcntl, glob, os, shutil, signal, sys, threading, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

def remove(directory):
    try:
        # Waits for the cluster's process, which ends after the run; and none begins here any more.
        fcntl.lockf(os.open(directory + b"/lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), fcntl.LOCK_EX)
    except OSError:
        pass
    # Containers that were left are ended by others meanwhile, and write until then.
    deadline = time.monotonic() + 60
    while os.path.exists(directory) and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.1)
    for link in glob.glob(os.fsencode(sys.argv[1])):
        try:
            if os.readlink(link) == directory:
                os.unlink(link)
        except OSError:
            pass

for directory in sys.stdin.buffer.read().split(b"\\0")[:-1]:
    threading.Thread(target=remove, args=[directory]).start()
"""
# For how many seconds drivers and containers that are ending may still write.
_REMOVE_SECONDS, _PAUSE = 10.0, 0.05
_NOTHING_LEFT_SECONDS = 1.0
# Eight letters and digits: the paths of unix sockets that lie below are bounded.
_NAME_BYTES = 5


def make(parent: Path, prefix: str) -> Path:
    """Make a private directory, with a name that nobody has or can guess, that does not outlive this process."""
    name = base64.b32encode(secrets.token_bytes(_NAME_BYTES)).decode().lower()
    directory = parent.absolute() / f"{prefix}{name}"
    Heir.of_this_process().inherit(directory)
    directory.mkdir(mode=0o700)
    return directory


def remove(directory: Path) -> None:
    """Remove a directory, into which processes that are ending may still write; what is left after 10 s stays."""
    end = time.monotonic() + _REMOVE_SECONDS
    shutil.rmtree(directory, ignore_errors=True)
    while directory.exists() and time.monotonic() < end:
        time.sleep(_PAUSE)
        shutil.rmtree(directory, ignore_errors=True)


class Heir:
    """A process that removes directories when this one has ended, as far as they are still there."""

    def __init__(self) -> None:
        self._of = os.getpid()
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HEIR, short_paths.PATTERN],
            stdin=subprocess.PIPE,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
            cwd="/",
        )

    @classmethod
    def of_this_process(cls) -> Heir:
        """Return the heir of this process, and start it when it is first asked for."""
        global _heir
        if _heir is None or not _heir.lives:
            if _heir is not None:
                _heir.close()
            _heir = cls()
            atexit.register(_heir.close)
        return _heir

    @property
    def lives(self) -> bool:
        """Whether it is there, and this process's: a fork has that of another."""
        return self._of == os.getpid() and self._process.poll() is None

    def inherit(self, directory: Path) -> None:
        """Tell it of a directory."""
        assert self._process.stdin is not None
        self._process.stdin.write(os.fsencode(directory) + b"\0")
        self._process.stdin.flush()

    def close(self) -> None:
        """Let it begin, as this process ends; if nothing is left to remove, it has ended at once."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_NOTHING_LEFT_SECONDS)


_heir: Heir | None = None
