"""An HTTP server whose connections have deadlines and places.

aiohttp serves the requests; asyncio's own way to accept connections is not used, because it knows no limit: with no
descriptor left it would try again at once, 128 times for each failure, with a traceback each time
(``selector_events.BaseSelectorEventLoop._accept_connection``). Deadlines are kube-apiserver's
(k8s.io/apiserver/pkg/server/secure_serving.go).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawRequestMessage

from drakit_embedded.serving.log_rate import LogRate
from drakit_embedded.serving.places import Places

log = logging.getLogger(__name__)
log.addFilter(LogRate(HttpProcessingError))

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
# ReadHeaderTimeout and IdleTimeout. Go gives a TLS handshake the shortest of its deadlines for reading.
HEAD_SECONDS, IDLE_SECONDS = 32.0, 90.0
_BACKLOG = 128
# Connections accepted at once: those closed to make room keep their descriptors until the loop's next round.
_BATCH = 16
_RETRY_SECONDS = 0.2
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class _Port(NamedTuple):
    """A listening socket; without ``places`` its connections are not counted."""

    socket: socket.socket
    context: ssl.SSLContext | None
    places: Places | None


class HttpServer(web.Server):
    """Answers requests on any number of listening sockets, until it is closed.

    Bodies come as they were sent: kube-apiserver does not decompress them, whatever ``Content-Encoding`` says. Those
    larger than ``body_bytes`` raise ``HTTPRequestEntityTooLarge`` where they are read.
    """

    def __init__(
        self, answer: Answer, *, body_bytes: int, head_seconds: float = HEAD_SECONDS, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        super().__init__(
            answer,
            request_factory=self._request,
            handler_cancellation=True,
            access_log=None,
            logger=log,
            keepalive_timeout=idle_seconds,
            tcp_keepalive=True,
            auto_decompress=False,
        )
        self._body_bytes, self._head_seconds = body_bytes, head_seconds
        self._running = asyncio.get_running_loop()
        self._ports: list[_Port] = []
        self._greetings: set[asyncio.Task[None]] = set()
        # The connections that hold places.
        self._seats: dict[web.RequestHandler, tuple[Places, socket.socket]] = {}
        # Connections without a request so far, with the timer that closes each.
        self._silent: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def listen(self, port: socket.socket, context: ssl.SSLContext | None = None, *, most: int | None = None) -> None:
        """Accept connections of a bound socket; ``most`` is how many of it there may be at once."""
        port.setblocking(False)
        port.listen(_BACKLOG)
        opened = _Port(port, context, Places(most) if most is not None else None)
        self._ports.append(opened)
        self._running.add_reader(port, self._accept, opened)

    def recognize(self, request: web.BaseRequest) -> None:
        """Mark a request's connection as authenticated, so that it is not closed to make room."""
        seat = self._seats.get(request.protocol)
        if seat is not None:
            seat[0].keep(seat[1])

    async def close(self, seconds: float) -> None:
        """Accept nothing more, give the requests under way some seconds, and close all connections."""
        for port in self._ports:
            self._running.remove_reader(port.socket)
            port.socket.close()
        self._ports.clear()
        for greeting in self._greetings:
            greeting.cancel()
        # Requests that have been read already are still answered.
        await asyncio.sleep(0)
        self.pre_shutdown()
        await self.shutdown(seconds)

    def _accept(self, port: _Port) -> None:
        for _ in range(_BATCH):
            try:
                connection, _ = port.socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._pause(port, error)
                return
            connection.setblocking(False)
            self._welcome(port, connection)

    def _pause(self, port: _Port, error: OSError) -> None:
        """Wait for descriptors, some of which come from closing unauthenticated connections."""
        log.warning("no connection can be accepted: %s; trying again", error.strerror)
        if port.places is not None:
            port.places.shrink()
        self._running.remove_reader(port.socket)
        self._running.call_later(_RETRY_SECONDS, self._resume, port)

    def _resume(self, port: _Port) -> None:
        if port in self._ports:
            self._running.add_reader(port.socket, self._accept, port)

    def _welcome(self, port: _Port, connection: socket.socket) -> None:
        places = port.places
        if places is not None:
            if places.full:
                log.warning("all %d connections are in use: the oldest without a credential is closed", places.most)
                if not places.make_room():
                    connection.close()
                    return
            places.take(connection)
        greeting = self._running.create_task(self._greet(port, connection))
        self._greetings.add(greeting)
        greeting.add_done_callback(self._greetings.discard)

    async def _greet(self, port: _Port, connection: socket.socket) -> None:
        """Start serving a connection, once its handshake is over."""
        protocol, seconds = self(), None
        if port.context is not None:
            seconds = self._head_seconds
        if port.places is not None:
            self._seats[protocol] = port.places, connection
        try:
            await self._running.connect_accepted_socket(
                lambda: protocol, connection, ssl=port.context, ssl_handshake_timeout=seconds
            )
        except OSError as error:  # also TLS errors and timeouts
            log.debug("a connection ended before its first request: %s", error)
            self._free(protocol)
        except asyncio.CancelledError:
            self._free(protocol)
            raise

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Start the deadline by which a new connection's first request must come."""
        super().connection_made(handler, transport)
        self._silent[handler] = self._running.call_later(self._head_seconds, handler.force_close)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Release what an ended connection held."""
        super().connection_lost(handler, exc)
        self._heard(handler)
        self._free(handler)

    def _free(self, handler: web.RequestHandler) -> None:
        seat = self._seats.pop(handler, None)
        if seat is not None:
            seat[0].leave(seat[1])

    def _heard(self, handler: web.RequestHandler) -> None:
        deadline = self._silent.pop(handler, None)
        if deadline is not None:
            deadline.cancel()

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        self._heard(protocol)
        size = self._body_bytes
        return web.BaseRequest(message, payload, protocol, writer, task, self._running, client_max_size=size)
