"""No object ends a component: what cannot be read of a list or a watch is told and left out, and the rest is used."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import TestServer

from drakit_client import answers
from drakit_client.answers import Unreadable
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.reflector import Reflector
from drakit_client.resources import CONFIG_MAPS

# Deeper than any Python reads; from 3.12 on, it reads several thousand levels.
DEEP = b'{"a":' * 30_000 + b"1" + b"}" * 30_000


def config_map(name: str, version: int, data: bytes = b"{}") -> bytes:
    metadata = f'{{"name":"{name}","namespace":"ns","uid":"{name}","resourceVersion":"{version}"}}'
    return b'{"metadata":' + metadata.encode() + b',"data":' + data + b"}"


def event(kind: str, obj: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + obj + b"}\n"


# Every way in which an object can be one that nobody can read.
UNREADABLE = {
    "no JSON": config_map("bad", 5, b'{"k": nothing}'),
    "too deep": config_map("bad", 5, DEEP),
    "no UTF-8": config_map("bad", 5, b'{"k":"\xff\xfe"}'),
    "too many digits": config_map("bad", 5, b'{"k":1' + b"0" * 5000 + b"}"),
    "no name": b'{"metadata":{"resourceVersion":"5"}}',
    "no object": b"5",
}


@asynccontextmanager
async def serving(lists: list[bytes], watches: list[bytes]) -> AsyncIterator[tuple[Connection, asyncio.Event]]:
    """A server of config maps that answers with these, in turn, and then is idle."""
    idle = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.Response(body=lists.pop(0), content_type="application/json")
        if not watches:
            idle.set()
            await asyncio.Event().wait()
        return web.Response(body=watches.pop(0), content_type="application/json")

    app = web.Application()
    app.router.add_get("/api/v1/configmaps", handle)
    server = TestServer(app)
    await server.start_server()
    async with Connection(str(server.make_url("/"))) as connection:
        yield connection, idle
    await server.close()


def listed(version: int, *items: bytes) -> bytes:
    return b'{"kind":"List","metadata":{"resourceVersion":"%d"},"items":[%s]}' % (version, b",".join(items))


async def followed(lists: list[bytes], watches: list[bytes]) -> dict[str, str]:
    """What a reflector has in the end: versions by name."""
    async with serving(lists, watches) as (connection, idle):
        reflector = Reflector(connection, CONFIG_MAPS)
        task = asyncio.create_task(reflector.run())
        async with asyncio.timeout(30):
            waiting = asyncio.create_task(idle.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        assert not task.done(), task.exception()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return {name: obj["metadata"]["resourceVersion"] for (_, name), obj in reflector.store.items()}


@pytest.mark.parametrize("how", UNREADABLE)
async def test_the_other_events_of_a_watch_are_seen(how: str, caplog: pytest.LogCaptureFixture) -> None:
    watch = b"".join(event("MODIFIED", obj) for obj in (UNREADABLE[how], config_map("good", 6)))
    assert await followed([listed(4, config_map("good", 3), config_map("bad", 4))], [watch]) == {
        "good": "6",
        "bad": "4",
    }
    assert len([line for line in caplog.messages if "configmaps" in line and "left out" in line]) == 1


@pytest.mark.parametrize("how", UNREADABLE)
async def test_the_other_items_of_a_list_are_seen(how: str, caplog: pytest.LogCaptureFixture) -> None:
    items = (config_map("a", 1), UNREADABLE[how], config_map("b", 2, b'{"text":"]}[{\\"x\\""}'))
    assert await followed([listed(4, *items)], []) == {"a": "1", "b": "2"}
    assert len([line for line in caplog.messages if "configmaps" in line and "left out" in line]) == 1


async def test_what_is_told_names_the_object(caplog: pytest.LogCaptureFixture) -> None:
    await followed([listed(4, UNREADABLE["too deep"], config_map("b", 2))], [])
    (told,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert told.getMessage().startswith("configmaps ns/bad: left out, it cannot be read (")


async def test_it_is_told_once_however_often_it_comes(caplog: pytest.LogCaptureFixture) -> None:
    again = event("MODIFIED", UNREADABLE["too deep"])
    await followed([listed(4)], [again + again, again])
    assert len([line for line in caplog.messages if "left out" in line]) == 1


async def test_what_cannot_be_read_any_more_stays_as_it_was() -> None:
    """A claim that disappeared would be taken for devices that are free; a deletion is seen at the next list."""
    lists = [listed(4, config_map("bad", 4)), listed(9, UNREADABLE["too deep"])]
    expired = event("ERROR", b'{"code":410,"message":"too old"}')
    assert await followed(lists, [expired]) == {"bad": "4"}


async def test_a_deletion_that_cannot_be_read_is_found_by_a_list() -> None:
    lists = [listed(4, config_map("bad", 4), config_map("good", 3)), listed(9, config_map("good", 3))]
    assert await followed(lists, [event("DELETED", UNREADABLE["too deep"])]) == {"good": "3"}


async def test_an_answer_that_is_no_list_is_a_failed_request() -> None:
    async with serving([b"[1]", b"nothing", b'{"items":[]}'], []) as (connection, _):
        for _ in range(3):
            with pytest.raises(REQUEST_FAILURES, match="cannot be read"):
                await connection.list(CONFIG_MAPS)


def pieces(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[at : at + size] for at in range(0, len(raw), size))


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_a_line_that_is_too_long_is_skipped_however_it_arrives(size: int) -> None:
    first, last = event("ADDED", config_map("a", 1)), event("ADDED", config_map("c", 3))
    long = event("ADDED", config_map("long", 2, b'{"k":"' + b"x" * 5000 + b'"}'))
    content = StreamReader(BaseProtocol(asyncio.get_running_loop()), 2**16, loop=asyncio.get_running_loop())
    for piece in pieces(first + long + last, size):
        content.feed_data(piece)
    content.feed_eof()
    found = [line async for line in answers.lines(content, longest=1000)]
    assert [found[0], found[2]] == [first[:-1], last[:-1]]
    assert isinstance(found[1], Unreadable)
    assert found[1].key == ("ns", "long")
    assert found[1].why == f"its line has {len(long) - 1} bytes, and 1000 are read"


async def test_what_etcd_can_store_can_be_read() -> None:
    """The field with the longest name for two bytes in protobuf, as often as 1.5 MiB allow."""
    one = msgspec.json.encode({"requiredDuringSchedulingIgnoredDuringExecution": {}})
    assert 1536 * 1024 // 2 * len(one) < answers.LINE_BYTES
