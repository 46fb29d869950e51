"""Asking a component whether it is healthy, over https with the cluster's authority, or over a unix socket."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp

from drakit_kind.processes.process import Probe, Unhealthy

_SHOWN = 200  # characters of an answer


def https(port: int, path: str, authority: Path, *, token: str | None = None, saying: str = "") -> Probe:
    """Make a probe that asks ``https://127.0.0.1:PORTPATH`` for a 200 with ``saying`` in its text."""
    context = ssl.create_default_context(cafile=str(authority))
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def probe() -> None:
        connector = aiohttp.TCPConnector(ssl=context)
        await _ask(connector, f"https://127.0.0.1:{port}{path}", headers, saying)

    return probe


def http(url: str) -> Probe:
    """Make a probe that asks an http server of this machine for a 200."""

    async def probe() -> None:
        await _ask(aiohttp.TCPConnector(), url)

    return probe


def unix(path: Path, url_path: str) -> Probe:
    """Make a probe that asks an http server on a unix socket for a 200."""

    async def probe() -> None:
        await _ask(aiohttp.UnixConnector(str(path)), f"http://localhost{url_path}")

    return probe


async def _ask(
    connector: aiohttp.BaseConnector, url: str, headers: dict[str, str] | None = None, saying: str = ""
) -> None:
    """Raise ``Unhealthy`` that says what came instead: an error of the connection, of TLS, or another answer."""
    try:
        async with aiohttp.ClientSession(connector=connector) as session, session.get(url, headers=headers) as answer:
            text = await answer.text()
    except aiohttp.ClientError as error:
        raise Unhealthy(f"{url}: {error}") from error
    if answer.status != 200:
        raise Unhealthy(f"{url} answers {answer.status}: {_failing(text)}")
    if saying not in text:
        raise Unhealthy(f"{url} answers 200, without {saying}")


def _failing(text: str) -> str:
    """Return the failed checks of a /healthz or /readyz in one line; else the beginning of the text."""
    lines = text.split("\n")
    return "; ".join([line for line in lines if line.startswith("[-]")] or lines)[:_SHOWN]
