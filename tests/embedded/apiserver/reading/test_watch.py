"""Lists and watches: every change once, in order, from any version that is still known."""

from __future__ import annotations

import asyncio
import logging
import random
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
from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Expired
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.reading import list_options, watching
from drakit_embedded.apiserver.reading.watching import Watch
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.storage import store
from drakit_embedded.apiserver.wire.forms import Form, Plain, negotiate

Until = Callable[..., Awaitable[Any]]
BOUND = 30.0
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


def loaded() -> store.Store:
    """Without a file."""
    kept = store.Store()
    Catalog(kept, FeatureGates(), {})
    kept.load()
    return kept


class Opened:
    """A watch of config maps or pods without a connection: what it has written, and what happens meanwhile."""

    def __init__(self, kept: store.Store, query: str, plural: str = "pods", form: Form | None = None) -> None:
        served = Catalog(kept, FeatureGates(), {}).find("", "v1", plural)
        assert served is not None
        options = list_options.decode(served, Query(query), watch=True)
        self.watch = Watch(kept, served, None, options, form or Plain(served))
        self.seen: list[Object] = []
        # Called after each write, which takes as long.
        self.meanwhile: Callable[[], Any] = list

    async def write(self, piece: bytes) -> None:
        self.seen += [msgspec.json.decode(line) for line in piece.splitlines()]
        if isinstance(waiting := self.meanwhile(), Awaitable):
            await waiting

    async def run(self) -> None:
        await self.watch.stream(cast("web.StreamResponse", self))

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [
            (event["type"], event["object"]["metadata"]["name"]) for event in self.seen if event["type"] != "BOOKMARK"
        ]

    @property
    def versions(self) -> list[tuple[str, int]]:
        return [(event["type"], int(event["object"]["metadata"]["resourceVersion"])) for event in self.seen]


def put_pod(kept: store.Store, name: str, node: str, text: str = "") -> None:
    obj = {"metadata": {"name": name, "namespace": "default"}, "spec": {"nodeName": node}, "text": text}
    kept.put(kept.named("pods"), ("default", name), obj)


def delete_pod(kept: store.Store, name: str) -> None:
    obj = kept.named("pods").records["default", name].object()
    kept.delete(kept.named("pods"), ("default", name), obj)


async def test_a_bookmark_is_not_ahead_of_the_events_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that continues from a bookmark gets what happened while a slow one was written to."""
    monkeypatch.setattr(watching, "_BOOKMARK_SECONDS", 0.0)
    kept = loaded()
    opened = Opened(kept, f"resourceVersion={kept.version}&allowWatchBookmarks=true")

    async def slow() -> None:
        if len(opened.seen) == 1:
            put_pod(kept, "b", "")
        elif ("ADDED", "b") in opened.changes:
            opened.watch.end()
        for _ in range(3):
            await asyncio.sleep(0)

    opened.meanwhile = slow
    put_pod(kept, "a", "")
    async with asyncio.timeout(BOUND):
        await opened.run()
    assert [kind for kind, _ in opened.versions][:3] == ["ADDED", "BOOKMARK", "ADDED"]
    assert all(
        earlier < version
        for index, (_, earlier) in enumerate(opened.versions)
        for kind, version in opened.versions[index + 1 :]
        if kind != "BOOKMARK"
    )


@pytest.mark.slow
async def test_a_line_is_made_once_for_all_who_watch_and_only_the_newest_are_kept() -> None:
    kept = loaded()
    served = Catalog(kept, FeatureGates(), {}).find("", "v1", "pods")
    assert served is not None

    class Counting(Plain):
        made = 0

        def one(self, record: store.Record) -> bytes:
            Counting.made += 1
            return super().one(record)

    def opened() -> Opened:
        return Opened(kept, f"resourceVersion={version}", form=Counting(served))

    version = kept.version
    for index in range(3):
        put_pod(kept, f"{index}", "")
    several = [opened() for _ in range(5)]
    for each in several:
        each.watch.end()
    await asyncio.gather(*(each.run() for each in several))
    assert [len(each.changes) for each in several] == [3] * 5
    assert Counting.made == 3
    for index in range(3000):
        put_pod(kept, f"{index}", "")
    late = opened()
    late.watch.end()
    await late.run()
    assert len(late.changes) == 3003
    assert len(served.collection.lines) < 100


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, "a", {"all", "a", "name"}),
        ("a", "a", {"all", "a", "name"}),
        ("a", "b", {"all", "a", "b", "name"}),
        ("", "b", {"all", "b", "none", "name"}),
        ("b", None, {"all", "b", "name"}),
        (None, "c", {"all", "name"}),
    ],
    ids=["created", "changed", "moved", "bound", "deleted", "elsewhere"],
)
def test_a_change_wakes_whom_it_concerns(before: str | None, after: str | None, told: set[str]) -> None:
    """Who asked for one value of a field is told of objects that have it, and of those that had it."""
    kept, woken = loaded(), dict[str, list[int]]()
    pods = kept.named("pods")
    topics = {
        "all": None,
        **{node or "none": store.Topic("spec.nodeName", node) for node in ("a", "b", "")},
        "name": store.Topic("metadata.name", "p"),
        "another": store.Topic("metadata.name", "q"),
    }
    if before is not None:
        put_pod(kept, "p", before)
    ends = [pods.subscribe(woken.setdefault(who, []).append, topic) for who, topic in topics.items()]
    for _ in range(2):
        if after is None:
            delete_pod(kept, "p")
        else:
            put_pod(kept, "p", after)
        assert {who for who, positions in woken.items() if positions} == told
        for who in told:
            (position,) = woken[who]
            events = pods.read(position)
            assert events is not None
            assert [event.version for event in events] == [kept.version]
        for end in ends:
            end()
        woken, told = {who: [] for who in woken}, set()
        after = "a"


async def test_a_watch_does_not_fall_behind_changes_that_do_not_concern_it() -> None:
    """Nobody woke it meanwhile; bookmarks tell it where it is."""
    kept = store.Store(events=10)
    Catalog(kept, FeatureGates(), {})
    kept.load()
    opened = Opened(kept, f"resourceVersion={kept.version}&fieldSelector=spec.nodeName%3Da&allowWatchBookmarks=true")
    running = asyncio.create_task(opened.run())
    await asyncio.sleep(0)
    for index in range(50):
        put_pod(kept, f"{index}", "b")
    put_pod(kept, "0", "a")
    for index in range(9):
        put_pod(kept, f"{index}", "b")
    opened.watch.end()
    async with asyncio.timeout(BOUND):
        await running
    assert [event["type"] for event in opened.seen] == ["ADDED", "DELETED"]


async def test_a_sleeping_watch_gets_bookmarks_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_BOOKMARK_SECONDS", 0.0)
    kept = store.Store(events=10)
    Catalog(kept, FeatureGates(), {})
    kept.load()
    opened = Opened(kept, f"resourceVersion={kept.version}&fieldSelector=spec.nodeName%3Da&allowWatchBookmarks=true")

    def other() -> None:
        for index in range(20):
            put_pod(kept, f"{index}", "b")
        if len(opened.seen) == 3:
            put_pod(kept, "mine", "a")
        if opened.changes:
            opened.watch.end()

    opened.meanwhile = other
    async with asyncio.timeout(BOUND):
        await opened.run()
    marks = [version for kind, version in opened.versions if kind == "BOOKMARK"]
    assert marks[:3] == [1, 21, 41]
    assert opened.changes == [("ADDED", "mine")]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("selector", ["spec.nodeName=a", "metadata.name=p1", "spec.nodeName=", "spec.nodeName!=a"])
async def test_watches_of_one_value_miss_nothing(seed: int, selector: str, until: Callable[..., Any]) -> None:
    """They see, bit by bit, what a watch sees that reads the whole history in the end."""
    chosen, kept = random.Random(seed), loaded()
    query = f"resourceVersion={kept.version}&fieldSelector={selector}"
    opened = [Opened(kept, query) for _ in range(3)]

    async def slow() -> None:
        for _ in range(chosen.randrange(5)):
            await asyncio.sleep(0)

    for one in opened:
        one.meanwhile = slow
    running = asyncio.gather(*(one.run() for one in opened))
    for _ in range(200):
        name = f"p{chosen.randrange(4)}"
        if chosen.random() < 0.2 and ("default", name) in kept.named("pods").records:
            delete_pod(kept, name)
        else:
            put_pod(kept, name, chosen.choice(["a", "b", ""]))
        await slow()
    late = Opened(kept, query)
    late.watch.end()
    await late.run()
    assert len(late.seen) > 20
    await until(lambda: all(len(one.seen) >= len(late.seen) for one in opened), "all have seen as much")
    for one in opened:
        one.watch.end()
    async with asyncio.timeout(BOUND):
        await running
    assert [one.seen for one in opened] == [late.seen] * 3


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


TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
END = {"k8s.io/initial-events-end": "true"}


def config_map_table(include: str) -> Form:
    served = Catalog(store.Store(), FeatureGates(), {}).find("", "v1", "configmaps")
    assert served is not None
    return negotiate(TABLE, served, include, listing=False, watching=True)


@pytest.mark.parametrize("names", [["a", "b", "c"], ["a"], []], ids=["some", "one", "none"])
async def test_only_the_first_object_of_a_watch_has_the_columns(names: list[str]) -> None:
    """Be it a bookmark; as each watch has a first one, lines with columns are not those of later objects."""
    kept = loaded()
    several = [Opened(kept, INITIAL, "configmaps", config_map_table("")) for _ in range(2)]
    several += [
        Opened(kept, f"resourceVersion={kept.version}", "configmaps", config_map_table(""))
        for _ in range(2 if names else 0)
    ]
    for name in names:
        obj = {"metadata": {"name": name, "namespace": "default"}, "data": {"x": "y"}}
        kept.put(kept.named("configmaps"), ("default", name), obj)
    several.append(Opened(kept, INITIAL, "configmaps", config_map_table("")))
    for opened in several:
        opened.watch.end()
        await opened.run()
        tables = [event["object"] for event in opened.seen]
        assert {table["kind"] for table in tables} == {"Table"}
        first, *later = [table["columnDefinitions"] for table in tables]
        assert [column["name"] for column in first] == ["Name", "Data", "Age"]
        assert later == [None] * (len(tables) - 1)
        changed = [
            table["rows"][0]["cells"][0]
            for table, event in zip(tables, opened.seen, strict=True)
            if event["type"] == "ADDED"
        ]
        assert changed == names


@pytest.mark.parametrize(
    ("include", "shown", "at_the_end"),
    [
        ("", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}, None),
        ("Metadata", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}, None),
        ("Object", {"kind": "ConfigMap", "apiVersion": "v1"}, None),
        ("None", None, {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}),
    ],
)
def test_bookmarks_of_tables_have_the_row_of_an_empty_object(
    include: str, shown: Object | None, at_the_end: Object | None
) -> None:
    """As kube-apiserver 1.37.1 answers: the row that marks the end of the initial objects always has its metadata."""
    form = config_map_table(include).later
    for metadata in ({"resourceVersion": "7"}, {"resourceVersion": "7", "annotations": END}):
        row = at_the_end if "annotations" in metadata and at_the_end else shown
        assert form.bookmark(metadata) == {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": "7"},
            "columnDefinitions": None,
            "rows": [{"cells": ["", 0, "<unknown>"], "object": row and {**row, "metadata": metadata}}],
        }


# Of kube-apiserver 1.37.1.
EMPTY_CELLS: dict[tuple[str, str], list[Any]] = {
    ("", "namespaces"): ["", "", "<unknown>"],
    ("", "nodes"): ["", "Unknown", "<none>", "<unknown>", "", "<none>", "<none>", *["<unknown>"] * 3],
    ("", "pods"): ["", "0/0", "", "0", "<unknown>", *["<none>"] * 4],
    ("", "limitranges"): ["", "0001-01-01T00:00:00Z"],
    ("apps", "daemonsets"): ["", 0, 0, 0, 0, 0, "<none>", "<unknown>", "", "", "<none>"],
    ("scheduling.k8s.io", "priorityclasses"): ["", 0, False, "<unknown>", ""],
    ("networking.k8s.io", "ipaddresses"): ["", "<none>", "<unknown>"],
    ("resource.k8s.io", "deviceclasses"): ["", "<unknown>"],
    ("resource.k8s.io", "devicetaintrules"): ["", "", "", "", "", "<unknown>"],
    ("resource.k8s.io", "resourceclaims"): ["", "pending", "<unknown>"],
    ("resource.k8s.io", "resourceslices"): ["", "", "", "", "<unknown>"],
}
# printIPAddress of Kubernetes adds an age, for which the kind has no column.
CELLS_WITHOUT_COLUMN = {("networking.k8s.io", "ipaddresses"): 1}


def test_every_kind_has_bookmarks_in_tables() -> None:
    catalog = Catalog(store.Store(), FeatureGates(), {})
    for group, version in [("", "v1"), *((group, versions[0]) for group, versions in catalog.groups().items())]:
        for served in catalog.in_version(group, version):
            form = negotiate(TABLE, served, "", listing=False, watching=True)
            (row,) = form.bookmark({"resourceVersion": "7"})["rows"]
            kind = (group, served.kind.plural)
            columns = len(form.bookmark({"resourceVersion": "7"})["columnDefinitions"])
            assert len(row["cells"]) == columns + CELLS_WITHOUT_COLUMN.get(kind, 0)
            known = EMPTY_CELLS.pop(kind, None)
            assert known in (None, row["cells"])
    assert not EMPTY_CELLS


def test_bookmarks_have_the_form_that_was_asked_for() -> None:
    served = Catalog(store.Store(), FeatureGates(), {}).find("", "v1", "configmaps")
    assert served is not None
    form = negotiate("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", served, "", listing=False)
    assert form.bookmark({"resourceVersion": "7"})["kind"] == "PartialObjectMetadata"


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


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 7, 40])
async def test_long_lists_arrive_whole(connection: Connection, count: int) -> None:
    """Lists over a megabyte are written in pieces."""
    for index in range(count):
        await connection.create(resources.CONFIG_MAPS, config_map(f"a{index:02}", x="x" * 60_000), "default")
    listed = await connection.list(resources.CONFIG_MAPS, "default")
    assert [item["metadata"]["name"] for item in listed["items"]] == [f"a{index:02}" for index in range(count)]
    assert listed["kind"] == "ConfigMapList"
