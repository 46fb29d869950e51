"""A watch that nobody reads any more is gone at once, whatever the server does."""

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

_BOUND = 10.0
_EVENT = b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p","resourceVersion":"1"}}}\n'
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def deaf_server() -> Iterator[int]:
    """Port of an https server that sends one event of a watch and then neither reads nor writes."""
    context, _ = certificates.self_signed("127.0.0.1", None)
    done = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listener.accept()
        with context.wrap_socket(plain, server_side=True) as client:
            client.recv(65536)
            client.sendall(_ANSWER + f"{len(_EVENT):x}\r\n".encode() + _EVENT + b"\r\n")
            done.wait(_BOUND)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    done.set()
    thread.join(_BOUND)
    listener.close()


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_leaving_a_watch_does_not_wait_for_the_servers_goodbye(deaf_server: int) -> None:
    """The event loop may end right after ``close``, as that of a blocking client does; no socket is left open then."""

    async def watch_once() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

        async def first() -> None:
            async for event in connection.watch(PODS, resource_version="0"):
                assert event["object"]["metadata"]["name"] == "p"
                seen.set()

        async with Connection(f"https://127.0.0.1:{deaf_server}", tls=context) as connection:
            seen = asyncio.Event()
            task = asyncio.create_task(first())
            await asyncio.wait_for(seen.wait(), _BOUND)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(watch_once())
    gc.collect()
