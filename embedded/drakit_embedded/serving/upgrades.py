"""Connections that stop speaking HTTP: after ``101 Switching Protocols`` both sides send bytes as they like.

aiohttp upgrades to WebSockets only. What else there is (SPDY, and a proxy that passes on whatever comes) takes the
connection over as ``loop.start_tls`` does: its transport gets another protocol, and aiohttp's is only told when the
connection is lost, as it counts connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

# From twice as many bytes that nobody has read, no more is received.
_UNREAD_BYTES = 64 * 1024
_CLOSE_SECONDS = 1.0


class Upgraded(web.StreamResponse):
    """The response to a request whose connection was taken over: HTTP has nothing left to send."""

    def __init__(self) -> None:
        super().__init__(status=HTTPStatus.SWITCHING_PROTOCOLS)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Do nothing: the head was sent when the connection was taken over."""
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: whoever took the connection over closes it."""


def is_upgrade(headers: Mapping[str, str]) -> bool:
    """Check whether a request wants another protocol (IsUpgradeRequest in k8s.io/streaming/pkg/httpstream)."""
    return "upgrade" in headers.get("Connection", "").lower()


def take_over(request: web.BaseRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Take a request's connection, before anything was answered; the caller closes it.

    The handler then answers with ``Upgraded``. Raises ``ConnectionResetError`` if the client has left.
    """
    transport, handler = request.transport, request.protocol
    if transport is None:
        raise ConnectionResetError("the client has left")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_UNREAD_BYTES, loop=loop)
    protocol = _TakenOver(reader, handler)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    handler.keep_alive(False)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def close(writer: asyncio.StreamWriter) -> None:
    """Close a connection once all is sent; one whose other end does not take part is cut off."""
    writer.close()
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await writer.wait_closed()
    except OSError:  # also TimeoutError
        writer.transport.abort()


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Encode the status line and headers of a response."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1", errors="replace")


class _TakenOver(asyncio.StreamReaderProtocol):
    """Hands bytes to a reader, and the end of the connection to the handler that had it before, too."""

    def __init__(self, reader: asyncio.StreamReader, handler: web.RequestHandler) -> None:
        super().__init__(reader)
        self._handler = handler

    def connection_lost(self, exc: Exception | None) -> None:
        """End the reader, and free what aiohttp's handler holds."""
        super().connection_lost(exc)
        self._handler.connection_lost(exc)
