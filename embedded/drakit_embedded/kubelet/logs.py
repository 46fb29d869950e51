"""The kubelets' https endpoint, as far as ``kubectl logs`` needs it: one port for all nodes of the process.

What a simulated container prints, and when, is in ``containers`` and ``commands``.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from drakit_api.core.containers import LASTING, containers_of
from drakit_api.core.pod_claims import is_terminal
from drakit_client.files import private_files
from drakit_embedded import certificates
from drakit_embedded.kubelet.containers import Container
from drakit_embedded.kubelet.pod_run import PodRun
from drakit_embedded.serving import descriptors
from drakit_embedded.serving.http_server import HttpServer

Find = Callable[[str, str], PodRun | None]
_HOST = "127.0.0.1"
# The share of this process's descriptors; most are for other uses.
_SHARE_OF_DESCRIPTORS = 0.05
_STOP_SECONDS = 1.0
_TRUE = ("true", "1")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # only a line feed ends a line, as in files of the container runtime


class LogServer:
    """``GET /containerLogs/NAMESPACE/POD/CONTAINER`` on loopback, over https.

    For bearers of ``token``, and for client certificates that an authority in ``client_ca_file`` has signed; to
    everyone else it is 401, whatever is asked for. ``keep`` is where the self-signed serving certificate stays with its
    key; the certificate alone is put beside it, for those who verify that they talk to this kubelet.
    """

    def __init__(self, find: Find, token: str, *, client_ca_file: Path | None = None, keep: Path | None = None) -> None:
        self._find = find
        self._token = token.encode()
        self._client_ca_file = client_ca_file
        self._keep = keep
        self._http: HttpServer | None = None
        self._stopping = asyncio.Event()

    async def start(self, port: int = 0) -> int:
        """Listen; the port, which the system chooses if it is 0. Raises ``OSError`` (certificates, port)."""
        context = self._tls()
        bound = socket.create_server((_HOST, port))
        self._http = HttpServer(self._answer, body_bytes=0)
        self._http.listen(bound, context, most=descriptors.connections(_SHARE_OF_DESCRIPTORS))
        chosen: int = bound.getsockname()[1]
        return chosen

    async def stop(self) -> None:
        """Stop listening; logs that are being followed end."""
        self._stopping.set()
        http, self._http = self._http, None
        if http is not None:
            await http.close(_STOP_SECONDS)

    def _tls(self) -> ssl.SSLContext:
        context, certificate = certificates.self_signed(_HOST, self._keep)
        if self._keep is not None:
            private_files.write(self._keep.with_suffix(".crt"), certificate)
        if self._client_ca_file is not None:
            context.load_verify_locations(self._client_ca_file)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if not self._is_known(request):
            return web.Response(status=401, text="Unauthorized")
        if self._http is not None:
            self._http.recognize(request)
        match request.path.split("/"):
            case ["", "healthz"]:
                return web.Response(text="ok")
            case ["", "containerLogs", namespace, pod, container] if request.method == "GET":
                return await self._log(request, namespace, pod, container)
        return web.Response(status=404, text="404 page not found")

    def _is_known(self, request: web.BaseRequest) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        # A header that is not UTF-8 is legal, but cannot be the token.
        bearer = scheme == "Bearer" and hmac.compare_digest(token.encode(errors="surrogateescape"), self._token)
        # The TLS handshake has verified the certificate.
        return bearer or bool(request.transport and request.transport.get_extra_info("peercert"))

    async def _log(self, request: web.BaseRequest, namespace: str, pod: str, name: str) -> web.StreamResponse:
        run = self._find(namespace, pod)
        if run is None:
            return web.Response(status=404, text=f'pod "{pod}" does not exist')
        spec = run.pod["spec"]
        if all(each["name"] != name for each in containers_of(spec, LASTING)):
            return web.Response(status=404, text=f'container "{name}" not found in pod "{pod}"')
        try:
            container = _container(run, name, request.query.get("previous") in _TRUE)
            shown = container.printed()
            text = _select(container, shown, request.query)
        except ValueError as error:
            return web.Response(status=400, text=str(error))
        response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
        await response.prepare(request)
        await response.write(text)
        if request.query.get("follow") in _TRUE:
            await self._follow(container, len(shown), response, stamped=request.query.get("timestamps") in _TRUE)
        await response.write_eof()
        return response

    async def _follow(self, container: Container, shown: int, response: web.StreamResponse, *, stamped: bool) -> None:
        """Send what is printed from now on, until the container ends."""
        waits = [asyncio.create_task(container.ended.wait()), asyncio.create_task(self._stopping.wait())]
        try:
            ended = False
            while not ended:
                pause = container.next_print()
                done, _ = await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                ended = bool(done)
                news = container.printed()[shown:]
                shown += len(news)
                if text := _text(_lines(news), stamped=stamped):
                    await response.write(text)
        finally:
            for wait in waits:
                wait.cancel()


def _container(run: PodRun, name: str, previous: bool) -> Container:
    """Find the container run whose log is meant.

    Raises:
        ValueError: if there is none, in the words of kubelet_pods.go (validateContainerLogStatus).
    """
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


def _select(container: Container, printed: list[tuple[datetime, str]], query: Mapping[str, str]) -> bytes:
    """Select the lines that were asked for (PodLogOptions)."""
    since = _since(query)
    lines = [(when, line) for when, line in _lines(printed) if when >= since]
    if (tail := query.get("tailLines")) is not None:
        if not tail.isdecimal():
            raise ValueError(f'tailLines: "{tail}" is not a number of lines')
        lines = lines[-int(tail) :] if int(tail) else []
    text = _text(lines, stamped=query.get("timestamps") in _TRUE)
    limit = query.get("limitBytes")
    return text[: int(limit)] if limit is not None and limit.isdecimal() else text


def _lines(printed: Iterable[tuple[datetime, str]]) -> list[tuple[datetime, str]]:
    """Split into lines with their ends, each with the time of its beginning; the last one may have no end."""
    lines: list[tuple[datetime, str]] = []
    for when, text in printed:
        for line in _LINE.findall(text):
            if lines and not lines[-1][1].endswith("\n"):
                lines[-1] = lines[-1][0], lines[-1][1] + line
            else:
                lines.append((when, line))
    return lines


def _text(lines: list[tuple[datetime, str]], *, stamped: bool) -> bytes:
    stamps = (f"{when.strftime('%Y-%m-%dT%H:%M:%S.%fZ')} " if stamped else "" for when, _ in lines)
    return "".join(stamp + line for stamp, (_, line) in zip(stamps, lines, strict=True)).encode()


def _since(query: Mapping[str, str]) -> datetime:
    """Parse the time before which lines are left out."""
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
