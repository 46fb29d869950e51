"""Programs that start programs, run to their end: all of it ends with us, however we end.

The kernel can kill a child when its parent ends, but not what the child has started. So the child is the leader of a
session, and its standard input is a pipe from us, into which nothing is written: when the kernel closes that, the
leader kills its whole process group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_LEADER = """
import os, signal, subprocess, sys, threading

def end():
    while os.read(0, 64):
        pass
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end, daemon=True).start()
sys.exit(subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL))
"""


def run_in_session(command: Sequence[str], log: Path, *, timeout: float) -> int:
    """Run a command, all it prints appended to ``log``, and return its status.

    If this is interrupted, or after ``timeout`` seconds (``subprocess.TimeoutExpired``), nothing of it goes on.
    """
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LEADER, *command],
            stdin=subprocess.PIPE, stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    try:
        return process.wait(timeout)
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        if process.stdin is not None:
            process.stdin.close()
