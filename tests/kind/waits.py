"""Bounded waits for what other processes do, which several tests look at from outside."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

_PAUSE = 0.02


def ended(pid: int, *, seconds: float) -> bool:
    """Whether a process ended in time; the kernel tells."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def appears(path: Path, *, seconds: float) -> bool:
    """Whether a file that is not empty is there in time."""
    deadline = time.monotonic() + seconds
    while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return path.exists()


def gone(path: Path, *, seconds: float) -> bool:
    """Whether a file or directory was removed in time."""
    deadline = time.monotonic() + seconds
    while path.exists() and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return not path.exists()
