"""The kubelets' HTTP endpoint, as far as ``kubectl logs`` needs it: one port for all nodes of the process.

A simulated container writes nothing, so its log is what it was given: the environment, one ``KEY=value`` a line, then
devices and mounts as comments.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable

from aiohttp import web

from drakit_embedded.kubelet.containers import Container

Find = Callable[[str, str, str], Container | None]


class LogServer:
    """``GET /containerLogs/NAMESPACE/POD/CONTAINER`` on loopback, for bearers of the token only."""

    def __init__(self, find: Find, token: str) -> None:
        self._find = find
        self._token = token.encode()
        self._runner: web.AppRunner | None = None
        self._stopping = asyncio.Event()

    async def start(self, port: int = 0) -> int:
        """Listen; the port, which the system chooses if it is 0."""
        app = web.Application()
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._log)
        app.router.add_get("/healthz", self._healthz)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        address: tuple[str, int] = self._runner.addresses[0]
        return address[1]

    async def stop(self) -> None:
        """Stop listening; logs that are being followed end."""
        self._stopping.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _log(self, request: web.Request) -> web.StreamResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not hmac.compare_digest(token.encode(), self._token):
            return web.Response(status=401, text="Unauthorized")
        names = request.match_info
        container = self._find(names["namespace"], names["pod"], names["container"])
        if container is None:
            return web.Response(status=404, text=f'container "{names["container"]}" in pod "{names["pod"]}" not found')
        try:
            text = _select(container, request.query)
        except ValueError as error:
            return web.Response(status=400, text=str(error))
        response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
        await response.prepare(request)
        await response.write(text)
        if request.query.get("follow") in ("true", "1"):
            await self._until_end(container)
        await response.write_eof()
        return response

    async def _until_end(self, container: Container) -> None:
        waits = [asyncio.create_task(container.ended.wait()), asyncio.create_task(self._stopping.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _select(container: Container, query: object) -> bytes:
    """The lines that were asked for (PodLogOptions)."""
    assert hasattr(query, "get")
    lines = container.lines
    if (tail := query.get("tailLines")) is not None:
        if not tail.isdecimal():
            raise ValueError(f'tailLines: "{tail}" is not a number of lines')
        lines = lines[-int(tail) :] if int(tail) else []
    if query.get("timestamps") in ("true", "1"):
        stamp = container.started.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lines = [f"{stamp} {line}" for line in lines]
    text = "".join(f"{line}\n" for line in lines).encode()
    limit = query.get("limitBytes")
    return text[: int(limit)] if limit is not None and limit.isdecimal() else text
