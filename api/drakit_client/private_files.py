"""Files that hold a secret, or may: nobody but the user can read them, from their first byte on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO


def write(path: Path, content: bytes | str) -> Path:
    """Put ``content`` into ``path`` (0600), in one step; its directory is made (0700) if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Not every directory is drakit's: that of a kubeconfig may have a config.new of the user's.
    scratch = path.with_name(f".{path.name}.drakit-new")
    try:
        # What a killed process has left, or somebody else has put there to read along.
        scratch.unlink(missing_ok=True)
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def append_to(path: Path) -> IO[bytes]:
    """Open a file for what is added at its end: a log that processes print to. A new one is 0600, another as it was."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
