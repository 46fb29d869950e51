"""What guards have in common: small processes that outlive the one that started them, and undo what it could not.

A guard's standard input is a pipe from its starter, into which nothing is written: the kernel closes it when that
process ends, however it ends. Signals that reach a whole session or terminal are not for a guard.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

from drakit_client.files import private_files

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def start(module: str, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
    """Run ``python -P -m MODULE ARGUMENT...`` as a guard of this process, what it prints appended to ``log`` (0600).

    Its ``main`` begins with ``wait_for_starter``.
    """
    with private_files.append_to(log) as output:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd="/",  # it keeps no directory in use
            start_new_session=True,
        )


def wait_for_starter() -> None:
    """In a guard: return when its starter has ended, or has closed the pipe. What the guard logs is printed."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
    while os.read(0, 64):
        pass
