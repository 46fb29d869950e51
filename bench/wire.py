"""HTTP/1.1 with as little of it as a load generator needs, so that what is measured is the server.

A full client spends as long on a small request as the server does, and on two cores that would halve the figures. This
one trusts its server: it is for loopback and for benchmarks only.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import urlsplit

_BUFFER = 4 << 20
_PIECE = 1 << 20
# Of longer answers, the lists of slices, nothing is kept: to put 40 MB together takes longer than to serve it.
_KEPT = 4 << 20
_SECONDS = 60.0


class Refused(Exception):
    """Any answer but success; a benchmark has no use for it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; ``path`` has the query in it."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"


class Client:
    """One connection that is kept open, and one request at a time on it. Use as ``async with``."""

    def __init__(self, url: str, token: str, certificate: bytes | None = None) -> None:
        """``certificate`` is the PEM to trust, of a server of HTTPS."""
        address = urlsplit(url)
        self._tls = ssl.create_default_context(cadata=certificate.decode()) if certificate else None
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 80
        self._headers = f"Host: {address.netloc}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n"

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port, limit=_BUFFER, ssl=self._tls)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._writer.close()

    async def send(self, request: Request) -> bytes:
        """The body of the answer, or nothing of one over 4 MiB; ``Refused`` unless it is a success."""
        kept, size = [], 0
        async with asyncio.timeout(_SECONDS):
            headers = await self._exchange(request)
            chunked = "chunked" in headers.get("transfer-encoding", "")
            body = self._chunks() if chunked else self._pieces(int(headers.get("content-length", "0")))
            async for piece in body:
                size += len(piece)
                if size <= _KEPT:
                    kept.append(piece)
        return b"".join(kept) if size <= _KEPT else b""

    async def open_watch(self, path: str) -> None:
        """Start a watch; its events come from ``watched``, and the connection is good for nothing else after it."""
        async with asyncio.timeout(_SECONDS):
            await self._exchange(Request("GET", path))

    async def watched(self) -> AsyncIterator[bytes]:
        """Each event of the watch, encoded, until the server ends it."""
        rest = b""
        async for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line

    async def _exchange(self, request: Request) -> dict[str, str]:
        """Send a request and read the answer's head; returns its headers."""
        head = f"{request.method} {request.path} HTTP/1.1\r\n{self._headers}"
        if request.body:
            head += f"Content-Type: {request.content_type}\r\nContent-Length: {len(request.body)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + request.body)
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if not status.split(" ")[1].startswith("2"):
            reason = await self._reader.read(1000)
            raise Refused(f"{request.method} {request.path}: {status}: {reason.decode(errors='replace')}")
        return headers

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readline(), 16):
            async for piece in self._pieces(size):
                yield piece
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)

    async def _pieces(self, size: int) -> AsyncIterator[bytes]:
        """So many bytes, as they come."""
        while size:
            piece = await self._reader.read(min(size, _PIECE))
            if not piece:
                raise asyncio.IncompleteReadError(piece, size)
            size -= len(piece)
            yield piece
