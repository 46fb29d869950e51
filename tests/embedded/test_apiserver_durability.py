"""The data file: what was acknowledged is there again, after a stop, a kill -9, and alongside its history."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import Conflict, Expired
from drakit_embedded.apiserver import JournalError, Server, ServerConfig, ServerError
from drakit_embedded.apiserver.storage.store import Store

Object = dict[str, Any]
TOKEN = "t"
BOUND = 20.0
SERVER = """
import asyncio, sys
from pathlib import Path
from drakit_embedded.apiserver import Server, ServerConfig

async def main():
    server = Server(ServerConfig(token="t", data_file=Path(sys.argv[1])))
    print(await server.start(), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


async def everything(connection: Connection) -> list[Object]:
    return [
        item
        for resource in (resources.NAMESPACES, resources.CONFIG_MAPS)
        for item in (await connection.list(resource))["items"]
    ]


async def test_a_killed_server_loses_nothing_that_it_acknowledged(tmp_path: Path, until: Callable[..., Any]) -> None:
    file = tmp_path / "state" / "store.db"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, str(file), stdout=asyncio.subprocess.PIPE
    )
    acknowledged: dict[str, str] = {}

    async def write(connection: Connection, client: int) -> None:
        for index in range(10_000):
            name = f"{client}-{index}"
            made = await connection.create(resources.CONFIG_MAPS, config_map(name), "default")
            acknowledged[name] = made["metadata"]["resourceVersion"]

    try:
        async with asyncio.timeout(BOUND):
            assert process.stdout is not None
            url = (await process.stdout.readline()).decode().strip()
            async with Connection(url, token=TOKEN) as connection:
                writers = [asyncio.create_task(write(connection, client)) for client in range(4)]
                await until(lambda: len(acknowledged) > 100, "a hundred writes are acknowledged")
                os.kill(process.pid, signal.SIGKILL)
                await asyncio.gather(*writers, return_exceptions=True)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    async with (
        Server(ServerConfig(token=TOKEN, data_file=file)) as server,
        Connection(server.url, token=TOKEN) as again,
    ):
        found = {
            item["metadata"]["name"]: item["metadata"]["resourceVersion"]
            for item in (await again.list(resources.CONFIG_MAPS))["items"]
        }
        assert acknowledged.items() <= found.items()
        made = await again.create(resources.CONFIG_MAPS, config_map("after"), "default")
        assert int(made["metadata"]["resourceVersion"]) > max(map(int, found.values()))


async def test_a_restart_keeps_objects_versions_and_history(tmp_path: Path) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.db")
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        start = (await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"]
        await connection.create(resources.CONFIG_MAPS, config_map("a", x="1"), "default")
        await connection.patch(resources.CONFIG_MAPS, "a", {"data": {"x": "2"}}, "default")
        await connection.create(resources.CONFIG_MAPS, config_map("b"), "default")
        await connection.delete(resources.CONFIG_MAPS, "b", "default")
        before = await everything(connection)
        version = (await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"]
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        assert await everything(connection) == before
        assert (await connection.list(resources.CONFIG_MAPS))["metadata"]["resourceVersion"] == version
        await connection.create(resources.CONFIG_MAPS, config_map("last"), "default")
        seen: list[tuple[str, str]] = []
        watch = connection.watch(resources.CONFIG_MAPS, resource_version=start)
        async with asyncio.timeout(BOUND), aclosing(watch):
            while ("ADDED", "last") not in seen:
                event = await anext(watch)
                seen.append((event["type"], event["object"]["metadata"]["name"]))
        assert seen[:-1] == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "b")]


async def test_selectors_and_preconditions_hold_of_what_a_restart_found(tmp_path: Path) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.db")
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        labelled = {"metadata": {"name": "a", "labels": {"color": "red"}}}
        uid = (await connection.create(resources.CONFIG_MAPS, labelled, "default"))["metadata"]["uid"]
        await connection.create(resources.CONFIG_MAPS, config_map("b"), "default")
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        for selector in ({"label_selector": "color=red"}, {"field_selector": "metadata.name=a"}):
            found = await connection.list(resources.CONFIG_MAPS, "default", **selector)
            assert [item["metadata"]["name"] for item in found["items"]] == ["a"]
        with pytest.raises(Conflict):
            await connection.delete(resources.CONFIG_MAPS, "a", "default", uid="another")
        await connection.delete(resources.CONFIG_MAPS, "a", "default", uid=uid)


def fill(file: Path, changes: int) -> Store:
    """A store with a history of ten events, after many changes of three objects."""
    store = Store(file, events=10)
    collection = store.collection("things", lambda _: {})
    store.load()
    for index in range(changes):
        name = f"n{index % 3}"
        store.put(collection, ("", name), {"metadata": {"name": name, "uid": name}, "n": index})
    return store


def test_superseded_rows_leave_the_file(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    fill(file, 3000).close()
    with sqlite3.connect(file) as db:
        rows = db.execute("SELECT count(*) FROM changes").fetchone()[0]
    db.close()
    assert rows <= 10 + 3
    store = Store(file, events=10)
    collection = store.collection("things", lambda _: {})
    store.load()
    assert store.version == 3001
    assert {record.key[1]: record.object()["n"] for record in collection.select(None)} == {
        "n0": 2997,
        "n1": 2998,
        "n2": 2999,
    }
    assert collection.position(2000) is None
    assert collection.position(store.version - 5) is not None
    store.close()


def test_a_version_is_never_given_out_twice(tmp_path: Path) -> None:
    """Not even when the newest change was a deletion whose row has gone."""
    file = tmp_path / "store.db"
    store = fill(file, 1)
    collection = store.named("things")
    store.delete(collection, ("", "n0"), {"metadata": {"name": "n0"}})
    highest = store.version
    store.close()
    again = Store(file)
    again.collection("things", lambda _: {})
    again.load()
    assert again.version == highest
    again.close()


async def test_a_watch_from_before_the_kept_history_is_expired_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store = fill(file, 2000)
    store.close()
    async with (
        Server(ServerConfig(token=TOKEN, data_file=file)) as server,
        Connection(server.url, token=TOKEN) as client,
    ):
        with pytest.raises(Expired):
            await anext(aiter(client.watch(resources.CONFIG_MAPS, resource_version="5")))


async def test_the_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "state" / "store.db"
    async with Server(ServerConfig(token=TOKEN, data_file=file, tls=True)):
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
        assert set(modes.values()) == {0o600}
        assert "store.pem" in modes


async def test_a_certificate_outlives_a_restart(tmp_path: Path) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.db", tls=True)
    async with Server(config) as server:
        first = server.ca_certificate
        assert server.url.startswith("https://127.0.0.1:")
    async with Server(config) as server:
        assert server.ca_certificate == first


async def test_a_file_in_use_is_not_taken(tmp_path: Path) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.db")
    async with Server(config):
        with pytest.raises(JournalError, match=r"store\.db is in use by another server"):
            await Server(config).start()


async def test_a_file_of_something_else_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.write_text("not a database, and longer than the header of one " * 10)
    content = file.read_bytes()
    with pytest.raises(JournalError, match="cannot be used"):
        await Server(ServerConfig(data_file=file)).start()
    assert file.read_bytes() == content


async def test_a_port_in_use_is_named() -> None:
    async with Server(ServerConfig(token=TOKEN)) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{port}"):
            await Server(ServerConfig(port=port)).start()
