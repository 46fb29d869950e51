"""A connection that is closed leaves no socket open, whatever the server does."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
from collections.abc import Iterator

import pytest

from drakit_client.connection import Connection
from drakit_client.resources import PODS
from drakit_embedded import certificates

_BOUND = 30.0
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(params=[_ANSWER, b""], ids=["under way", "not answered"])
def deaf_server(request: pytest.FixtureRequest) -> Iterator[tuple[int, threading.Event]]:
    """Port of an https server that answers at most the head of a watch and then neither reads nor writes."""
    context, _ = certificates.self_signed("127.0.0.1", None)
    asked, done = threading.Event(), threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listener.accept()
        with context.wrap_socket(plain, server_side=True) as client:
            client.recv(65536)
            client.sendall(request.param)
            asked.set()
            done.wait(_BOUND)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1], asked
    done.set()
    thread.join(_BOUND)
    listener.close()


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_leaving_a_watch_does_not_wait_for_the_servers_goodbye(deaf_server: tuple[int, threading.Event]) -> None:
    """The event loop may end right after ``close``, as that of a blocking client does."""
    port, asked = deaf_server

    async def watch() -> None:
        async for _ in connection.watch(PODS, resource_version="0"):
            pass

    async def leave() -> None:
        async with connection:
            task = asyncio.create_task(watch())
            assert await asyncio.to_thread(asked.wait, _BOUND)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = Connection(f"https://127.0.0.1:{port}", tls=context)
    asyncio.run(leave())
    gc.collect()
