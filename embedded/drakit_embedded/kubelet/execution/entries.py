"""What stands at a path of a container, and where a part of its file system comes from."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

# Names below the root or a mount; none of them is ``.``, ``..`` or has a slash.
Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, directory, symbolic link or device; ``mode`` is that of ``stat``, ``target`` where a link leads."""

    mode: int
    size: int = 0
    modified: float = 0.0
    links: int = 1
    target: str = ""

    @property
    def is_directory(self) -> bool:
        """Whether other entries can stand below it."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        """Whether it leads to another path."""
        return stat.S_ISLNK(self.mode)


DIRECTORY = Entry(stat.S_IFDIR | 0o755)


class Source(Protocol):
    """A mount: every method raises ``OSError`` as the system would, and follows no symbolic link."""

    def entry(self, parts: Parts) -> Entry:
        """Look at what stands at a path below the mount, or at the mount itself."""

    def names(self, parts: Parts) -> Sequence[str]:
        """List a directory."""

    def open(self, parts: Parts) -> BinaryIO:
        """Open a regular file to be read."""


def refused(number: int) -> OSError:
    """Build the error that the system raises with this number, as ``FileNotFoundError`` for ``ENOENT``."""
    return OSError(number, os.strerror(number))
