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

    Raises ``ClusterError`` with its own last lines, or with the time that it took.
    """
    shown = " ".join([*command[:4], *(["..."] if len(command) > 4 else [])])
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
        raise ClusterError(f"`{shown}` did not end within {timeout:.0f} s") from None
    if done.returncode:
        text = (done.stderr or done.stdout or b"").decode(errors="replace").strip()
        raise ClusterError(f"`{shown}` failed with status {done.returncode}: {_last_lines(text)}")
    return done.stdout.decode(errors="replace")


def _last_lines(text: str) -> str:
    return " / ".join(text.splitlines()[-3:]) or "it printed nothing"
