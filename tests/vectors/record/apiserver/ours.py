"""What our server answers to exchanges: it takes the real one's place."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from drakit_embedded.apiserver import Server, ServerConfig
from drakit_kind.processes.ports import free_port
from drakit_kind.processes.process import ServerProcess, Unhealthy
from tests.vectors.exchanges import GATES, Vector
from tests.vectors.record.apiserver.answers import answer, same
from tests.vectors.record.apiserver.servers import client
from tests.vectors.replay import RUNTIME_CONFIG, Replay

_TOKEN = "of-ours"


async def different(vectors: Iterable[Vector]) -> list[Vector]:
    """Those that are answered otherwise than ``response`` and ``reads`` say, with ``ours`` beside.

    ``ours`` is null where our server does not take the old object.
    """
    found: list[Vector] = []
    given = list(vectors)
    for server in GATES:
        found += await _different([vector for vector in given if vector["server"] == server], server)
    return found


async def _different(vectors: Sequence[Vector], server: str) -> list[Vector]:
    found = []
    async with _answering(server) as replay:
        for vector in vectors:
            answered = await answer(replay, vector)
            if answered is None or not same(vector, answered):
                given = {key: (answered or {}).get(key) for key in ("response", "reads")}
                found.append({**vector, "ours": given if answered else None})
    return found


@asynccontextmanager
async def _answering(server: str) -> AsyncIterator[Replay]:
    config = ServerConfig(token=_TOKEN, gates=GATES[server], runtime_config=RUNTIME_CONFIG)
    async with Server(config) as running, aiohttp.ClientSession(running.url) as session:
        replay = Replay(session, _TOKEN)
        await replay.prepare()
        yield replay


@asynccontextmanager
async def beside() -> AsyncIterator[tuple[aiohttp.ClientSession, str, Path]]:
    """Our server as a process of its own: a client without credentials, the token to send, and its log."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "drakit_kind", "apiserver", "run", "--no-tls", "--no-controllers"]
    async with client(url, None, lasting=False) as session:

        async def probe() -> None:
            try:
                async with session.get("/readyz", raise_for_status=True):
                    pass
            except aiohttp.ClientError as error:
                raise Unhealthy(str(error)) from None

        with TemporaryDirectory() as directory:
            log = Path(directory) / "log"
            process = ServerProcess("ours", [*command, "--port", str(port), "--token", _TOKEN], log=log, probe=probe)
            await process.start()
            try:
                yield session, _TOKEN, log
            finally:
                await process.stop()
