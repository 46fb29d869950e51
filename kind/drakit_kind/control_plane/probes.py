"""Asking a component whether it is healthy, over https with the cluster's authority, or over a unix socket."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp

Probe = Callable[[], Awaitable[bool]]


def https(port: int, path: str, authority: Path, *, token: str | None = None, saying: str = "") -> Probe:
    """Whether ``https://127.0.0.1:PORT/PATH`` answers 200, with a text that has ``saying`` in it."""
    context = ssl.create_default_context(cafile=str(authority))
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def probe() -> bool:
        connector = aiohttp.TCPConnector(ssl=context)
        return await _answers(connector, f"https://127.0.0.1:{port}{path}", headers, saying)

    return probe


def unix(path: Path, url_path: str) -> Probe:
    """Whether an http server on a unix socket answers 200."""

    async def probe() -> bool:
        return await _answers(aiohttp.UnixConnector(str(path)), f"http://localhost{url_path}", {})

    return probe


async def _answers(connector: aiohttp.BaseConnector, url: str, headers: dict[str, str], saying: str = "") -> bool:
    try:
        async with aiohttp.ClientSession(connector=connector) as session, session.get(url, headers=headers) as answer:
            return answer.status == 200 and saying in await answer.text()
    except aiohttp.ClientError:
        return False
