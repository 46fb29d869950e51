"""The file of a cluster that was killed, with a bit flipped or a piece missing: told at the start, or no harm.

Nobody gets an object that no client has written, and no acknowledged write is lost without a word.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_client.resources import CONFIG_MAPS
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.api import Api
from drakit_kind.testing.session_clusters import StartedCluster

_OBJECTS = 60
_FILES = ("store.sqlite", "store.sqlite-wal")
# A server on a data file: what it serves of the config maps, or why it does not start.
_SERVE = """
import asyncio, sys
from pathlib import Path
from drakit_client.connection import Connection
from drakit_client.resources import CONFIG_MAPS
from drakit_embedded.apiserver import JournalError, Server, ServerConfig
async def main(file):
    config = ServerConfig(data_file=file)
    async with Server(config) as server, Connection(server.url, token=server.token) as client:
        for item in (await client.list(CONFIG_MAPS, "default"))["items"]:
            print(item["metadata"]["name"], (item.get("data") or {}).get("k"))
for line in sys.stdin:
    try:
        asyncio.run(main(Path(line.strip())))
    except JournalError as error:
        print("refused", error)
    print("end", flush=True)
"""


@pytest.fixture
def written(start_cluster: Callable[[ClusterSpec], StartedCluster], tmp_path: Path) -> dict[str, str]:
    """Config maps that were acknowledged, by name, of a cluster that was killed then; its files are in ``tmp_path``."""
    cluster = start_cluster(ClusterSpec(name="damaged", scheduler=False))
    written = {f"m{number}": f"value-{number}" for number in range(_OBJECTS)}
    with Api(cluster.kubeconfig) as api:
        for name, value in written.items():
            api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "first"}})
            api.patch(CONFIG_MAPS, name, {"data": {"k": value}})
    pid = cluster.home.running_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    for name in (*_FILES, "store.sqlite.mark"):
        shutil.copy(cluster.home.directory / name, tmp_path / name)
    return written


@pytest.fixture
def served() -> Iterator[Callable[[Path], list[str]]]:
    """What a server says of a data file."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, answers = process.stdin, process.stdout

        def ask(file: Path) -> list[str]:
            to.write(f"{file}\n")
            to.flush()
            return list(iter(lambda: answers.readline().strip(), "end"))

        yield ask
        to.close()


def test_what_is_whole_is_served(written: dict[str, str], tmp_path: Path, served: Callable[[Path], list[str]]) -> None:
    assert _acknowledged(written) <= set(served(tmp_path / "store.sqlite"))


@pytest.mark.parametrize("file", _FILES)
def test_a_stored_value_that_is_another_one_is_told(
    written: dict[str, str], tmp_path: Path, served: Callable[[Path], list[str]], file: str
) -> None:
    """In the write-ahead log, of which SQLite has checksums, and in the file itself, of which it has none."""
    if file == "store.sqlite":
        with contextlib.closing(sqlite3.connect(tmp_path / file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    last = list(written.values())[-1].encode()
    content = (tmp_path / file).read_bytes()
    assert last in content
    (tmp_path / file).write_bytes(content.replace(last, last[:-1] + b"x"))
    (answer,) = served(tmp_path / "store.sqlite")
    assert answer.startswith(f"refused data file {tmp_path / 'store.sqlite'} ")


def test_damage_is_told_or_does_no_harm(
    written: dict[str, str],
    tmp_path: Path,
    served: Callable[[Path], list[str]],
    attack_random: random.Random,
    rounds: Callable[[], Iterator[int]],
) -> None:
    """Bits, pieces and whole ends of the file and of its write-ahead log."""
    told = 0
    for number in rounds():
        copy = tmp_path / f"round-{number}"
        copy.mkdir()
        for name in (*_FILES, "store.sqlite.mark"):
            shutil.copy(tmp_path / name, copy / name)
        # The first damage is one that must be noticed.
        what = _harm(copy / (attack_random.choice(_FILES) if number else _FILES[1]), attack_random, stored=not number)
        answer = served(copy / "store.sqlite")
        if answer[:1] and answer[0].startswith("refused"):
            told += 1
            assert f"data file {copy / 'store.sqlite'} " in answer[0]
        else:
            assert set(answer) == _acknowledged(written) | {line for line in answer if "kube-root-ca" in line}, what
        shutil.rmtree(copy)
    assert told, "some of it must be noticed"


def _acknowledged(written: dict[str, str]) -> set[str]:
    return {f"{name} {value}" for name, value in written.items()}


def _harm(file: Path, chosen: random.Random, *, stored: bool) -> str:
    """Damage a file in one of several ways (``stored``: the newest value in it); returns what was done."""
    content = bytearray(file.read_bytes())
    at, way = chosen.randrange(len(content)), chosen.choice(("bit", "zeros", "cut", "value"))
    if stored or way == "value":
        found = content.rfind(b"value-")
        at, way = (found + chosen.randrange(7), "bit") if found >= 0 else (at, "bit")
    if way == "bit":
        content[at] ^= 1 << chosen.randrange(8)
    elif way == "zeros":
        content[at : at + 512] = bytes(len(content[at : at + 512]))
    else:
        del content[at:]
    file.write_bytes(content)
    return f"{way} at {at} of {file.name}"
