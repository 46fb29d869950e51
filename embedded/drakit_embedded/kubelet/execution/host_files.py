"""A file or directory of this machine as a container sees it: to be read only, and nothing beside it.

Whoever executes commands may be anybody who can reach the API server, and drivers may change their directories at any
time. So each name is looked up in the directory that was opened for the one before it, without following symbolic
links: where they lead in the container is found by ``view``, and no path leaves the mount.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from drakit_embedded.kubelet.execution.entries import Entry, Parts, refused

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO would wait for somebody who writes to it.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class HostFiles:
    """What is mounted of this machine: ``root`` is a file or a directory, perhaps by a symbolic link of its owner."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def entry(self, parts: Parts) -> Entry:
        """Look at what stands at a path below the mount, or at the mount itself."""
        if not parts:
            return _entry(self._root.stat())
        with self._parent(parts) as directory:
            found = os.stat(parts[-1], dir_fd=directory, follow_symlinks=False)
            target = os.readlink(parts[-1], dir_fd=directory) if stat.S_ISLNK(found.st_mode) else ""
        return _entry(found, target)

    def names(self, parts: Parts) -> Sequence[str]:
        """List a directory."""
        descriptor = self._opened(parts, os.O_DIRECTORY)
        try:
            with os.scandir(descriptor) as entries:
                return [entry.name for entry in entries]
        finally:
            os.close(descriptor)

    def open(self, parts: Parts) -> BinaryIO:
        """Open a regular file to be read."""
        descriptor = self._opened(parts)
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise refused(errno.EISDIR)
            if not stat.S_ISREG(mode):
                raise refused(errno.EPERM)
            return os.fdopen(descriptor, "rb", buffering=0)
        except OSError:
            os.close(descriptor)
            raise

    def _opened(self, parts: Parts, flags: int = 0) -> int:
        if not parts:
            return os.open(self._root, (_READ & ~os.O_NOFOLLOW) | flags)
        with self._parent(parts) as directory:
            return os.open(parts[-1], _READ | flags, dir_fd=directory)

    @contextmanager
    def _parent(self, parts: Parts) -> Iterator[int]:
        """Open the directory in which the last name stands."""
        directory = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                below = os.open(part, _STEP, dir_fd=directory)
                os.close(directory)
                directory = below
            yield directory
        finally:
            os.close(directory)


def _entry(found: os.stat_result, target: str = "") -> Entry:
    return Entry(found.st_mode, found.st_size, found.st_mtime, found.st_nlink, target)
