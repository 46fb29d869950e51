"""The ``drakit`` command as a user types it: a process of its own, in this one's environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Protocol

_SECONDS = 90.0


class Drakit(Protocol):
    """Runs ``drakit`` with these arguments and expects this exit status; ``environment`` is added to ours."""

    def __call__(
        self, *arguments: str, code: int = 0, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]: ...


def command(*arguments: str) -> list[str]:
    """What to run."""
    return [sys.executable, "-m", "drakit_kind", *arguments]


def run(
    *arguments: str, code: int = 0, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """See ``Drakit``."""
    done = subprocess.run(
        command(*arguments),
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done
