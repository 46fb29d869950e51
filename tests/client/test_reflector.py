"""A reflector ends up with what the server has, whatever happened to the connection in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from drakit_client.connection import Connection
from drakit_client.reflector import Reflector
from drakit_client.resources import CONFIG_MAPS


def _object(name: str, version: int, *, uid: str = "u") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version)}}


class _Collection:
    """A server with one collection: each list takes the next answer, each watch the next script of events."""

    def __init__(self) -> None:
        self.lists: list[dict[str, Any] | int] = []
        self.watches: list[list[dict[str, Any]] | int] = []
        self.watched_from: list[str] = []
        self.idle = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            answer = self.lists.pop(0)
            return web.Response(status=answer) if isinstance(answer, int) else web.json_response(answer)
        self.watched_from.append(request.query["resourceVersion"])
        if not self.watches:
            self.idle.set()
            await asyncio.Event().wait()
        script = self.watches.pop(0)
        if isinstance(script, int):
            return web.json_response({"code": script, "reason": "Expired", "message": "too old"}, status=script)
        response = web.StreamResponse()
        await response.prepare(request)
        for event in script:
            await response.write(msgspec.json.encode(event) + b"\n")
        return response


@pytest.fixture
async def collection() -> AsyncIterator[tuple[_Collection, Connection]]:
    state = _Collection()
    app = web.Application()
    app.router.add_get("/api/v1/configmaps", state.handle)
    server = TestServer(app)
    await server.start_server()
    async with Connection(str(server.make_url("/"))) as connection:
        yield state, connection
    await server.close()


async def _follow(state: _Collection, connection: Connection) -> tuple[Reflector, list[str]]:
    """Run a reflector until the server has played all its scripts; returns it with a record of its changes."""
    changes: list[str] = []

    def record(old: dict[str, Any] | None, new: dict[str, Any] | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        changes.append(("+" if old is None else "-" if new is None else "~") + name)

    reflector = Reflector(connection, CONFIG_MAPS, on_change=[record])
    task = asyncio.create_task(reflector.run())
    async with asyncio.timeout(20):
        await state.idle.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return reflector, changes


def _listed(version: int, *items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


def _event(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": obj}


_GONE = _event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
_Scripts = Callable[[_Collection], None]

_STORIES: dict[str, tuple[list[Any], list[Any], list[str], list[str]]] = {
    # name: (lists, watches, expected changes, versions watched from)
    "list then events": (
        [_listed(5, _object("a", 3))],
        [[_event("ADDED", _object("b", 6)), _event("MODIFIED", _object("a", 7)), _event("DELETED", _object("b", 8))]],
        ["+a", "+b", "~a", "-b"],
        ["5", "8"],
    ),
    "a bookmark moves the version only": (
        [_listed(5)],
        [[_event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})]],
        [],
        ["5", "9"],
    ),
    "410 at once lists again": (
        [_listed(5, _object("a", 3), _object("b", 4)), _listed(20, _object("a", 3), _object("c", 19))],
        [410],
        ["+a", "+b", "-b", "+c"],
        ["5", "20"],
    ),
    "410 as an event lists again": (
        [_listed(5, _object("a", 3)), _listed(20, _object("a", 12))],
        [[_GONE]],
        ["+a", "~a"],
        ["5", "20"],
    ),
    "deleted and created again while away is seen as both": (
        [_listed(5, _object("a", 3, uid="old")), _listed(20, _object("a", 12, uid="new"))],
        [410],
        ["+a", "-a", "+a"],
        ["5", "20"],
    ),
    "a server that is away is asked again": ([503, 500, _listed(5, _object("a", 3))], [], ["+a"], ["5"]),
}


@pytest.mark.parametrize("story", _STORIES)
async def test_reflector_follows(story: str, collection: tuple[_Collection, Connection]) -> None:
    state, connection = collection
    lists, watches, expected, versions = _STORIES[story]
    state.lists, state.watches = list(lists), list(watches)
    reflector, changes = await _follow(state, connection)
    assert changes == expected
    assert state.watched_from == versions
    assert {name for _, name in reflector.store} == _alive_after(changes)


def _alive_after(changes: list[str]) -> set[str]:
    alive: set[str] = set()
    for change in changes:
        (alive.discard if change[0] == "-" else alive.add)(change[1:])
    return alive


async def test_objects_have_their_type_wherever_they_came_from(collection: tuple[_Collection, Connection]) -> None:
    state, connection = collection
    watched = {"kind": "ConfigMap", "apiVersion": "v1", **_object("b", 6)}
    state.lists, state.watches = [_listed(5, _object("a", 3))], [[_event("ADDED", watched)]]
    reflector, _ = await _follow(state, connection)
    assert {(obj["kind"], obj["apiVersion"]) for obj in reflector.store.values()} == {("ConfigMap", "v1")}


async def test_a_transform_decides_what_is_stored(collection: tuple[_Collection, Connection]) -> None:
    state, connection = collection
    large = {"data": {"key": "value"}}
    state.lists = [_listed(5, {**_object("a", 3), **large})]
    state.watches = [[_event("ADDED", {**_object("b", 6), **large})]]

    def without_data(obj: dict[str, Any]) -> dict[str, Any]:
        del obj["data"]
        return obj

    handled: list[dict[str, Any]] = []
    reflector = Reflector(
        connection, CONFIG_MAPS, on_change=[lambda _, new: handled.append(new)], transform=without_data
    )
    before = reflector.has_synced
    task = asyncio.create_task(reflector.run())
    async with asyncio.timeout(20):
        await state.idle.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (before, reflector.has_synced) == (False, True)
    assert handled == list(reflector.store.values())
    assert [("data" in obj, obj["metadata"]["name"]) for obj in handled] == [(False, "a"), (False, "b")]


async def test_a_server_that_forgets_each_version_is_not_listed_without_pause(
    collection: tuple[_Collection, Connection],
) -> None:
    state, connection = collection
    state.lists, state.watches = [_listed(version) for version in range(1, 6)], [410, [_GONE], 410, 410]
    began = asyncio.get_running_loop().time()
    await _follow(state, connection)
    assert state.watched_from == ["1", "2", "3", "4", "5"]
    # At once, and then after half of 0.05, 0.1 and 0.2 seconds at least.
    assert asyncio.get_running_loop().time() - began > 0.17


async def test_what_a_server_forgets_now_and_then_is_listed_at_once(
    collection: tuple[_Collection, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    state, connection = collection
    state.lists = [_listed(version) for version in range(1, 4)]
    state.watches = [410, [_event("ADDED", _object("a", 6)), _GONE]]
    monkeypatch.setattr("drakit_client.reflector._pause", note)
    await _follow(state, connection)
    assert state.watched_from == ["1", "2", "3"]
    assert pauses == []


async def test_a_server_that_ends_each_watch_at_once_is_not_asked_without_pause(
    collection: tuple[_Collection, Connection],
) -> None:
    state, connection = collection
    state.lists, state.watches = [_listed(5)], [[], [], [], []]
    began = asyncio.get_running_loop().time()
    await _follow(state, connection)
    assert state.watched_from == ["5"] * 5
    # Half of 0.05, 0.1, 0.2 and 0.4 seconds at least.
    assert asyncio.get_running_loop().time() - began > 0.37


async def test_an_object_that_a_handler_cannot_take_is_named_once_and_the_others_are_handled(
    collection: tuple[_Collection, Connection], caplog: pytest.LogCaptureFixture
) -> None:
    state, connection = collection
    state.lists = [_listed(1, _object("odd", 1), _object("even", 1))]
    state.watches = [[{"type": "MODIFIED", "object": _object(name, 2)} for name in ("odd", "even")]]
    handled: list[str] = []

    def handle(old: dict[str, Any] | None, new: dict[str, Any] | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        if name == "odd":
            raise KeyError("spec")
        handled.append(name)

    reflector = Reflector(connection, CONFIG_MAPS, on_change=[handle])
    task = asyncio.create_task(reflector.run())
    async with asyncio.timeout(20):
        await state.idle.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert handled == ["even", "even"]
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["configmaps ns/odd: ignored, this change cannot be handled: 'spec'"]
