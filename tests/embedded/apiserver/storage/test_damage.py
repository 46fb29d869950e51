"""What became of a data file while no server had it: told at the start, with the objects and the way out.

Nothing that is damaged is served, and nothing that a client was told of is lost in silence.
"""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Expired, NotFound
from drakit_embedded.apiserver import JournalError, Server, ServerConfig
from drakit_embedded.apiserver.storage.store import Collection, Store
from drakit_embedded.cli import apiserver

TOKEN = "of-the-tests"
OBJECTS = 20


def things(file: Path, **limits: int) -> tuple[Store, Collection]:
    """A store of one kind, loaded; it is released if that fails."""
    store = Store(file, **limits)
    collection = store.collection("things", lambda _: {})
    try:
        store.load()
    except BaseException:
        store.close()
        raise
    return store, collection


def put(store: Store, name: str, text: str = "") -> None:
    store.put(store.named("things"), ("ns", name), {"metadata": {"name": name}, "text": text or f"text-of-{name}"})


def filled(file: Path) -> Store:
    """Objects a0 to a19, each written twice; versions 2 to 41."""
    store, _ = things(file)
    for name in (f"a{number}" for number in range(OBJECTS)):
        put(store, name, f"former-{name}-")
        put(store, name)
    return store


def refusal(file: Path) -> str:
    """What a start says that is refused, and the next one again."""
    with pytest.raises(JournalError) as refused:
        things(file)
    text = str(refused.value)
    with pytest.raises(JournalError, match=re.escape(text)):
        things(file)
    assert text.startswith(f"data file {file} cannot be used (")
    assert f"run `drakit apiserver repair {file}`, which keeps a copy" in text
    return text


def flip(file: Path, text: bytes, bit: int = 0) -> None:
    """Flip a bit in the last occurrence of a text."""
    content = bytearray(file.read_bytes())
    content[content.rindex(text) + len(text) - 1] ^= 1 << bit
    file.write_bytes(content)


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_of_an_object_is_not_served(tmp_path: Path, bit: int) -> None:
    file = tmp_path / "store.db"
    filled(file).close()
    flip(file, b"text-of-a7", bit)
    before = file.read_bytes()
    assert "(1 of 40 changes are damaged: things ns/a7 (change 17))" in refusal(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize(("column", "value"), [("name", "'a8'"), ("deleted", "1"), ("kind", "x'ff'"), ("body", "5")])
def test_all_that_says_which_object_it_is_is_checked(tmp_path: Path, column: str, value: str) -> None:
    file = tmp_path / "store.db"
    filled(file).close()
    change(file, f"UPDATE changes SET {column} = {value} WHERE version = 17")
    assert "1 of 40 changes are damaged: " in refusal(file)


def change(file: Path, statement: str) -> None:
    """As if the file had come to be so by itself."""
    db = sqlite3.connect(file)
    with db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("versions", ["17", "41", "2", "16, 17, 18", "40, 41"])
def test_changes_that_are_gone_are_missed(tmp_path: Path, versions: str) -> None:
    file = tmp_path / "store.db"
    filled(file).close()
    change(file, f"DELETE FROM changes WHERE version IN ({versions})")
    number = len(versions.split())
    newest = f"the newest {number} changes, which clients were told of, are missing (there are {41 - number} of 41)"
    assert (newest if "41" in versions else f"({number} older changes are missing)") in refusal(file)


@pytest.mark.slow
def test_changes_from_before_a_compaction_are_missed(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    store, _ = things(file, events=10)
    for number in range(2000):
        put(store, f"a{number % 50}")
    store.close()
    again, _ = things(file, events=10)
    again.close()
    change(file, "DELETE FROM changes WHERE version = (SELECT min(version) FROM changes)")
    assert "(1 older changes are missing)" in refusal(file)


def killed(file: Path, copy: Path) -> None:
    """The files as a server leaves them that is killed now."""
    for ending in ("", "-wal", ".mark"):
        shutil.copy(f"{file}{ending}", f"{copy}{ending}")


def _cut(wal: Path) -> None:
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size // 2])


def _damage(wal: Path) -> None:
    content = bytearray(wal.read_bytes())
    content[len(content) // 2] ^= 1
    wal.write_bytes(content)


@pytest.mark.parametrize("harm", [_cut, _damage, Path.unlink], ids=["cut", "damaged", "gone"])
def test_a_write_ahead_log_that_lost_its_end_is_told(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """SQLite reads what comes before the first frame that is damaged, and says nothing."""
    file, copy = tmp_path / "store.db", tmp_path / "killed.db"
    filled(file).close()
    store, _ = things(file)
    for number in range(OBJECTS):
        put(store, f"b{number}")
    killed(file, copy)
    store.close()
    log = copy.with_name("killed.db-wal")
    harm(log)
    before = log.read_bytes() if log.exists() else b""
    assert "changes, which clients were told of, are missing (there are " in refusal(copy)
    assert "of 61)" in refusal(copy)
    assert log.read_bytes() == before, "what is behind the damage may be wanted"


def test_a_server_that_was_killed_before_it_answered_has_lost_nothing(tmp_path: Path) -> None:
    """The row is there, and the mark is one behind; or there is no mark at all."""
    file, copy = tmp_path / "store.db", tmp_path / "killed.db"
    store = filled(file)
    mark = (tmp_path / "store.db.mark").read_bytes()
    put(store, "last")
    killed(file, copy)
    copy.with_name("killed.db.mark").write_bytes(mark)
    store.close()
    again, collection = things(copy)
    assert collection.get("ns", "last") is not None
    again.close()
    copy.with_name("killed.db.mark").unlink()
    things(copy)[0].close()


@pytest.mark.parametrize("left", [0, 1, 99])
def test_a_file_that_was_emptied_is_not_taken_for_a_new_one(tmp_path: Path, left: int) -> None:
    """As after a crash of the machine; SQLite takes what has no whole header for a database without tables."""
    file = tmp_path / "store.db"
    filled(file).close()
    file.write_bytes(file.read_bytes()[:left])
    empty = r"it is empty, and .*store\.db\.mark says that it was not"
    for _ in range(2):
        with pytest.raises(JournalError, match=rf"cannot be used \(({empty}|database disk image is malformed)\)"):
            things(file)
    assert file.stat().st_size == left


@pytest.mark.slow
def test_a_log_that_ends_early_is_not_taken_for_that_of_a_new_file(tmp_path: Path) -> None:
    """Wherever it ends: what a new file begins with is written in several steps, all of them in the log."""
    file, killed_file, copy = (tmp_path / f"{name}.db" for name in ("store", "killed", "cut"))
    store = filled(file)
    killed(file, killed_file)
    store.close()
    log = killed_file.with_name("killed.db-wal").read_bytes()
    for end in range(0, len(log), len(log) // 100):
        for ending in ("", ".mark"):
            shutil.copy(f"{killed_file}{ending}", f"{copy}{ending}")
        copy.with_name("cut.db-wal").write_bytes(log[:end])
        with pytest.raises(JournalError, match=r"cut\.db cannot be used \("):
            things(copy)


def test_a_mark_of_other_data_says_nothing(tmp_path: Path) -> None:
    """A data file was moved away to start empty, and its mark was not."""
    file = tmp_path / "store.db"
    filled(file).close()
    file.unlink()
    store, _ = things(file)
    put(store, "a")
    store.close()
    again, _ = things(file)
    assert again.version == 2
    again.close()


def test_an_older_copy_of_the_data_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    filled(file).close()
    shutil.copy(file, tmp_path / "copy")
    store, _ = things(file)
    put(store, "later")
    store.close()
    shutil.copy(tmp_path / "copy", file)
    assert "the newest 1 changes, which clients were told of, are missing (there are 41 of 42)" in refusal(file)


@pytest.mark.parametrize("content", [b"x", b"x" * 20, b"x" * 4000])
def test_a_mark_that_is_damaged_is_told_and_made_anew(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "store.db"
    filled(file).close()
    (tmp_path / "store.db.mark").write_bytes(content)
    store, _ = things(file)
    put(store, "later")
    store.close()
    assert [message for message in caplog.messages if "store.db.mark is damaged: whether" in message]
    caplog.clear()
    things(file)[0].close()
    assert caplog.messages == []


def test_a_link_in_the_place_of_the_mark_is_not_followed(tmp_path: Path) -> None:
    file, elsewhere = tmp_path / "store.db", tmp_path / "elsewhere"
    elsewhere.write_text("somebody's")
    filled(file).close()
    (tmp_path / "store.db.mark").unlink()
    (tmp_path / "store.db.mark").symlink_to(elsewhere)
    with pytest.raises(JournalError, match=r"store\.db\.mark is a symbolic link"):
        things(file)
    assert elsewhere.read_text() == "somebody's"


def of_former_format(file: Path) -> None:
    """As the releases before wrote it: without checksums and mark."""
    for statement in (
        "ALTER TABLE changes DROP COLUMN checksum",
        "DELETE FROM meta WHERE key IN ('identity', 'counted', 'rows')",
        "UPDATE meta SET value = 1 WHERE key = 'format'",
    ):
        change(file, statement)
    file.with_name(f"{file.name}.mark").unlink()


def test_a_file_without_checksums_gets_them(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    filled(file).close()
    of_former_format(file)
    store, collection = things(file)
    assert (len(collection.records), store.version) == (OBJECTS, 41)
    put(store, "later")
    store.close()
    flip(file, b"text-of-a7")
    assert "(1 of 41 changes are damaged: things ns/a7 (change 17))" in refusal(file)


def repaired(file: Path) -> str:
    result = CliRunner().invoke(apiserver, ["repair", str(file)])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_repair_takes_out_what_is_damaged_and_says_so(tmp_path: Path) -> None:
    """Also the former states of the object: it must not come back as it was."""
    file = tmp_path / "store.db"
    filled(file).close()
    flip(file, b"text-of-a7")
    change(file, "UPDATE changes SET body = 'x' WHERE version = 2")
    damaged = file.read_bytes()
    told = repaired(file)
    assert "2 of 40 changes are damaged: things ns/a0 (change 2), things ns/a7 (change 17)" in told
    assert f"a copy of it as it was is {file}.damaged" in told
    assert "things ns/a7 (change 17) was taken out" in told
    assert "a0 (change 2) was taken out" not in told
    copy = tmp_path / "store.db.damaged"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert b"text-of-a" in copy.read_bytes()
    assert file.read_bytes() != damaged
    store, collection = things(file)
    assert {key[1] for key in collection.records} == {f"a{number}" for number in range(OBJECTS)} - {"a7"}
    assert (store.version, collection.position(41)) == (42, None)
    store.close()
    assert "nothing is damaged" in repaired(file)


def test_after_a_repair_no_version_is_given_out_again(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    filled(file).close()
    change(file, "DELETE FROM changes WHERE version > 30")
    repaired(file)
    store, collection = things(file)
    assert len(collection.records) == 15
    put(store, "later")
    assert store.version == 43
    store.close()
    things(file)[0].close()


@pytest.mark.parametrize("content", [None, b"not a database, and longer than the header of one " * 10])
def test_what_cannot_be_repaired_is_told(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "store.db"
    if content is not None:
        file.write_bytes(content)
    result = CliRunner().invoke(apiserver, ["repair", str(file)])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: data file {file} ")
    assert not file.exists() if content is None else file.read_bytes() == content


async def test_a_server_is_told_to_list_again_after_a_repair(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    config = ServerConfig(token=TOKEN, data_file=file)
    async with Server(config) as server, Connection(server.url, token=TOKEN) as client:
        for name in ("good", "bad"):
            body = {"metadata": {"name": name}, "data": {"k": f"text-of-{name}"}}
            version = (await client.create(resources.CONFIG_MAPS, body, "default"))["metadata"]["resourceVersion"]
    flip(file, b"text-of-bad")
    with pytest.raises(JournalError, match=r"1 of \d+ changes are damaged: configmaps default/bad \(change \d+\)"):
        await Server(config).start()
    repaired(file)
    async with Server(config) as server, Connection(server.url, token=TOKEN) as client:
        assert (await client.get(resources.CONFIG_MAPS, "good", "default"))["data"] == {"k": "text-of-good"}
        with pytest.raises(NotFound):
            await client.get(resources.CONFIG_MAPS, "bad", "default")
        with pytest.raises(Expired):
            await anext(aiter(client.watch(resources.CONFIG_MAPS, resource_version=version)))


@pytest.mark.slow
async def test_larger_objects_of_former_releases_are_served_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They can be made smaller, or deleted, and nothing else."""
    file = tmp_path / "store.db"
    config = ServerConfig(token=TOKEN, data_file=file)
    large: dict[str, Any] = {"metadata": {"name": "large", "namespace": "default", "uid": "u"}, "immutable": False}
    large["metadata"]["labels"] = {f"l{number}": "x" * 63 for number in range(40_000)}
    async with Server(config):
        pass
    store = Store(file)
    store.collection("configmaps", lambda _: {})
    store.load()
    store.put(store.named("configmaps"), ("default", "large"), large)
    store.close()
    caplog.set_level(logging.WARNING)
    async with Server(config) as server, Connection(server.url, token=TOKEN) as client:
        assert [message for message in caplog.messages if "configmaps default/large is larger than etcd" in message]
        found = await client.get(resources.CONFIG_MAPS, "large", "default")
        assert len(found["metadata"]["labels"]) == 40_000
        with pytest.raises(ApiError, match="trying to send message larger than max"):
            await client.patch(resources.CONFIG_MAPS, "large", {"data": {"a": "b"}}, "default")
        smaller = await client.patch(resources.CONFIG_MAPS, "large", {"metadata": {"labels": None}}, "default")
        assert "labels" not in smaller["metadata"]
        await client.delete(resources.CONFIG_MAPS, "large", "default")
