"""Which state of the sources a run is of, for a page that others compare theirs with."""

from __future__ import annotations

import subprocess
from pathlib import Path


def revision(directory: Path) -> str | None:
    """``b5f9757`` or ``b5f9757 + changes``; None where there is no git, or nothing of it."""
    try:
        commit = _git(directory, "rev-parse", "--short", "HEAD")
        changes = _git(directory, "status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit} + changes" if changes else commit


def _git(directory: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()
