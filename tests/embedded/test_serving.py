"""Connections of the HTTP servers: who is let in where places are few, deadlines, and what the log says of it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from drakit_embedded.serving import descriptors, http_server
from drakit_embedded.serving.http_server import HttpServer
from drakit_embedded.serving.log_rate import LogRate
from drakit_embedded.serving.places import Places

BOUND = 10.0
GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
WITH_CREDENTIAL = GET + b"Authorization: yes\r\n\r\n"
Until = Callable[..., Awaitable[object]]


class Client:
    """A connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, text: bytes) -> bytes:
        """The status line of an answer; nothing if the server has hung up."""
        self.writer.write(text)
        async with asyncio.timeout(BOUND):
            line = await self.reader.readline()
            while line and (header := await self.reader.readline()).strip():
                assert header.lower() != b"transfer-encoding: chunked\r\n"
                if header.lower().startswith(b"content-length"):
                    length = int(header.split()[1])
            if line:
                await self.reader.readexactly(length)
        return line.strip()

    async def hung_up(self) -> bool:
        """Whether the server closes the connection, within the bound."""
        async with asyncio.timeout(BOUND):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True


@asynccontextmanager
async def served(
    *, most: int | None = None, head: float = 30.0, idle: float = 30.0
) -> AsyncIterator[Callable[[], Awaitable[Client]]]:
    """A server that says who it knows: whoever has a header Authorization. Yields how to connect to it."""

    async def answer(request: web.BaseRequest) -> web.Response:
        if "Authorization" in request.headers:
            server.recognize(request)
        return web.Response(text=(await request.read()).decode(errors="replace"))

    server = HttpServer(answer, body_bytes=1000, head_seconds=head, idle_seconds=idle)
    port = socket.create_server(("127.0.0.1", 0))
    address = port.getsockname()
    server.listen(port, most=most)
    clients: list[Client] = []

    async def connect() -> Client:
        clients.append(Client(*await asyncio.open_connection(*address)))
        return clients[-1]

    try:
        yield connect
    finally:
        for client in clients:
            client.writer.close()
        await server.close(1.0)


async def test_whoever_says_nothing_makes_room_for_others() -> None:
    async with served(most=4) as connect:
        silent = [await connect() for _ in range(12)]
        client = await connect()
        assert await client.ask(WITH_CREDENTIAL) == b"HTTP/1.1 200 OK"
        assert all([await each.hung_up() for each in silent[:8]])


async def test_whoever_has_shown_a_credential_stays() -> None:
    async with served(most=4) as connect:
        known = [await connect() for _ in range(3)]
        for each in known:
            await each.ask(WITH_CREDENTIAL)
        for _ in range(20):
            stranger = await connect()
        assert [await each.ask(WITH_CREDENTIAL) for each in known] == [b"HTTP/1.1 200 OK"] * 3
        assert await stranger.ask(GET + b"\r\n") == b"HTTP/1.1 200 OK"


async def test_where_all_are_known_nobody_else_comes_in_until_one_leaves(until: Until) -> None:
    async with served(most=2) as connect:
        known = [await connect() for _ in range(2)]
        for each in known:
            await each.ask(WITH_CREDENTIAL)
        assert await (await connect()).hung_up()
        known[0].writer.close()

        async def let_in() -> bool:
            return await (await connect()).ask(WITH_CREDENTIAL) == b"HTTP/1.1 200 OK"

        await until(let_in)


@pytest.mark.parametrize("said", [b"", b"GET", GET], ids=["nothing", "half a line", "half a head"])
async def test_a_head_that_does_not_come_ends_its_connection(said: bytes) -> None:
    async with served(head=0.05) as connect:
        client = await connect()
        client.writer.write(said)
        assert await client.hung_up()


@pytest.mark.parametrize("said", [b"", GET], ids=["nothing", "half a head"])
async def test_an_idle_connection_ends(said: bytes) -> None:
    async with served(idle=0.05) as connect:
        client = await connect()
        assert await client.ask(GET + b"\r\n") == b"HTTP/1.1 200 OK"
        client.writer.write(said)
        assert await client.hung_up()


async def test_a_request_in_time_is_not_hurried_by_the_deadline_of_its_head() -> None:
    async with served(head=0.2) as connect:
        client = await connect()
        client.writer.write(GET + b"Content-Length: 4\r\n\r\nab")
        assert await (await connect()).hung_up()  # one that came later and says nothing
        assert await client.ask(b"cd") == b"HTTP/1.1 200 OK"


async def test_bodies_are_not_decompressed() -> None:
    async with served() as connect:
        client = await connect()
        assert await client.ask(GET + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd") == b"HTTP/1.1 200 OK"


async def test_without_descriptors_it_waits_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_server, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(http_server.log, "filters", [LogRate(seconds=BOUND)])
    left = 20

    class Exhausted(socket.socket):
        def accept(self) -> tuple[socket.socket, object]:
            nonlocal left
            if left:
                left -= 1
                raise OSError(errno.EMFILE, "Too many open files")
            return super().accept()

    server = HttpServer(lambda request: asyncio.sleep(0, web.Response()), body_bytes=1)
    port = Exhausted(socket.AF_INET, socket.SOCK_STREAM)
    port.bind(("127.0.0.1", 0))
    server.listen(port)
    try:
        client = Client(*await asyncio.open_connection(*port.getsockname()))
        assert await client.ask(GET + b"\r\n") == b"HTTP/1.1 200 OK"
        client.writer.close()
    finally:
        await server.close(1.0)
    assert left == 0
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert said == ["no connection can be accepted: Too many open files; trying again"]


async def test_nonsense_is_told_in_one_line(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server.log, "filters", [LogRate(HttpProcessingError, seconds=BOUND)])
    async with served() as connect:
        for _ in range(30):
            client = await connect()
            assert await client.ask(b"GET /\x01 HTTP/9.9 nonsense\r\n\r\n") == b"HTTP/1.0 400 Bad Request"
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    assert said[0].exc_info is None
    assert "\n" not in said[0].getMessage()


def test_a_log_counts_what_it_leaves_out() -> None:
    now = [0.0]
    rate = LogRate(seconds=5.0, clock=lambda: now[0])

    def told(message: str, argument: object) -> str | None:
        record = logging.LogRecord("x", logging.WARNING, "", 0, message, (argument,), None)
        return record.getMessage() if rate.filter(record) else None

    assert told("%s came", 1) == "1 came"
    assert [told("%s came", count) for count in range(2, 10)] == [None] * 8
    assert told("%s left", 1) == "1 left"
    now[0] = 6.0
    assert told("%s came", 10) == "10 came (8 more in the last 6 s)"
    now[0] = 12.0
    assert told("%s came", 11) == "11 came"


def test_places_are_given_back_by_whoever_leaves() -> None:
    places = Places(2)
    pairs = [socket.socketpair() for _ in range(3)]
    for ours, _ in pairs[:2]:
        places.take(ours)
    places.keep(pairs[0][0])
    assert places.make_room()
    assert pairs[1][1].recv(1) == b""
    assert len(places) == 1
    assert not places.make_room()
    places.leave(pairs[0][0])
    assert len(places) == 0
    for pair in pairs:
        for each in pair:
            each.close()


def test_places_are_fewer_while_descriptors_lack_but_some_are_left_for_strangers() -> None:
    """As often as descriptors lack: who comes later must not find all places taken for ever."""
    places, pairs = Places(100), [socket.socketpair() for _ in range(90)]
    with contextlib.ExitStack() as stack:
        for pair in pairs:
            for each in pair:
                stack.enter_context(each)
        for number, (ours, _) in enumerate(pairs):
            places.take(ours)
            if number < 10:
                places.keep(ours)
        places.shrink()
        assert (places.most, len(places)) == (67, 66)
        for _ in range(20):
            places.shrink()
        assert (places.most, len(places)) == (26, 25)
        for ours, _ in pairs[:10]:
            assert ours in places
            places.leave(ours)
        assert places.most == 36
        for ours, _ in pairs:
            places.leave(ours)
        assert (places.most, len(places)) == (51, 0)


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [(1024, 4096, 4096), (1024, 1 << 20, 65_536), (100_000, 1 << 20, 100_000), (1024, -1, 65_536), (-1, -1, -1)],
)
def test_the_limit_of_descriptors_is_raised_as_far_as_anybody_needs(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int
) -> None:
    limits = [soft, hard]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.__setitem__(slice(None), wanted))
    descriptors.raise_limit()
    assert limits == [raised, hard]
    assert 0 < descriptors.connections(0.5) <= 32_768
