"""Lists and watches: every change once, in order, from any version that is still known."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
from aiohttp import web

from drakit_api.features import FeatureGates
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Expired
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.catalog import Catalog
from drakit_embedded.apiserver.reading import list_options
from drakit_embedded.apiserver.reading.watching import Watch
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.storage import store
from drakit_embedded.apiserver.wire.forms import Plain, negotiate

Object = dict[str, Any]
Until = Callable[..., Awaitable[Any]]
BOUND = 10.0
TOKEN = "of-the-tests"


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Object:
    return {"metadata": {"name": name, "labels": labels or {}}, "data": data}


async def events(connection: Connection, count: int, version: str, **options: Any) -> list[tuple[str, str]]:
    """Type and name of the next events of config maps in the default namespace, without bookmarks."""
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(BOUND):
        watch = connection.watch(resources.CONFIG_MAPS, "default", resource_version=version, **options)
        async with aclosing(watch):
            async for event in watch:
                if event["type"] != "BOOKMARK":
                    found.append((event["type"], event["object"]["metadata"]["name"]))
                if len(found) == count:
                    break
    return found


async def raw_events(connection: Connection, path: str, params: dict[str, str], last: str = "") -> list[Object]:
    """All events of a watch up to the object of this name, or a bookmark, or the end of the watch."""
    found: list[Object] = []
    params = {"watch": "true", **params}
    async with (
        asyncio.timeout(BOUND),
        aiohttp.ClientSession(connection.server, headers={"Authorization": f"Bearer {TOKEN}"}) as session,
        session.get(path, params=params, raise_for_status=True) as response,
    ):
        async for line in response.content:
            found.append(msgspec.json.decode(line))
            if found[-1]["type"] == "BOOKMARK" or found[-1]["object"]["metadata"].get("name") == last != "":
                break
    return found


async def marked_events(connection: Connection, version: str, labels: dict[str, str] | None = None) -> list[Object]:
    """All events of config maps since a version: one more is created, and that it is seen ends the watch.

    Of a selection of labels, if these are named.
    """
    await connection.create(resources.CONFIG_MAPS, config_map("marker", labels), "default")
    params = {"resourceVersion": version}
    if labels:
        params["labelSelector"] = ",".join(f"{key}={value}" for key, value in labels.items())
    *seen, _ = await raw_events(connection, resources.CONFIG_MAPS.path(), params, last="marker")
    return seen


async def test_a_watch_continues_where_a_list_ended(connection: Connection) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("before"), "default")
    version = (await connection.list(resources.CONFIG_MAPS, "default"))["metadata"]["resourceVersion"]
    await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    await connection.patch(resources.CONFIG_MAPS, "a", {"data": {"x": "y"}}, "default")
    await connection.delete(resources.CONFIG_MAPS, "a", "default")
    assert await events(connection, 3, version) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_events_arrive_while_the_watch_is_open(api_server: Server, connection: Connection, until: Until) -> None:
    version = (await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"]
    watching = [asyncio.create_task(events(connection, 3, version)) for _ in range(5)]
    await until(lambda: api_server.watching == 5)
    for name in ("a", "b", "c"):
        await connection.create(resources.CONFIG_MAPS, config_map(name), "default")
    expected = [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert await asyncio.gather(*watching) == [expected] * 5


async def test_the_version_of_a_deletion_is_its_own(connection: Connection) -> None:
    made = await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    await connection.delete(resources.CONFIG_MAPS, "a", "default")
    seen = await marked_events(connection, made["metadata"]["resourceVersion"])
    assert [event["type"] for event in seen] == ["DELETED"]
    assert int(seen[0]["object"]["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_an_object_enters_and_leaves_a_selection(connection: Connection) -> None:
    version = (await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"]
    await connection.create(resources.CONFIG_MAPS, config_map("a", {"on": "no"}), "default")
    for value in ("yes", "yes", "no", "yes"):
        await connection.patch(
            resources.CONFIG_MAPS, "a", {"metadata": {"labels": {"on": value}}, "data": {"n": version}}, "default"
        )
        await connection.patch(resources.CONFIG_MAPS, "a", {"data": {"n": value + version}}, "default")
    await connection.delete(resources.CONFIG_MAPS, "a", "default")
    seen = await marked_events(connection, version, {"on": "yes"})
    kinds = [event["type"] for event in seen]
    assert kinds[0] == "ADDED"
    assert kinds[-1] == "DELETED"
    assert kinds.count("DELETED") == kinds.count("ADDED") == 2
    assert all(event["object"]["metadata"]["labels"]["on"] == "yes" for event in seen)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(set(versions))


async def test_a_watch_without_version_begins_with_what_is_there(connection: Connection) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    seen = await marked_events(connection, "")
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in seen] == [("ADDED", "a")]


async def test_initial_events_end_with_a_marked_bookmark(connection: Connection) -> None:
    """What client-go of 1.37 asks for first."""
    for name in ("a", "b"):
        await connection.create(resources.CONFIG_MAPS, config_map(name), "default")
    params = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "resourceVersion": "",
    }
    *initial, bookmark = await raw_events(connection, resources.CONFIG_MAPS.path(), params)
    assert [event["type"] for event in initial] == ["ADDED", "ADDED"]
    assert bookmark["type"] == "BOOKMARK"
    assert (bookmark["object"]["kind"], bookmark["object"]["apiVersion"]) == ("ConfigMap", "v1")
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) >= int(
        initial[-1]["object"]["metadata"]["resourceVersion"]
    )


async def test_a_list_of_a_version_from_the_future_is_refused(connection: Connection) -> None:
    with pytest.raises(ApiError, match="Too large resource version: 99999") as refused:
        await connection.json("GET", resources.CONFIG_MAPS.path(), params={"resourceVersion": "99999"})
    assert refused.value.code == 504


async def test_a_watch_from_the_future_shows_what_happens_then(
    api_server: Server, connection: Connection, until: Until
) -> None:
    """As of etcd: until the version is there, nothing is shown, and nothing is refused."""
    now = int((await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"])
    path = resources.CONFIG_MAPS.path()
    watching = asyncio.create_task(raw_events(connection, path, {"resourceVersion": str(now + 2)}, last="c"))
    first = asyncio.create_task(raw_events(connection, path, {"resourceVersion": str(now)}, last="c"))
    await until(lambda: api_server.watching == 2)
    for name in ("a", "b", "c"):
        await connection.create(resources.CONFIG_MAPS, {"metadata": {"name": name}}, "default")
    assert [event["object"]["metadata"]["name"] for event in await first] == ["a", "b", "c"]
    assert [event["object"]["metadata"]["name"] for event in await watching] == ["c"]


async def test_what_there_is_of_a_version_from_the_future_is_refused(connection: Connection) -> None:
    params = {
        "resourceVersion": "99999",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    (event,) = await raw_events(connection, resources.CONFIG_MAPS.path(), params)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert event["object"]["message"].startswith("Timeout: Too large resource version: 99999, current: ")


@pytest.fixture
async def forgetful(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Connection]:
    """A server that remembers ten changes."""
    monkeypatch.setattr(store, "HISTORY_EVENTS", 10)
    async with Server(ServerConfig(token=TOKEN)) as server, Connection(server.url, token=TOKEN) as connection:
        yield connection


async def test_a_forgotten_version_is_expired_for_its_kind_only(forgetful: Connection) -> None:
    version = (await forgetful.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"]
    for index in range(12):
        await forgetful.create(resources.CONFIG_MAPS, config_map(f"a{index}"), "default")
    with pytest.raises(Expired, match="too old resource version"):
        await events(forgetful, 1, version)
    (last,) = await raw_events(forgetful, resources.CONFIG_MAPS.path(), {"resourceVersion": version})
    assert (last["type"], last["object"]["code"]) == ("ERROR", 410)
    await forgetful.create(resources.SECRETS, {"metadata": {"name": "s"}}, "default")
    seen = await raw_events(forgetful, resources.SECRETS.path(), {"resourceVersion": version}, last="s")
    assert [event["object"]["metadata"]["name"] for event in seen] == ["s"]


async def test_pages_are_of_one_version(connection: Connection) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await connection.create(resources.CONFIG_MAPS, config_map(name), "default")
    path = resources.CONFIG_MAPS.path("default")
    first = await connection.json("GET", path, params={"limit": "2"})
    assert first["metadata"]["remainingItemCount"] == 3
    # Changes between the pages are neither missed nor doubled: they are not in this list at all.
    await connection.delete(resources.CONFIG_MAPS, "d", "default")
    await connection.create(resources.CONFIG_MAPS, config_map("cc"), "default")
    await connection.patch(resources.CONFIG_MAPS, "e", {"data": {"x": "late"}}, "default")
    names, page = [item["metadata"]["name"] for item in first["items"]], first
    while token := page["metadata"].get("continue"):
        page = await connection.json("GET", path, params={"limit": "2", "continue": token})
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        names += [item["metadata"]["name"] for item in page["items"]]
    assert names == ["a", "b", "c", "d", "e"]
    assert "x" not in page["items"][-1].get("data", {})


async def test_a_page_of_a_forgotten_version_is_expired(forgetful: Connection) -> None:
    for name in ("a", "b"):
        await forgetful.create(resources.CONFIG_MAPS, config_map(name), "default")
    path = resources.CONFIG_MAPS.path("default")
    token = (await forgetful.json("GET", path, params={"limit": "1"}))["metadata"]["continue"]
    for index in range(12):
        await forgetful.create(resources.CONFIG_MAPS, config_map(f"c{index}"), "default")
    with pytest.raises(Expired, match="continue parameter is too old") as expired:
        await forgetful.json("GET", path, params={"limit": "1", "continue": token})
    # Its token goes on with what there is now.
    assert expired.value.status is not None
    newer = expired.value.status["metadata"]["continue"]
    rest = await forgetful.json("GET", path, params={"limit": "3", "continue": newer})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c0", "c1"]


async def test_a_limit_with_a_version_is_exact_and_version_0_knows_no_limit(connection: Connection) -> None:
    for name in ("a", "b"):
        await connection.create(resources.CONFIG_MAPS, config_map(name), "default")
    path = resources.CONFIG_MAPS.path("default")
    version = (await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"]
    await connection.create(resources.CONFIG_MAPS, config_map("c"), "default")
    then = await connection.json("GET", path, params={"limit": "9", "resourceVersion": version})
    assert (then["metadata"]["resourceVersion"], len(then["items"])) == (version, 2)
    assert len((await connection.json("GET", path, params={"limit": "1", "resourceVersion": "0"}))["items"]) == 3


async def test_what_changes_while_a_watch_begins_comes_once_and_after_what_was_there() -> None:
    kept = store.Store()
    served = Catalog(kept, FeatureGates(), {}).find("", "v1", "configmaps")
    assert served is not None

    def put(name: str) -> None:
        kept.put(served.collection, ("default", name), {"metadata": {"name": name, "namespace": "default"}})

    class Client:
        def __init__(self) -> None:
            self.lines: list[Object] = []

        async def write(self, line: bytes) -> None:
            self.lines.append(msgspec.json.decode(line))

    put("before")
    query = Query("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    options = list_options.decode(served, query, watch=True)
    watch, client = Watch(kept, served, None, options, Plain(served)), Client()
    put("meanwhile")
    watch.end()
    await watch.stream(cast("web.StreamResponse", client))
    seen = [(line["type"], line["object"]["metadata"].get("name")) for line in client.lines]
    assert seen == [("ADDED", "before"), ("BOOKMARK", None), ("ADDED", "meanwhile")]
    versions = [int(line["object"]["metadata"]["resourceVersion"]) for line in client.lines]
    assert versions == sorted(versions)


@pytest.mark.parametrize(
    ("sizes", "writes"),
    [([1] * 50, 1), ([40_000] * 3, 3), ([1, 40_000, 1], 2), ([20_000] * 5, 3)],
    ids=["many small", "large", "mixed", "between"],
)
async def test_events_that_wait_together_are_written_together(sizes: list[int], writes: int) -> None:
    kept = store.Store()
    served = Catalog(kept, FeatureGates(), {}).find("", "v1", "configmaps")
    assert served is not None
    options = list_options.decode(served, Query(f"resourceVersion={kept.version}"), watch=True)
    watch = Watch(kept, served, None, options, Plain(served))
    for index, size in enumerate(sizes):
        obj = {"metadata": {"name": f"{index}", "namespace": "default"}, "data": {"x": "x" * size}}
        kept.put(served.collection, ("default", f"{index}"), obj)
    written: list[bytes] = []

    class Client:
        async def write(self, piece: bytes) -> None:
            written.append(piece)

    watch.end()
    await watch.stream(cast("web.StreamResponse", Client()))
    names = [msgspec.json.decode(line)["object"]["metadata"]["name"] for line in b"".join(written).splitlines()]
    assert names == [f"{index}" for index in range(len(sizes))]
    assert len(written) == writes


def test_bookmarks_have_the_form_that_was_asked_for() -> None:
    served = Catalog(store.Store(), FeatureGates(), {}).find("", "v1", "configmaps")
    assert served is not None
    form = negotiate("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", served, "", listing=False)
    assert form.bookmark({})["kind"] == "PartialObjectMetadata"


async def test_a_list_has_the_kind_of_its_items(connection: Connection) -> None:
    listed = await connection.json("GET", "/apis/storage.k8s.io/v1/csinodes")
    assert (listed["kind"], listed["apiVersion"], listed["items"]) == ("CSINodeList", "storage.k8s.io/v1", [])


async def test_a_stopping_server_ends_watches(until: Callable[..., Any]) -> None:
    server = Server(ServerConfig(token="t"))
    await server.start()
    async with Connection(server.url, token="t") as connection:
        listed = await connection.list(resources.CONFIG_MAPS)

        async def follow() -> None:
            watch = connection.watch(
                resources.CONFIG_MAPS, resource_version=listed["metadata"]["resourceVersion"], timeout_seconds=60
            )
            async for _ in watch:
                pass

        task = asyncio.create_task(follow())
        await until(lambda: server.watching == 1, "the watch is open")
        async with asyncio.timeout(BOUND):
            await server.stop()
            await task


async def test_a_client_that_goes_away_leaves_nothing_behind(until: Callable[..., Any]) -> None:
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        task = asyncio.create_task(events(connection, 1, "1", timeout_seconds=60))
        await until(lambda: server.watching == 1, "the watch is open")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.close()
        await until(lambda: server.watching == 0, "the watch is closed")


async def test_a_client_that_leaves_before_its_watch_begins_is_no_defect(
    until: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with Server(ServerConfig(token="t")) as server:
        address = urlsplit(server.url)
        for _ in range(20):
            with socket.create_connection((address.hostname, address.port)) as client:
                client.sendall(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\n\r\n")
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        async with Connection(server.url, token="t") as connection:
            await connection.list(resources.PODS)
        await until(lambda: server.watching == 0, "the watches are closed")
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("count", [0, 1, 7, 40])
async def test_long_lists_arrive_whole(connection: Connection, count: int) -> None:
    """Lists over a megabyte are written in pieces."""
    for index in range(count):
        await connection.create(resources.CONFIG_MAPS, config_map(f"a{index:02}", x="x" * 60_000), "default")
    listed = await connection.list(resources.CONFIG_MAPS, "default")
    assert [item["metadata"]["name"] for item in listed["items"]] == [f"a{index:02}" for index in range(count)]
    assert listed["kind"] == "ConfigMapList"
