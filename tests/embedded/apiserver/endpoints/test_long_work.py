"""Requests that take long keep nobody else waiting: what is measured is the longest stretch of the event loop's thread.

In CPU time, so that a busy machine changes nothing of it. What was done in the loop before took 0.3 to 40 s of it.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import io
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import CONFIG_MAPS
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.storage.turns import LONG_BYTES, Turns
from drakit_embedded.serving.background import Background, LoopThread

Until = Callable[..., Awaitable[object]]
TOKEN = "of-the-tests"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
JSON, YAML, APPLY = "application/json", "application/yaml", "application/apply-patch+yaml"
OPERATIONS = "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MOST_SECONDS = 0.15
MANY = 10_000


class Stretches:
    """The longest time that the loop has worked for one thing, in seconds of CPU."""

    longest = 0.0


@pytest.fixture
def stretches(monkeypatch: pytest.MonkeyPatch) -> Stretches:
    """Measure the loop; there is no garbage of other tests that it could be interrupted for."""
    found, run = Stretches(), asyncio.events.Handle._run

    def timed(handle: asyncio.events.Handle) -> None:
        began = time.thread_time()
        run(handle)
        found.longest = max(found.longest, time.thread_time() - began)

    monkeypatch.setattr(asyncio.events.Handle, "_run", timed)
    return found


@pytest.fixture
async def session(api_server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(api_server.url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        for path, spec in ((MAPS, {"data": {"a": "b"}}), ("/api/v1/namespaces/default/serviceaccounts", {})):
            async with client.post(path, json={"metadata": {"name": "default"}, **spec}) as made:
                assert made.status == 201
        yield client


def owned(count: int) -> Object:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": f"o{n}", "uid": f"u{n}"} for n in range(count)]
    return {"metadata": {"name": "a", "ownerReferences": owners}}


def managed(count: int) -> Object:
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    entries = [{**entry, "manager": f"m{n}", "fieldsV1": {"f:data": {f"f:{n}": {}}}} for n in range(count)]
    return {"metadata": {"name": "default", "managedFields": entries}, "data": {"x": "y"}}


def moves(count: int) -> list[Object]:
    there, back = {"op": "move", "from": "/x/0", "path": "/x/-"}, {"op": "copy", "from": "/x/1", "path": "/x/0"}
    return [{"op": "add", "path": "/x", "value": list(range(10 * count))}, *[there, back] * (count // 3)]


def pod(count: int) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": f"c{n}", "image": "i"} for n in range(count)]}}


def flat(count: int, head: str) -> str:
    return head + "data:\n" + "".join(f"  k{n}: v\n" for n in range(count))


BODIES: dict[str, tuple[str, str, str, Any]] = {
    "owner references": ("POST", MAPS, JSON, owned(MANY)),
    "managed fields": ("PUT", f"{MAPS}/default", JSON, managed(MANY)),
    "moves in a list": ("PATCH", f"{MAPS}/default", OPERATIONS, moves(MANY)),
    "containers": ("POST", PODS, JSON, pod(MANY)),
    "YAML": ("POST", MAPS, YAML, flat(5 * MANY, "metadata: {name: flat}\n")),
    "an applied configuration": (
        "PATCH",
        f"{MAPS}/applied",
        APPLY,
        flat(2 * MANY, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\n"),
    ),
    "repeated keys": ("POST", MAPS, JSON, '{"metadata":{"name":"r"},"data":{' + '"a":"b",' * 10 * MANY + '"c":"d"}}'),
    "labels": ("POST", MAPS, JSON, {"metadata": {"name": "l", "labels": {f"k{n}": "v" for n in range(5 * MANY)}}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", BODIES)
async def test_a_large_body(session: aiohttp.ClientSession, stretches: Stretches, what: str) -> None:
    method, path, media, content = BODIES[what]
    sent = (content if isinstance(content, str) else json.dumps(content)).encode()
    parameters = {"fieldManager": "x"} if media == APPLY else {}
    stretches.longest = 0.0
    async with session.request(
        method, path, params=parameters, data=io.BytesIO(sent), headers={"Content-Type": media}
    ) as answer:
        await answer.read()
        longest = stretches.longest
    assert answer.status in (200, 201, 413, 422, 500)
    assert longest < MOST_SECONDS


@pytest.fixture
async def crowded(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """A server with many config maps, which come from a file: nothing of them has been looked at yet."""
    file = tmp_path / "store"
    async with Server(ServerConfig(token=TOKEN, data_file=file)) as server:
        assert server._store is not None
        collection = server._store.named("configmaps")
        for number in range(2 * MANY):
            key = ("default", f"m{number:05}")
            meta = {"namespace": key[0], "name": key[1], "uid": str(number), "labels": {"n": str(number % 2)}}
            server._store.put(collection, key, {"metadata": meta, "data": {"a": "b"}})
    async with (
        Server(ServerConfig(token=TOKEN, data_file=file)) as again,
        aiohttp.ClientSession(again.url, headers={"Authorization": f"Bearer {TOKEN}"}) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accept", "query", "words"),
    [
        (TABLE, "", b'"kind":"Table"'),
        (f"{TABLE},application/json", "labelSelector=n%3D1", b'"m00001"'),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "", b'"m00001"'),
        ("application/yaml", "limit=3000", b"name: m00001"),
        (JSON, "labelSelector=n%3D1", b'"m00001"'),
        (JSON, "fieldSelector=metadata.name%3Dm00007", b'"m00007"'),
        (TABLE, "watch=true&resourceVersion=0&timeoutSeconds=1", b'"m19999"'),
    ],
)
async def test_a_long_list(
    crowded: aiohttp.ClientSession, stretches: Stretches, accept: str, query: str, words: bytes
) -> None:
    longest, found = 0.0, []
    async with crowded.get(f"{MAPS}?{query}", headers={"Accept": accept}) as answer:
        stretches.longest = 0.0
        async for chunk in answer.content.iter_any():
            longest = max(longest, stretches.longest)
            found.append(chunk)
    assert answer.status == 200
    assert words in b"".join(found)
    assert longest < MOST_SECONDS


@pytest.mark.slow
async def test_many_objects_that_are_deleted(crowded: aiohttp.ClientSession, stretches: Stretches) -> None:
    async with crowded.delete(f"{MAPS}?labelSelector=n%3D1") as answer:
        assert answer.status == 200
        longest = stretches.longest
        await answer.read()
    assert longest < MOST_SECONDS
    async with crowded.get(f"{MAPS}?limit=1") as left:
        assert (await left.json())["metadata"]["remainingItemCount"] == MANY - 1


# Turns.


async def begun(events: list[str], until: Until) -> None:
    await until(lambda: events)


async def test_reads_are_answered_and_writes_wait_while_a_long_one_is_made(until: Until) -> None:
    turns, events, go_on = Turns(), list[str](), threading.Event()

    def long() -> str:
        events.append("long begins")
        assert go_on.wait(10)
        events.append("long ends")
        return "long"

    first = asyncio.create_task(turns.take(long, LONG_BYTES))
    await begun(events, until)
    second = asyncio.create_task(turns.take(lambda: events.append("short"), 10))
    third = asyncio.create_task(turns.take(lambda: events.append("another"), LONG_BYTES))
    await asyncio.sleep(0)
    assert events == ["long begins"]
    go_on.set()
    assert await first == "long"
    await asyncio.gather(second, third)
    assert events == ["long begins", "long ends", "short", "another"]
    await turns.close()


async def test_a_kind_whose_last_write_took_long_is_written_in_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, loop = Turns(), threading.current_thread()

    async def is_in_loop(kind: str) -> bool:
        return await turns.take(threading.current_thread, 10, kind) is loop

    monkeypatch.setattr("drakit_embedded.apiserver.storage.turns._LONG_SECONDS", 0.0)
    assert await is_in_loop("things")
    assert not await is_in_loop("things")
    monkeypatch.setattr("drakit_embedded.apiserver.storage.turns._LONG_SECONDS", 60.0)
    assert await is_in_loop("others")
    assert not await is_in_loop("things")
    assert await is_in_loop("things")
    await turns.close()


async def test_rules_that_cost_all_they_may_keep_others_waiting_once(
    session: aiohttp.ClientSession, stretches: Stretches
) -> None:
    rule = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c < 1000)))"
    numbers = {"type": "array", "maxItems": 60, "items": {"type": "integer"}}
    rules = [{"rule": rule}, {"rule": f"{rule} && true"}, {"rule": f"true && {rule}"}]
    spec = {"type": "object", "properties": {"l": numbers}, "x-kubernetes-validations": rules}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "things", "kind": "Thing"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = {
        "metadata": {"name": "things.a.example.com"},
        "spec": {"group": "a.example.com", "scope": "Cluster", "names": names, "versions": [version]},
    }
    async with session.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition) as answer:
        assert answer.status == 201, await answer.text()

    async with asyncio.timeout(10):
        while True:
            async with session.get("/apis/a.example.com/v1/things") as answer:
                if answer.ok:
                    break
    thing = {"apiVersion": "a.example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"l": [1] * 60}}
    for _ in range(2):
        stretches.longest = 0.0
        async with session.post("/apis/a.example.com/v1/things", json=thing) as answer:
            assert "call cost exceeds limit" in await answer.text()
    assert stretches.longest < MOST_SECONDS


async def test_whoever_leaves_during_a_long_write_does_not_end_its_turn(until: Until) -> None:
    turns, events, go_on = Turns(), list[str](), threading.Event()

    def long() -> None:
        events.append("begins")
        assert go_on.wait(10)
        events.append("ends")

    write = asyncio.create_task(turns.take(long, LONG_BYTES))
    await begun(events, until)
    write.cancel()
    other = asyncio.create_task(turns.take(lambda: events.append("other"), 1))
    closing = asyncio.create_task(turns.close())
    await asyncio.sleep(0)
    write.cancel()
    await asyncio.sleep(0)
    assert events == ["begins"]
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await write
    await asyncio.gather(other, closing)
    assert events == ["begins", "ends", "other"]


BINDING = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
WRITES: list[tuple[str, str, str, Object]] = [
    ("POST", MAPS, JSON, {"metadata": {"name": "b"}}),
    ("PUT", f"{MAPS}/default", JSON, {"metadata": {"name": "default"}}),
    ("PATCH", f"{MAPS}/default", "application/merge-patch+json", {"data": {"a": "c"}}),
    ("PATCH", f"{MAPS}/default", APPLY, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "default"}}),
    ("DELETE", f"{MAPS}/default", JSON, {}),
    ("DELETE", MAPS, JSON, {}),
    ("PUT", f"{PODS}/p/status", JSON, {"metadata": {"name": "p"}, "status": {"message": "m"}}),
    ("POST", f"{PODS}/p/binding", JSON, BINDING),
    ("POST", "/api/v1/namespaces/default/bindings", JSON, BINDING),
    ("POST", f"{PODS}/p/eviction", JSON, {"metadata": {"name": "p"}}),
    ("PUT", "/api/v1/namespaces/default/finalize", JSON, {"metadata": {"name": "default"}, "spec": {}}),
    ("PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale", "application/merge-patch+json", {"spec": {}}),
]


@pytest.mark.parametrize(("method", "path", "media", "body"), WRITES)
async def test_every_write_waits_for_its_turn(
    api_server: Server,
    session: aiohttp.ClientSession,
    until: Until,
    method: str,
    path: str,
    media: str,
    body: Object,
) -> None:
    containers = [{"name": "c", "image": "i"}]
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}
    deployment = {"metadata": {"name": "d"}, "spec": spec}
    deployment["spec"]["template"]["spec"] = {"containers": containers}  # type: ignore[index]
    for where, made in ((PODS, pod(1)), ("/apis/apps/v1/namespaces/default/deployments", deployment)):
        async with session.post(where, json=made) as answer:
            assert answer.status == 201, await answer.text()
    assert api_server._api is not None
    turns, go_on = api_server._api.turns, threading.Event()
    long = asyncio.create_task(turns.take(lambda: go_on.wait(10), LONG_BYTES))
    await until(turns._lock.locked)

    async def ask() -> int | str:
        parameters = {"fieldManager": "x"} if media == APPLY else {}
        sent = json.dumps(body)
        headers = {"Content-Type": media}
        async with session.request(method, path, params=parameters, data=sent, headers=headers) as answer:
            return answer.status if answer.ok else await answer.text()

    asked = asyncio.create_task(ask())
    try:
        await until(lambda: asked.done() or turns._lock._waiters)
        assert not asked.done()
        async with session.get(f"{MAPS}/default") as read:
            assert read.status == 200
    finally:
        go_on.set()
        await long
    assert await asked in (200, 201)


async def test_what_a_long_write_raises_comes_out(until: Until) -> None:
    turns = Turns()
    with pytest.raises(ZeroDivisionError):
        await turns.take(lambda: 1 // 0, LONG_BYTES)
    assert await turns.take(lambda: 1, 1) == 1
    await turns.close()


async def test_the_loop_does_what_other_threads_ask_of_it() -> None:
    home, background = LoopThread(), Background("test")
    ident = await background.run(lambda: home.call(threading.get_ident))
    assert ident == threading.get_ident() == home.call(threading.get_ident)
    with pytest.raises(ZeroDivisionError):
        await background.run(lambda: home.call(lambda: 1 // 0))
    background.close()


@pytest.mark.slow
async def test_large_and_small_writes_of_one_object_lose_nothing(connection: Connection) -> None:
    """Many at once, each adding a key by a patch, or replacing the padding by one that takes long."""
    await connection.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
    changes: list[Object] = [{"data": {f"k{n}": str(n)}} for n in range(40)]
    changes[::4] = [
        {"data": {**change["data"], "padding": f"{n}" * LONG_BYTES}} for n, change in enumerate(changes[::4])
    ]
    await asyncio.gather(*(connection.patch(CONFIG_MAPS, "a", change, "default") for change in changes))
    found = await connection.get(CONFIG_MAPS, "a", "default")
    assert {key for key in found["data"] if key != "padding"} == {f"k{n}" for n in range(40)}


async def test_a_server_that_stops_finishes_the_write_under_way(tmp_path: Path, until: Until) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store")
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        obj = {"metadata": {"name": "a"}, "data": {str(n): "x" * 20 for n in range(3000)}}
        write = asyncio.create_task(connection.create(CONFIG_MAPS, obj, "default"))
        assert server._api is not None
        turns = server._api.turns
        await until(lambda: turns._lock.locked() or write.done())
        await server.stop()
        await asyncio.gather(write, return_exceptions=True)
    async with Server(config) as again, Connection(again.url, token=TOKEN) as connection:
        assert len((await connection.get(CONFIG_MAPS, "a", "default"))["data"]) == 3000
