"""What other programs print that run to their end: each bounded, and each failure one readable line."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from drakit_kind.cluster import ClusterError


def output(
    command: Sequence[str],
    *,
    timeout: float,
    stdin: IO[bytes] | bytes | None = None,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> str:
    """Run a command to its end, for ``timeout`` seconds at most, and return what it prints.

    Raises ``ClusterError`` with the last lines that it printed if it fails, and if it is missing or takes too long.
    """
    try:
        done = subprocess.run(
            list(command),
            input=stdin if isinstance(stdin, bytes) else None,
            stdin=None if isinstance(stdin, bytes) else stdin or subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            env=environment,
            cwd=directory,
            check=False,
        )
    except FileNotFoundError:
        raise ClusterError(f"there is no {command[0]!r} in PATH; install it") from None
    except subprocess.TimeoutExpired:
        raise overdue(command, timeout) from None
    if done.returncode:
        raise failure(command, done.returncode, (done.stderr or done.stdout or b"").decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def overdue(command: Sequence[str], timeout: float) -> ClusterError:
    """Make the error for a command that did not end within ``timeout`` seconds."""
    return ClusterError(f"`{_shown(command)}` did not end within {timeout:.0f} s")


def failure(command: Sequence[str], status: int, text: str) -> ClusterError:
    """Make the error for a command that failed, with the last lines of its output."""
    lines = " / ".join(text.strip().splitlines()[-3:]) or "it printed nothing"
    return ClusterError(f"`{_shown(command)}` failed with status {status}: {lines}")


def _shown(command: Sequence[str]) -> str:
    return " ".join([*command[:4], *(["..."] if len(command) > 4 else [])])
