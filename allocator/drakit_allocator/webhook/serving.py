"""The HTTPS server of the webhook: reviews at one path, and another one for probes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from drakit_allocator.webhook import reviews
from drakit_allocator.webhook.configuration import PATH
from drakit_api.features import FeatureGates
from drakit_client.certificates import self_signed

HEALTH = "/healthz"
# An object has at most 3 MiB, and an update is reviewed with the old one.
_BODY_BYTES = 8 * 1024 * 1024


class ServingError(Exception):
    """The webhook cannot be served; the message says why and what to do."""


class Address(NamedTuple):
    """Where to listen; port 0 is any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``HOST:PORT``, an IPv6 address in brackets. Raises ``ServingError``."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise ServingError(f"{text!r} is no address to listen on; give HOST:PORT, such as 127.0.0.1:8443")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def url(self, path: str) -> str:
        """Return the https URL of a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}{path}"


class Served(NamedTuple):
    """Where the webhook is, and the PEM of the certificate that clients have to trust."""

    address: Address
    certificate: bytes


@contextlib.asynccontextmanager
async def serving(
    address: Address, gates: FeatureGates, cert_file: Path | None = None, key_file: Path | None = None
) -> AsyncIterator[Served]:
    """Serve until the block ends; without files, with a new certificate that is signed by itself.

    Raises ``ServingError``.
    """
    context, certificate = _tls(address.host, cert_file, key_file)
    runner = web.AppRunner(_application(gates), access_log=None)
    await runner.setup()
    try:
        listening = _bound(address)
        await web.SockSite(runner, listening, ssl_context=context).start()
        yield Served(Address(address.host, listening.getsockname()[1]), certificate)
    finally:
        await runner.cleanup()


def _application(gates: FeatureGates) -> web.Application:
    async def review(request: web.Request) -> web.Response:
        try:
            # In a thread: an expression of 10 KiB takes a while to compile, and probes must not wait for it.
            found = await asyncio.to_thread(reviews.answer, await request.read(), gates)
        except reviews.ReviewError as error:
            return web.Response(status=400, text=str(error))
        return web.json_response(found)

    async def health(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    application = web.Application(client_max_size=_BODY_BYTES)
    application.add_routes([web.post(PATH, review), web.get(HEALTH, health)])
    return application


def _bound(address: Address) -> socket.socket:
    try:
        return socket.create_server(address, family=socket.AF_INET6 if ":" in address.host else socket.AF_INET)
    except OSError as error:
        where = f"{address.host}:{address.port}"
        raise ServingError(f"cannot listen on {where}: {error.strerror or error}; give another --listen") from None


def _tls(host: str, cert_file: Path | None, key_file: Path | None) -> tuple[ssl.SSLContext, bytes]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if (cert_file is None) != (key_file is None):
        raise ServingError("a certificate and its key must be given together: --tls-cert-file and --tls-key-file")
    if cert_file is not None and key_file is not None:
        try:
            context.load_cert_chain(cert_file, key_file)
            return context, cert_file.read_bytes()
        except OSError as error:
            raise ServingError(f"{cert_file} and {key_file} cannot be used: {error}; give others, or none") from None
    certificate, key = self_signed(["localhost", host])
    # ssl reads only files.
    with tempfile.TemporaryDirectory() as directory:
        pem = Path(directory) / "webhook.pem"
        pem.touch(0o600)
        pem.write_bytes(key + certificate)
        context.load_cert_chain(pem)
    return context, certificate
