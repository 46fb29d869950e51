"""The directory of a cluster that must not outlive a test run, removed also if nobody is left who would.

A test run removes its clusters' directories at its end. If it is killed, the clusters' processes see that and do it.
If they are killed too, a small process remains that waits for just that; the kernel tells it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Of the standard library only, so that it starts in no time and cannot fail for want of anything.
_WATCHER = """
import os, select, shutil, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
for pid in map(int, sys.argv[2:]):
    try:
        select.select([os.pidfd_open(pid)], [], [])
    except ProcessLookupError:
        pass
# Containers that were left are ended by others meanwhile, and write until then.
deadline = time.monotonic() + 60
while os.path.exists(sys.argv[1]) and time.monotonic() < deadline:
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    time.sleep(0.1)
"""


def remove_after(directory: Path, *, starter: int) -> None:
    """Have ``directory`` removed when the process ``starter`` (a test run) and this one have ended."""
    command = [sys.executable, "-I", "-S", "-c", _WATCHER, str(directory), str(starter), str(os.getpid())]
    nothing = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/")
