"""Where drakit keeps, for one user, what takes long to make and can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return ``$DRAKIT_CACHE``, else ``drakit`` in the user's cache directory."""
    if named := os.environ.get("DRAKIT_CACHE"):
        return Path(named).absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path in this variable is to be ignored.
    return (Path(cache) if cache.startswith("/") else Path.home() / ".cache") / "drakit"
