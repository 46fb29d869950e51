"""Pages and lists of a version expire with time, as etcd is compacted for kube-apiserver; watches do not."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import Expired
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.reading import list_options, lists
from drakit_embedded.apiserver.reading.lists import Page
from drakit_embedded.apiserver.registry.catalog import Catalog, Served
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.aging import Aging
from drakit_embedded.apiserver.storage.store import Store
from drakit_embedded.apiserver.storage.turns import Turns

Until = Callable[..., Awaitable[Any]]
TOKEN = "of-the-tests"
MAPS = resources.CONFIG_MAPS.path("default")


def opened(file: Path | None = None) -> tuple[Store, Served]:
    """A store with its config maps."""
    store = Store(file)
    served = Catalog(store, FeatureGates(), {}).find("", "v1", "configmaps")
    assert served is not None
    store.load()
    return store, served


def put(store: Store, served: Served, *names: str) -> None:
    for name in names:
        store.put(served.collection, ("default", name), {"metadata": {"name": name, "namespace": "default"}})


def page(store: Store, served: Served, **query: object) -> Page:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return lists.found(store, served, "default", list_options.decode(served, Query(text))).page()


def names(found: Page) -> list[str]:
    return [record.key[1] for record in found.records]


def test_a_page_can_be_continued_for_one_interval_and_not_for_two() -> None:
    """Also where nothing has changed since: the note of the time is a change, as the compactor's is."""
    store, served = opened()
    put(store, served, "a", "b", "c")
    first = page(store, served, limit=1).metadata["continue"]
    store.expire_lists()
    between = page(store, served, limit=1).metadata["continue"]
    assert names(page(store, served, **{"limit": 1, "continue": first})) == ["b"]
    store.expire_lists()
    with pytest.raises(StatusError, match="continue parameter is too old") as expired:
        page(store, served, **{"limit": 1, "continue": first})
    assert names(page(store, served, **{"limit": 1, "continue": between})) == ["b"]
    rest = page(store, served, **{"limit": 9, "continue": expired.value.metadata["continue"]})
    assert (names(rest), rest.metadata["resourceVersion"]) == (["b", "c"], str(store.version))


@pytest.mark.parametrize(
    ("query", "expires"),
    [
        ({"resourceVersionMatch": "Exact"}, True),
        ({"limit": 5}, True),
        ({}, False),
        ({"resourceVersionMatch": "NotOlderThan"}, False),
        ({"resourceVersionMatch": "NotOlderThan", "limit": 5}, False),
    ],
    ids=str,
)
def test_lists_of_exactly_an_old_version_expire(query: Object, expires: bool) -> None:
    store, served = opened()
    put(store, served, "a")
    asked = {"resourceVersion": store.version, **query}
    put(store, served, "b")
    for _ in range(2):
        page(store, served, **asked)
        store.expire_lists()
    if expires:
        with pytest.raises(StatusError, match="The resourceVersion for the provided list is too old"):
            page(store, served, **asked)
    else:
        assert names(page(store, served, **asked)) == ["a", "b"]


def test_a_watch_continues_from_a_version_whose_lists_have_expired() -> None:
    store, served = opened()
    put(store, served, "a")
    version = store.version
    for _ in range(3):
        store.expire_lists()
    put(store, served, "b")
    position = served.collection.position(version)
    assert position is not None
    assert [event.record.key[1] for event in served.collection.read(position) or ()] == ["b"]


def test_what_has_expired_stays_so_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store, served = opened(file)
    put(store, served, "a", "b", "c")
    token = page(store, served, limit=1).metadata["continue"]
    for _ in range(2):
        store.expire_lists()
    killed = tmp_path / "killed.db"
    for suffix in ("", "-wal"):
        shutil.copy(f"{file}{suffix}", f"{killed}{suffix}")
    version = store.version
    put(store, served, "d")
    store.close()
    for path, last in ((killed, version), (file, version + 1)):
        again, served = opened(path)
        assert again.version == last
        with pytest.raises(StatusError, match="continue parameter is too old"):
            page(again, served, **{"limit": 1, "continue": token})
        put(again, served, "e")
        again.close()
        assert opened(path)[0].version == last + 1


async def test_what_cannot_be_noted_is_told_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path, until: Until
) -> None:
    """No version is given out that the file does not have."""
    store, served = opened(tmp_path / "store.db")
    put(store, served, "a")
    version, full = store.version, Mock(side_effect=sqlite3.OperationalError("database or disk is full"))
    monkeypatch.setattr("drakit_embedded.apiserver.storage.journal.Journal.compact", full)
    aging = Aging(store, Turns(), 0.001)
    with caplog.at_level(logging.WARNING):
        aging.start()
        await until(lambda: full.call_count > 1, "it is tried again")
    assert store.version == version
    assert (
        "lists of old versions do not expire: the data file cannot be written (database or disk is full)" in caplog.text
    )
    monkeypatch.undo()
    await until(lambda: store.oldest_listed > version, "lists expire")
    await aging.stop()
    store.close()


async def test_a_server_lets_lists_expire(until: Until) -> None:
    config = ServerConfig(token=TOKEN, list_interval=0.02)
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        for name in ("a", "b", "c"):
            await connection.create(resources.CONFIG_MAPS, {"metadata": {"name": name}}, "default")
        first = (await connection.json("GET", MAPS, params={"limit": "1"}))["metadata"]

        async def expired() -> Object | None:
            try:
                await connection.json("GET", MAPS, params={"limit": "1", "continue": first["continue"]})
            except Expired as error:
                return error.status
            return None

        status = await until(expired, "the page has expired")
        rest = await connection.json("GET", MAPS, params={"continue": status["metadata"]["continue"]})
        assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]
        assert int(rest["metadata"]["resourceVersion"]) > int(first["resourceVersion"])
