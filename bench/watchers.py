"""The receiving side of the watch benchmark, a process of its own: twenty readers of 40 KB events fill a core.

Run as ``python -m bench.watchers``, with an ``Assignment`` as JSON on its standard input. It prints one line when all
watches are open, and at the end one with a ``Result``. The sender writes into each object when it sent it, on
the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import sys
import time

import msgspec

from bench.wire import Client

ANNOTATION = "bench.drakit.dev/sent"
_MARK = f'"{ANNOTATION}":"'.encode()


class Assignment(msgspec.Struct):
    """``events`` is how many each watcher waits for."""

    url: str
    token: str
    certificate: bytes | None
    path: str
    watchers: int
    events: int
    seconds: float


class Result(msgspec.Struct):
    """Seconds from sending to receiving of each event, and when the last one came."""

    delays: list[float]
    last: float


async def _watch(assignment: Assignment, opened: asyncio.Barrier, delays: list[float]) -> None:
    async with Client(assignment.url, assignment.token, assignment.certificate) as client:
        await client.open_watch(assignment.path)
        await opened.wait()
        seen = 0
        async for line in client.watched():
            start = line.find(_MARK)
            if start < 0:
                continue  # a bookmark
            start += len(_MARK)
            delays.append(time.monotonic() - float(line[start : line.index(b'"', start)]))
            seen += 1
            if seen == assignment.events:
                return


async def _main() -> None:
    assignment = msgspec.json.decode(sys.stdin.buffer.read(), type=Assignment)
    delays: list[float] = []
    opened = asyncio.Barrier(assignment.watchers + 1)
    async with asyncio.timeout(assignment.seconds), asyncio.TaskGroup() as tasks:
        for _ in range(assignment.watchers):
            tasks.create_task(_watch(assignment, opened, delays))
        await opened.wait()
        print("ready", flush=True)
    print(msgspec.json.encode(Result(delays, time.monotonic())).decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
