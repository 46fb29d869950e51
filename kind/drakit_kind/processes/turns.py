"""What several test runs on one machine would make at once, made by one of them while the others wait."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drakit_client.files import regular_files
from drakit_kind.cluster import Report


@contextmanager
def one_at_a_time(lock: Path, report: Report) -> Iterator[None]:
    """Wait for the turn; the kernel gives it to the next however a process ends. ``report`` is told of a wait."""
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(regular_files.open_lock(lock), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting for another process that has {lock}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def scratch_directory(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a directory for unfinished files of the one who has the turn, and remove those of killed ones.

    It is beside the final place, because /tmp may have no room for a gigabyte.
    """
    for left in parent.glob(f"{prefix}*/"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as scratch:
        yield Path(scratch)
