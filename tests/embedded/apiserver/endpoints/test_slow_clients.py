"""Clients that read slowly, or leave in the middle: nobody else notices."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from drakit_client import resources
from drakit_client.connection import Connection
from drakit_embedded.apiserver import Server, ServerConfig

TOKEN = "t"
BOUND = 20.0
# Together more than sockets take before somebody reads: a list of them is not sent at once.
COUNT, SIZE = 20, 900_000
LIST = "/api/v1/namespaces/default/configmaps"


def ask(server: Server, path: str) -> socket.socket:
    """Send a request, and read nothing of its answer."""
    address = urlsplit(server.url)
    client = socket.create_connection((address.hostname, address.port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    return client


async def fill(connection: Connection) -> None:
    for index in range(COUNT):
        obj = {"metadata": {"name": f"a{index:02}"}, "data": {"x": "x" * SIZE}}
        await connection.create(resources.CONFIG_MAPS, obj, "default")


async def begun(client: socket.socket) -> bytes:
    """The first bytes of an answer: it is under way."""
    async with asyncio.timeout(BOUND):
        return await asyncio.to_thread(client.recv, 4096)


@pytest.mark.slow
async def test_a_client_that_leaves_in_the_middle_of_a_list_is_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    async with Server(ServerConfig(token=TOKEN)) as server, Connection(server.url, token=TOKEN) as connection:
        await fill(connection)
        for _ in range(5):
            with ask(server, LIST) as client:
                assert b"200 OK" in await begun(client)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert len((await connection.list(resources.CONFIG_MAPS, "default"))["items"]) == COUNT
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.slow
async def test_a_stopping_server_does_not_wait_for_a_client_that_does_not_read() -> None:
    server = Server(ServerConfig(token=TOKEN))
    await server.start()
    try:
        async with Connection(server.url, token=TOKEN) as connection:
            await fill(connection)
        with ask(server, LIST) as client:
            assert b"200 OK" in await begun(client)
            async with asyncio.timeout(BOUND):
                await server.stop()
    finally:
        await server.stop()


@pytest.mark.slow
async def test_a_watcher_that_does_not_read_holds_up_nobody_and_misses_nothing(until: Callable[..., Any]) -> None:
    async with Server(ServerConfig(token=TOKEN)) as server, Connection(server.url, token=TOKEN) as connection:
        version = (await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"]
        with ask(server, f"{LIST}?watch=true&timeoutSeconds=60&resourceVersion={version}") as slow:
            await until(lambda: server.watching == 1, "the slow watch is open")
            quick = connection.watch(resources.CONFIG_MAPS, "default", resource_version=version)
            filling = asyncio.create_task(fill(connection))
            async with asyncio.timeout(BOUND):
                seen = [(await anext(quick))["object"]["metadata"]["name"] for _ in range(COUNT)]
                await filling
            await quick.aclose()
            assert seen == await asyncio.to_thread(_names, slow)


def _names(client: socket.socket) -> list[str]:
    """The objects of so many events, in the order in which they come."""
    client.settimeout(BOUND)
    names: list[str] = []
    with client.makefile("rb") as answer:
        while answer.readline() != b"\r\n":
            pass
        while len(names) < COUNT:
            lines = answer.read(int(answer.readline(), 16))
            assert answer.readline() == b"\r\n"
            names += [msgspec.json.decode(line)["object"]["metadata"]["name"] for line in lines.splitlines()]
    return names


@pytest.mark.parametrize("body", [b"", b"{"], ids=["nothing", "a part"])
async def test_a_body_that_does_not_come_is_not_waited_for(body: bytes) -> None:
    """kube-apiserver 1.37.1 ends such a request, but over HTTP/1.1 its answer never comes."""
    async with Server(ServerConfig(token=TOKEN, request_timeout=0.05)) as server:
        address = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        head = f"POST {LIST} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 9\r\n\r\n"
        writer.write(head.encode() + body)
        async with asyncio.timeout(BOUND):
            assert await reader.readline() == b"HTTP/1.1 504 Gateway Timeout\r\n"
            await reader.readuntil(b"\r\n\r\n")
            status = msgspec.json.decode(await reader.readline())
        assert status["message"] == "Timeout: request did not complete within the allotted timeout"
        writer.close()
