"""The kubelets' https endpoint, as far as ``kubectl logs`` needs it: one port for all nodes of the process.

A simulated container writes nothing, so its log is what it was given: the environment, one ``KEY=value`` a line, then
devices and mounts as comments.
"""

from __future__ import annotations

import asyncio
import hmac
import ssl
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from drakit_embedded import certificates
from drakit_embedded.kubelet.containers import Container
from drakit_embedded.kubelet.pod_run import PodRun
from drakit_embedded.pod_claims import is_terminal

Find = Callable[[str, str], PodRun | None]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_HOST = "127.0.0.1"
_TRUE = ("true", "1")


class LogServer:
    """``GET /containerLogs/NAMESPACE/POD/CONTAINER`` on loopback, over https.

    For bearers of ``token``, and for client certificates that an authority in ``client_ca_file`` has signed; to
    everyone else it is 401, whatever is asked for. ``keep`` is where the self-signed serving certificate stays.
    """

    def __init__(self, find: Find, token: str, *, client_ca_file: Path | None = None, keep: Path | None = None) -> None:
        self._find = find
        self._token = token.encode()
        self._client_ca_file = client_ca_file
        self._keep = keep
        self._runner: web.AppRunner | None = None
        self._stopping = asyncio.Event()

    async def start(self, port: int = 0) -> int:
        """Listen; the port, which the system chooses if it is 0. Raises ``OSError`` (certificates, port)."""
        context = self._tls()
        app = web.Application(middlewares=[self._authenticated])
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._log)
        app.router.add_get("/healthz", self._healthz)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, _HOST, port, ssl_context=context).start()
        address: tuple[str, int] = self._runner.addresses[0]
        return address[1]

    async def stop(self) -> None:
        """Stop listening; logs that are being followed end."""
        self._stopping.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _tls(self) -> ssl.SSLContext:
        context, _ = certificates.self_signed(_HOST, self._keep)
        if self._client_ca_file is not None:
            context.load_verify_locations(self._client_ca_file)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    @web.middleware
    async def _authenticated(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = scheme == "Bearer" and hmac.compare_digest(token.encode(), self._token)
        # A certificate got this far only if the handshake verified it.
        if not bearer and not (request.transport and request.transport.get_extra_info("peercert")):
            return web.Response(status=401, text="Unauthorized")
        return await handler(request)

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _log(self, request: web.Request) -> web.StreamResponse:
        names = request.match_info
        run = self._find(names["namespace"], names["pod"])
        if run is None:
            return web.Response(status=404, text=f'pod "{names["pod"]}" does not exist')
        spec = run.pod["spec"]
        if all(each["name"] != names["container"] for each in (*spec.get("initContainers", ()), *spec["containers"])):
            missing = f'container "{names["container"]}" not found in pod "{names["pod"]}"'
            return web.Response(status=404, text=missing)
        try:
            container = _container(run, names["container"], request.query.get("previous") in _TRUE)
            text = _select(container, request.query)
        except ValueError as error:
            return web.Response(status=400, text=str(error))
        response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
        await response.prepare(request)
        await response.write(text)
        if request.query.get("follow") in _TRUE:
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


def _container(run: PodRun, name: str, previous: bool) -> Container:
    """The run whose log is meant; else ``ValueError`` in the words of kubelet_pods.go (validateContainerLogStatus)."""
    container, where = run.containers.get(name), f'container "{name}" in pod "{run.pod["metadata"]["name"]}"'
    if container is not None:
        if previous and container.last is None:
            raise ValueError(f"previous terminated {where} not found")
        return container
    if is_terminal(run.pod):
        raise ValueError(f"{where} is not available")
    if previous:
        raise ValueError(f"previous terminated {where} not found")
    reason, _ = run.waiting.get(name, ("ContainerCreating", ""))
    raise ValueError(f"{where} is waiting to start: {reason}")


def _select(container: Container, query: Mapping[str, str]) -> bytes:
    """The lines that were asked for (PodLogOptions); all of them are as old as the container."""
    lines = container.lines if _since(query) <= container.started else []
    if (tail := query.get("tailLines")) is not None:
        if not tail.isdecimal():
            raise ValueError(f'tailLines: "{tail}" is not a number of lines')
        lines = lines[-int(tail) :] if int(tail) else []
    if query.get("timestamps") in _TRUE:
        stamp = container.started.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lines = [f"{stamp} {line}" for line in lines]
    text = "".join(f"{line}\n" for line in lines).encode()
    limit = query.get("limitBytes")
    return text[: int(limit)] if limit is not None and limit.isdecimal() else text


def _since(query: Mapping[str, str]) -> datetime:
    """The moment before which lines are left out."""
    seconds, moment = query.get("sinceSeconds"), query.get("sinceTime")
    if seconds is not None:
        if not seconds.isdecimal():
            raise ValueError(f'sinceSeconds: "{seconds}" is not a number of seconds')
        return datetime.now(UTC) - timedelta(seconds=min(int(seconds), 10**9))
    if moment is None:
        return datetime.min.replace(tzinfo=UTC)
    try:
        since = datetime.fromisoformat(moment)
    except ValueError:
        raise ValueError(f'sinceTime: "{moment}" is not a time') from None
    return since if since.tzinfo is not None else since.replace(tzinfo=UTC)
