"""Files that hold a secret, or may: nobody but the user can read them, from their first byte on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from drakit_client.files import regular_files


def write(path: Path, content: bytes | str) -> Path:
    """Put ``content`` into ``path`` (0600), in one step; its directory is made (0700) if there is none."""
    # Not every directory is drakit's: that of a kubeconfig may have a config.new of the user's.
    with _scratch(path, "drakit-new", content) as scratch:
        return scratch.replace(path)


def keep(path: Path, content: bytes | str) -> Path:
    """Write a private file unless ``path`` exists; of several processes that do so at once, the first one's stays."""
    with _scratch(path, f"{os.getpid()}.drakit-new", content) as scratch, suppress(FileExistsError):
        path.hardlink_to(scratch)
    return path


@contextmanager
def _scratch(path: Path, ending: str, content: bytes | str) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = path.with_name(f".{path.name}.{ending}")
    try:
        # A killed process has left it, or somebody else has put it there to read what is written.
        scratch.unlink(missing_ok=True)
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)


def append_to(path: Path) -> IO[bytes]:
    """Open a file for what is added at its end: a log that processes print to. A new one is 0600, another as it was.

    Raises ``regular_files.UnusableFileError`` for anything but a regular file of this user or root.
    """
    return os.fdopen(regular_files.open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")
