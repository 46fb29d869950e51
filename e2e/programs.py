"""Programs that are not ours, beside a cluster for as long as a story needs them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from drakit_kind.processes.process import tied

_STOP_SECONDS = 20


@contextmanager
def running(command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run a program until the end of the block; it is killed if it does not end then.

    ``environment`` is added to ours; what it prints goes to ``log``.
    """
    with log.open("wb") as told:
        process = subprocess.Popen(
            tied(command), env={**os.environ, **(environment or {})}, stdout=told, stderr=told, stdin=subprocess.DEVNULL
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
