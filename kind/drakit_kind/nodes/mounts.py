"""What is mounted where, as ``/proc/PID/mountinfo`` says (proc_pid_mountinfo(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_FILE = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Mount:
    """One mount: ``kind`` is the file system's type, ``options`` are those of the file system."""

    point: Path
    kind: str
    options: tuple[str, ...]


def mounts(text: str | None = None) -> list[Mount]:
    """List the mounts of this process's namespace, or of a mountinfo file's ``text``; covered ones come first."""
    found = []
    for line in (_FILE.read_text() if text is None else text).splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        found.append(Mount(Path(_unescaped(left.split(" ")[4])), kind, tuple(options.split(","))))
    return found


def mount_of(path: Path, among: Iterable[Mount]) -> Mount | None:
    """Find the mount that an absolute path without symbolic links is in."""
    above = [mount for mount in among if path.is_relative_to(mount.point)]
    # If several are mounted at one place, the last one is visible.
    return max(enumerate(above), key=lambda item: (len(item[1].point.parts), item[0]))[1] if above else None


def _unescaped(path: str) -> str:
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), path)
