"""Processes that a benchmark starts beside itself, and that never outlive it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

_STOP_SECONDS = 10.0
_LINE_BYTES = 16 << 20


@asynccontextmanager
async def python(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """``python -m MODULE``, with pipes for its input and output; ended with the block, by force if need be."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        env={**os.environ, **(environment or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()


async def line_of(process: asyncio.subprocess.Process, seconds: float) -> bytes:
    """The next line that it prints; ``RuntimeError`` if it ended instead, whose reason is on standard error."""
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), seconds)
    if not line:
        raise RuntimeError(f"a process of the benchmark ended with status {await process.wait()}; see above")
    return line


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (fields 14 and 15 of proc_pid_stat(5)).

    Unlike everything else that is measured, it hardly depends on what else the machine has to do.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mebibytes(pid: int) -> float:
    """Resident memory of a process now (the second field of proc_pid_statm(5))."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
