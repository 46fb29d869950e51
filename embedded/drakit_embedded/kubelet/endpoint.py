"""The kubelets' https endpoint: one port for all nodes of the process, for logs of containers and commands in them.

Paths and refusals are those of k8s.io/kubernetes/pkg/kubelet/server/server.go.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from drakit_api.core.containers import LASTING, containers_of
from drakit_client.files import private_files
from drakit_embedded import certificates
from drakit_embedded.kubelet import logs
from drakit_embedded.kubelet.execution.commands import attach, execute
from drakit_embedded.kubelet.kubelet import Kubelet
from drakit_embedded.kubelet.pod_run import PodRun
from drakit_embedded.kubelet.streaming.serving import serve
from drakit_embedded.kubelet.streaming.streams import Options
from drakit_embedded.serving import descriptors
from drakit_embedded.serving.http_server import HttpServer


class Found(NamedTuple):
    """A pod and the kubelet that runs it."""

    kubelet: Kubelet
    run: PodRun


Find = Callable[[str, str], Found | None]
_HOST = "127.0.0.1"
# The share of this process's descriptors; most are for other uses.
_SHARE_OF_DESCRIPTORS = 0.05
_STOP_SECONDS = 1.0
# Without a colon: client-go reads what it is refused with as YAML, and "words: words" as a Status without a message.
_NO_PORTS = "no ports can be forwarded, as containers of simulated nodes are no processes and nothing listens in them"


class Endpoint:
    """``GET /containerLogs``, ``/exec`` and ``/attach``, each with ``/NAMESPACE/POD/CONTAINER``, on loopback by https.

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
        """Stop listening; what is being followed or executed ends."""
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
            case ["", ("exec" | "attach") as what, namespace, pod, container] if request.method in ("GET", "POST"):
                return await self._stream(request, what, namespace, pod, container)
            case ["", "portForward", _, _] if request.method in ("GET", "POST"):
                return web.Response(status=501, text=_NO_PORTS)
        return web.Response(status=404, text="404 page not found")

    def _is_known(self, request: web.BaseRequest) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        # A header that is not UTF-8 is legal, but cannot be the token.
        bearer = scheme == "Bearer" and hmac.compare_digest(token.encode(errors="surrogateescape"), self._token)
        # The TLS handshake has verified the certificate.
        return bearer or bool(request.transport and request.transport.get_extra_info("peercert"))

    async def _log(self, request: web.BaseRequest, namespace: str, pod: str, name: str) -> web.StreamResponse:
        found = self._find(namespace, pod)
        if found is None:
            return web.Response(status=404, text=f'pod "{pod}" does not exist')
        if not _has_container(found.run, name):
            return web.Response(status=404, text=f'container "{name}" not found in pod "{pod}"')
        return await logs.answer(request, found.run, name, self._stopping)

    async def _stream(
        self, request: web.BaseRequest, what: str, namespace: str, pod: str, name: str
    ) -> web.StreamResponse:
        """Execute a command in a container that runs, or attach a client to it (getExec, getAttach)."""
        try:
            options = Options.of(request.query)
        except ValueError as error:
            return web.Response(status=400, text=str(error))
        found = self._find(namespace, pod)
        if found is None:
            return web.Response(status=404, text="pod does not exist")
        running = found.kubelet.running_container(found.run, name) if _has_container(found.run, name) else None
        if running is None:
            attached = f"container {name} not found in pod {pod}_{namespace}"
            return web.Response(status=500, text=attached if what == "attach" else f'container not found ("{name}")')
        container, view = running
        if what == "attach":
            return await serve(request, options, lambda streams: attach(streams, container))
        command = request.query.getall("command", [])
        return await serve(request, options, lambda streams: execute(streams, command, container, view))


def _has_container(run: PodRun, name: str) -> bool:
    return any(each["name"] == name for each in containers_of(run.pod["spec"], LASTING))
