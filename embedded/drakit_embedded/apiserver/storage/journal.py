"""The file behind the store: every change is one row, as in etcd, and the newest row of a key is the object.

One insert per write keeps the state, the history that watches resume from, and the resourceVersion counter together, so
that a restart cannot find them disagreeing. A row is committed to SQLite's write-ahead log before the client hears of
it: the operating system has it then, and a killed process loses nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS changes (
  version INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  deleted INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_INSERT = "INSERT INTO changes (version, kind, namespace, name, deleted, body) VALUES (?, ?, ?, ?, ?, ?)"
# Of new files: a slice of 40 KB is written in two thirds of the time that pages of 4 KiB take; larger ones would make
# the write of a small object, which is one page, longer.
_PAGE_BYTES = 8 * 1024
# A checkpoint syncs the disk, which must not happen every few slices.
_CHECKPOINT_BYTES = 64 * 1024 * 1024


class JournalError(Exception):
    """The data file cannot be used; the message says why and what to do."""


class Change(NamedTuple):
    """One row: the object after the change, or its last state if the change deleted it (1)."""

    version: int
    kind: str
    namespace: str
    name: str
    deleted: int
    body: bytes


class Journal:
    """An append-only log of changes in one SQLite file, held exclusively while open."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Created by us, so that nobody else may read the secrets in it; SQLite gives its side files the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            path.chmod(0o600)
        except OSError as error:
            raise JournalError(
                f"data file {path}: {error.strerror or error}; give a path that can be written"
            ) from None
        self._path = path
        with self.reading():
            self._db = self._open(path)

    @staticmethod
    def _open(path: Path) -> sqlite3.Connection:
        db = sqlite3.connect(path, isolation_level=None, timeout=0.2)
        try:
            db.execute(f"PRAGMA page_size={_PAGE_BYTES}")
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            page_bytes = db.execute("PRAGMA page_size").fetchone()[0]
            db.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_BYTES // page_bytes}")
            db.executescript(_SCHEMA)
            db.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (_FORMAT,))
            found = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()[0]
            if found != _FORMAT:
                raise JournalError(
                    f"data file {path} has format {found}, this version reads {_FORMAT}: use another file"
                )
        except BaseException:
            db.close()
            raise
        return db

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise ``JournalError`` for the damage that is found meanwhile: much is only seen when rows are looked at."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError, msgspec.DecodeError) as error:
            raise JournalError(_explain(self._path, error)) from None

    def compacted(self) -> int:
        """Changes up to this version are gone, except the newest of each key and what later changes replaced."""
        return self._meta("compacted")

    def last_version(self) -> int:
        """The highest version ever given out, also if its row has been compacted."""
        highest = self._db.execute("SELECT max(version) FROM changes").fetchone()[0] or 0
        return max(int(highest), self._meta("version"))

    def changes(self) -> Iterator[Change]:
        """All rows, oldest first."""
        for row in self._db.execute(
            "SELECT version, kind, namespace, name, deleted, body FROM changes ORDER BY version"
        ):
            # A damaged row can have values of any type.
            yield msgspec.convert(row, Change, builtin_types=(bytes,))

    def append(self, change: Change) -> None:
        """Write one change; it survives the death of this process when this returns."""
        self._db.execute(_INSERT, change)

    def compact(self, versions: Iterable[int], compacted: int, version: int) -> None:
        """Drop superseded rows; ``compacted`` is the newest version that left the history."""
        self._db.execute("BEGIN")
        try:
            self._db.executemany("DELETE FROM changes WHERE version = ?", [(number,) for number in versions])
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('compacted', ?)", (compacted,))
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (version,))
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Fold the write-ahead log into the file and release it."""
        self._db.close()

    def _meta(self, key: str) -> int:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0


def _explain(path: Path, error: Exception) -> str:
    if "locked" in str(error):
        return f"data file {path} is in use by another server: stop that one, or give another file"
    return f"data file {path} cannot be used ({error}): move it away to start empty"
