"""Processes that a benchmark starts beside itself, and that never outlive it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

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
