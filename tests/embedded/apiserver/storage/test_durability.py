"""The data file: what was acknowledged is there again, after a stop, a kill -9, and alongside its history."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import ssl
import stat
import sys
from collections.abc import Callable
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import Conflict, Expired
from drakit_embedded.apiserver import JournalError, Server, ServerConfig, ServerError
from drakit_embedded.apiserver.storage import store as store_module
from drakit_embedded.apiserver.storage.store import Collection, Store

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


@pytest.mark.slow
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
        # Elsewhere, it would tell of its new address (the endpoints of its service).
        config = replace(config, port=int(server.url.rpartition(":")[2]))
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


@pytest.mark.slow
def test_superseded_rows_leave_the_file(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    fill(file, 3000).close()
    assert rows(file) <= 10 + 3
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


KEPT = 20
OLD, MODIFIED, FILLER = ("", "old"), ("", "modified"), ("", "filler")


def things(file: Path, **limits: int) -> tuple[Store, Collection]:
    """A store of one kind, loaded."""
    store = Store(file, **limits)
    collection = store.collection("things", lambda _: {})
    store.load()
    return store, collection


def put(store: Store, key: tuple[str, str]) -> None:
    store.put(store.named("things"), key, {"metadata": {"name": key[1]}})


def delete(store: Store, key: tuple[str, str]) -> None:
    store.delete(store.named("things"), key, {"metadata": {"name": key[1]}})


def told(collection: Collection, since: int) -> list[Any]:
    """What watches from a version are told, and what lists of each version since then show."""
    events = collection.events_after(since)
    seen: list[Any] = [
        (event.version, event.type, event.record.key, event.record.body, event.previous and event.previous.body)
        for event in events
    ]
    for version in (since, *(event.version for event in events)):
        there = collection.select_at(version, None, None)
        assert there is not None
        seen.append((version, [(record.key, record.body) for record in there]))
    return seen


def rows(file: Path) -> int:
    with sqlite3.connect(file) as db:
        count = int(db.execute("SELECT count(*) FROM changes").fetchone()[0])
    db.close()
    return count


def _recreate(store: Store, key: tuple[str, str]) -> None:
    delete(store, key)
    put(store, key)


@pytest.mark.parametrize(
    "story",
    [[(delete, OLD)], [(put, MODIFIED)], [(delete, OLD), (put, MODIFIED)], [(_recreate, OLD)], [(_recreate, OLD)] * 3],
    ids=["deleted", "modified", "both", "recreated", "recreated again and again"],
)
def test_a_restart_keeps_what_the_history_replaced(
    tmp_path: Path, story: list[tuple[Callable[[Store, tuple[str, str]], None], tuple[str, str]]]
) -> None:
    """Objects older than the history, which it changes: a selector's watch is told what they were."""
    file = tmp_path / "store.db"
    store, collection = things(file, events=KEPT)
    for key in (OLD, MODIFIED, *[FILLER] * 2 * KEPT):
        put(store, key)
    for change, key in story:
        change(store, key)
    since, before = collection.forgotten, told(collection, collection.forgotten)
    store.close()
    again, collection = things(file, events=KEPT)
    assert told(collection, since) == before
    assert collection.position(since - 1) is None
    for _ in range(2 * KEPT):
        put(again, FILLER)
    again.close()
    assert rows(file) <= KEPT + 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_neither_a_stop_nor_a_kill_changes_what_is_told(tmp_path: Path, seed: int) -> None:
    """However many rows have left the file by then."""
    chosen = random.Random(seed)
    file = tmp_path / "store.db"
    store, collection = things(file, events=KEPT)
    for turn in range(2000):
        key = ("", f"{chosen.randrange(50)}")
        if key in collection.records and chosen.random() < 0.5:
            delete(store, key)
        else:
            put(store, key)
        if turn % 97 == 0:
            since, version = collection.forgotten, store.version
            before = told(collection, since)
            killed = tmp_path / f"killed{turn}"
            for suffix in ("", "-wal"):
                shutil.copy(f"{file}{suffix}", f"{killed}{suffix}")
            store.close()
            for path in (killed, file):
                store, collection = things(path, events=KEPT)
                assert (told(collection, since), store.version) == (before, version)
                if path == killed:
                    store.close()
    store.close()
    assert rows(file) <= 2 * KEPT + len(collection.records)


def test_a_file_of_the_version_before_loads_without_what_it_lacks(tmp_path: Path) -> None:
    """It dropped what the history replaced: of a deletion without that, no watch can be told."""
    file = tmp_path / "store.db"
    store, _ = things(file, events=KEPT)
    for key in (OLD, *[FILLER] * 2 * KEPT):
        put(store, key)
    created = store.version - 2 * KEPT
    delete(store, OLD)
    put(store, FILLER)
    store.close()
    with sqlite3.connect(file) as db:
        db.execute("DELETE FROM changes WHERE version = ?", (created,))
        db.execute("ALTER TABLE changes DROP COLUMN checksum")
        db.execute("UPDATE meta SET value = 1 WHERE key = 'format'")
    db.close()
    before = rows(file)
    again, collection = things(file, events=KEPT)
    assert list(collection.records) == [FILLER]
    assert collection.position(again.version - 2) is None
    assert collection.position(again.version - 1) is not None
    again.close()
    assert rows(file) == before - 1


def test_a_start_that_drops_rows_keeps_the_version(tmp_path: Path) -> None:
    """With a shorter history than before, and all objects deleted, nothing is left but the number."""
    file = tmp_path / "store.db"
    store, _ = things(file)
    for _ in range(511):
        put(store, OLD)
    delete(store, OLD)
    highest = store.version
    store.close()
    shorter, _ = things(file, size=1)
    shorter.close()
    assert rows(file) == 0
    again, _ = things(file)
    assert again.version == highest
    again.close()


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


@pytest.mark.slow
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
        assert "store.db.pem" in modes


async def test_a_certificate_outlives_a_restart(tmp_path: Path) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.db", tls=True)
    async with Server(config) as server:
        first = server.ca_certificate
        assert server.url.startswith("https://127.0.0.1:")
    async with Server(config) as server:
        assert server.ca_certificate == first


async def sign(server: Server) -> None:
    """Have a token made, and with it the key of a server's tokens."""
    tls = ssl.create_default_context(cadata=(server.ca_certificate or b"").decode())
    async with Connection(server.url, token=TOKEN, tls=tls) as client:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await client.json("POST", accounts, {"metadata": {"name": "a"}})
        await client.json("POST", f"{accounts}/a/token", {})


@pytest.mark.slow
async def test_servers_of_similar_files_have_keys_of_their_own(tmp_path: Path) -> None:
    certificates = set()
    for name in ("cluster-1.36", "cluster-1.37", "cluster-1"):
        async with Server(ServerConfig(token=TOKEN, data_file=tmp_path / name, tls=True)) as server:
            certificates.add(server.ca_certificate)
            await sign(server)
        assert {f"{name}.pem", f"{name}.accounts.pem"} <= {path.name for path in tmp_path.iterdir()}
    assert len(certificates) == 3


@pytest.mark.slow
async def test_keys_of_former_releases_are_kept_with_their_data(tmp_path: Path) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.db", tls=True)
    async with Server(config) as server:
        first = server.ca_certificate
    (tmp_path / "store.db.pem").rename(tmp_path / "store.pem")
    async with Server(config) as server:
        assert server.ca_certificate == first
    (tmp_path / "store.db").unlink()
    async with Server(config) as server:
        assert server.ca_certificate != first


@pytest.mark.parametrize("kept", ["store.db.pem", "store.db.accounts.pem"])
async def test_keys_are_written_to_no_other_file(tmp_path: Path, kept: str) -> None:
    """Whoever may write to the directory waits for the key, with a link or an open file where it is written first."""
    elsewhere = tmp_path / "elsewhere"
    for name in (f"{kept}.new", f".{kept}.drakit-new"):
        (tmp_path / name).symlink_to(elsewhere)
    async with Server(ServerConfig(token=TOKEN, data_file=tmp_path / "store.db", tls=True)) as server:
        await sign(server)
    assert not elsewhere.exists()
    assert stat.S_IMODE((tmp_path / kept).lstat().st_mode) == 0o600


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


def a_foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE cookies (value TEXT)")


def a_data_file_of_the_future(path: Path) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = 99 WHERE key = 'format'")
        db.commit()
    path.with_name(f"{path.name}.mark").unlink()


@pytest.mark.parametrize(
    ("put", "refusal"),
    [
        (lambda path: path.write_text("my diary"), "cannot be used"),
        (a_foreign_database, "is a database of another program"),
        (a_data_file_of_the_future, "has format 99, this version reads 2"),
    ],
    ids=["text", "another program's", "newer"],
)
def test_what_is_no_data_file_keeps_its_mode_and_content(
    tmp_path: Path, put: Callable[[Path], object], refusal: str
) -> None:
    put(file := tmp_path / "store.db")
    file.chmod(0o644)
    content = file.read_bytes()
    with pytest.raises(JournalError, match=refusal):
        Store(file)
    assert file.read_bytes() == content
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def test_a_link_is_no_data_file(tmp_path: Path) -> None:
    target = tmp_path / "target"
    Store(target).close()
    target.chmod(0o644)
    (tmp_path / "store.db").symlink_to(target)
    with pytest.raises(JournalError, match=r"store\.db is a symbolic link, not a regular file"):
        Store(tmp_path / "store.db")
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


@pytest.mark.parametrize("ending", ["", "-wal", "-journal"])
def test_a_pipe_in_the_place_of_the_data_is_not_waited_for(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "store.db"
    Store(file).close()
    (trap := file.with_name(file.name + ending)).unlink(missing_ok=True)
    os.mkfifo(trap)
    with pytest.raises(JournalError, match="is a FIFO, not a regular file"):
        Store(file)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"\xff" * 64, b"\x0d" * 4096], ids=["cut off", "a page's head", "a page"])
async def test_a_damaged_file_is_explained_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    """Found only in the middle of the rows, when there are others that could leave the file."""
    file = tmp_path / "store.db"
    store, collection = things(file)
    for index in range(2000):
        store.put(collection, ("", f"{index % 400}"), {"metadata": {"name": "x" * 100}})
    store.close()
    content = file.read_bytes()
    middle = len(content) // 2 // 8192 * 8192
    content = content[:middle] + damage + content[middle + len(damage) :] if damage else content[:middle]
    file.write_bytes(content)
    monkeypatch.setattr(store_module, "HISTORY_EVENTS", KEPT)
    for _ in range(2):
        with pytest.raises(JournalError, match=r"store\.db cannot be used \(.+\): move it away to start empty"):
            await Server(ServerConfig(data_file=file)).start()
        assert file.read_bytes() == content


@pytest.mark.parametrize("value", ["1", "'text'", "x'7b7d0aff'"], ids=["number", "text", "no JSON"])
def test_a_row_of_other_values_is_damage(tmp_path: Path, value: str) -> None:
    file = tmp_path / "store.db"
    fill(file, 3).close()
    with sqlite3.connect(file) as db:
        db.execute(f"UPDATE changes SET body = {value} WHERE version = 3")
    db.close()
    store = Store(file)
    with pytest.raises(JournalError, match="cannot be used"):
        store.load()
    store.close()


async def test_a_port_in_use_is_named() -> None:
    async with Server(ServerConfig(token=TOKEN)) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{port}"):
            await Server(ServerConfig(port=port)).start()
