"""The long steps of an image build: other programs, none of which goes on without who builds, however that ends."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from drakit_kind.kind.sessions import run_in_session
from drakit_kind.processes.command_output import failure, overdue


def run_step(
    command: Sequence[str], scratch: Path, *, timeout: float, environment: Mapping[str, str] | None = None
) -> None:
    """Run a command to its end, for ``timeout`` seconds at most; ``environment`` is added to ours.

    ``scratch`` is the build's directory. Raises ``ClusterError`` as ``command_output.output`` does.
    """
    log = scratch / f"{Path(command[0]).name}.log"
    variables = ["env", *(f"{name}={value}" for name, value in environment.items())] if environment else []
    log.unlink(missing_ok=True)
    try:
        status = run_in_session([*variables, *command], log, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise overdue(command, timeout) from None
    if status:
        raise failure(command, status, log.read_text(errors="replace"))
