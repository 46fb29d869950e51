"""What image builds keep for the next: each change of what goes in makes another file, of which the last one counts."""

from __future__ import annotations

import time
from pathlib import Path

_IN_USE_SECONDS = 1800.0


def keep_only(file: Path, pattern: str) -> None:
    """Remove the files beside this one that ``pattern`` finds; called by who has the turn to make them.

    One that was asked for in the last half hour stays: a build of another source tree may still need it.
    """
    file.touch()
    for old in file.parent.glob(pattern):
        if old != file and time.time() - old.stat().st_mtime > _IN_USE_SECONDS:
            old.unlink(missing_ok=True)
