"""One request for a command: which way its streams travel, and both directions at once until the command has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from drakit_embedded.kubelet.streaming.spdy import SpdyStreams
from drakit_embedded.kubelet.streaming.streams import HandshakeError, Options, Outcome, Streams
from drakit_embedded.kubelet.streaming.websockets import WebSocketStreams
from drakit_embedded.serving.upgrades import is_upgrade

log = logging.getLogger(__name__)

# Executes a command on streams; what it returns is told to the client.
Work = Callable[[Streams], Awaitable[Outcome]]
_GOODBYE_SECONDS = 5.0


async def serve(request: web.BaseRequest, options: Options, work: Work) -> web.StreamResponse:
    """Connect a client with a command, and answer it when that has ended; a client that leaves ends the command."""
    headers = request.headers
    by_web_socket = is_upgrade(headers) and headers.get("Upgrade", "").lower() == "websocket"
    streams: Streams
    try:
        if by_web_socket:
            streams, response = await WebSocketStreams.opened(request, options)
        else:
            streams, response = await SpdyStreams.opened(request, options)
    except HandshakeError as error:
        return error.response
    try:
        await _both_ways(streams, work)
    finally:
        await streams.close()
    return response


async def _both_ways(streams: Streams, work: Work) -> None:
    receiving, working = asyncio.create_task(streams.receive()), asyncio.create_task(_told(streams, work))
    try:
        await asyncio.wait((receiving, working), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            # If the connection were closed on what the client still sends, it might lose what it was sent.
            await streams.stdin.close()
            await asyncio.wait((receiving,), timeout=_GOODBYE_SECONDS)
    finally:
        receiving.cancel()
        working.cancel()
        await asyncio.gather(receiving, working, return_exceptions=True)


async def _told(streams: Streams, work: Work) -> None:
    """Execute a command, and tell its client how it ended."""
    try:
        await streams.ready()
        try:
            outcome = await work(streams)
        except OSError:
            raise
        except Exception as error:
            log.exception("a command in a container failed")
            outcome = Outcome(error=f"error executing command in container: {type(error).__name__}: {error}")
        await streams.end(outcome)
    except OSError:
        return  # The client has left, or not even opened its streams.
