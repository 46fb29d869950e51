"""The file behind the store: every change is one row, as in etcd, and the newest row of a key is the object.

One insert per write keeps the state, the history that watches resume from, and the resourceVersion counter together, so
that a restart cannot find them disagreeing. A row is committed to SQLite's write-ahead log before the client hears of
it: the operating system has it then, and a killed process loses nothing. Each row has a checksum, and which rows there
must be is known (``damage``): what was damaged meanwhile is told, and neither served nor overlooked.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from drakit_client.files import regular_files
from drakit_embedded.apiserver.storage import mark
from drakit_embedded.apiserver.storage.damage import Damage, Row, checksum
from drakit_embedded.apiserver.storage.mark import Mark

_FORMAT = 2
# The layout without checksums; they are added when such a file is opened.
_FORMER = 1
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS changes (
  version INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  deleted INTEGER NOT NULL,
  body BLOB NOT NULL,
  checksum INTEGER
)""",
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
)
_INSERT = "INSERT INTO changes (version, kind, namespace, name, deleted, body, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)"
_SELECT = "SELECT version, kind, namespace, name, deleted, body, checksum FROM changes ORDER BY version"
_ADD_CHECKSUMS = "UPDATE changes SET checksum = checksum_of(version, kind, namespace, name, deleted, body)"
# Of new files: a slice of 40 KB is written in two thirds of the time that pages of 4 KiB take; larger ones would make
# the write of a small object, which is one page, longer.
_PAGE_BYTES = 8 * 1024
# A checkpoint syncs the disk, so it must not happen every few slices.
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
            found = _found_or_made(path)
        except OSError as error:
            raise JournalError(
                f"data file {path}: {error.strerror or error}; give a path that can be written"
            ) from None
        self.path = path
        try:
            with self.reading():
                self._db = self._open(path, found)
        finally:
            os.close(found)
        try:
            self._mark = Mark(path, self._meta("identity"))
        except OSError as error:
            self._db.close()
            raise JournalError(f"data file {path}: {error}; move that away") from None
        self.damage = Damage()
        self._rows = 0
        self._keeps_log = False

    @staticmethod
    def _open(path: Path, found: int) -> sqlite3.Connection:
        db = sqlite3.connect(path, isolation_level=None, timeout=0.2)
        # Decode leniently, so that a damaged name can be shown and the other rows be read.
        db.text_factory = lambda text: text.decode(errors="surrogateescape")
        try:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            if not _has_content(db, path) and mark.is_written(path):
                why = f"it is empty, and {mark.path_of(path)} says that it was not"
                way_out = "put a whole copy in its place, or move both away to start empty"
                raise JournalError(f"data file {path} cannot be used ({why}): {way_out}")
            _make_private(path, found)
            db.execute(f"PRAGMA page_size={_PAGE_BYTES}")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            page_bytes = db.execute("PRAGMA page_size").fetchone()[0]
            db.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_BYTES // page_bytes}")
            _begin(db)
            _add_checksums(db)
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
            raise JournalError(_explain(self.path, error)) from None

    def compacted(self) -> int:
        """Read the version up to which changes are gone, but for the newest of each key and what was replaced later."""
        return self._meta("compacted")

    def oldest_listed(self) -> int:
        """Read the version before which lists are expired."""
        return self._meta("listed")

    def last_version(self) -> int:
        """Read the highest version ever given out, also if its row has been compacted."""
        highest = self._db.execute("SELECT max(version) FROM changes").fetchone()[0] or 0
        return max(int(highest), self._meta("version"))

    def changes(self) -> Iterator[Change]:
        """Iterate over the intact rows, oldest first. Afterwards ``damage`` says what is wrong with the others."""
        damage = self.damage = Damage(self._meta("counted"), self._meta("rows"), self._mark.read())
        for values in self._db.execute(_SELECT):
            row = Row(*values)
            if damage.see(row):
                yield Change(*row[:-1])
        self._rows = damage.rows

    def append(self, change: Change) -> None:
        """Write one change; it survives the death of this process when this returns."""
        self._db.execute(_INSERT, (*change, checksum(*change)))
        self._rows += 1
        self._mark.write(change.version)

    def compact(self, versions: Iterable[int], compacted: int, version: int, oldest_listed: int) -> None:
        """Drop superseded rows; ``compacted`` is the newest version that left the history, ``version`` the newest."""
        with _transaction(self._db):
            rows = self._rows - _drop(self._db, versions)
            notes = {"compacted": compacted, "listed": oldest_listed}
            _note(self._db, **notes, version=version, counted=version, rows=rows)
        self._rows = rows

    def check(self) -> None:
        """Raise ``JournalError`` if ``changes`` has found damage."""
        if damage := str(self.damage):
            self._keeps_log = True
            way_out = (
                f"put a whole copy in its place, or run `drakit apiserver repair {self.path}`, which keeps a copy and "
                "takes out what is damaged, or move it away to start empty"
            )
            raise JournalError(f"data file {self.path} cannot be used ({damage}): {way_out}")

    def mend(self) -> list[str]:
        """Remove the objects whose newest state is damaged; returns one line for each.

        Damaged rows of the history go alone. It takes a version of its own, so that all who watch have to list again.
        """
        versions: dict[tuple[Any, ...], list[int]] = {}
        for number, *key in self._db.execute("SELECT version, kind, namespace, name FROM changes ORDER BY version"):
            versions.setdefault(tuple(key), []).append(number)
        gone = [row for row in self.damage.damaged if versions[row.key][-1] == row.version]
        rows_gone = {row.version for row in self.damage.damaged}.union(*(versions[row.key] for row in gone))
        version = max(self.last_version(), self.damage.marked) + 1
        with _transaction(self._db):
            _drop(self._db, rows_gone)
            rows = self._db.execute("SELECT count(*) FROM changes").fetchone()[0]
            _note(self._db, compacted=version, version=version, counted=version, rows=rows)
        return [f"{row} was taken out" for row in gone]

    def copy(self, path: Path) -> None:
        """Write all that is in the file to a new one (0600). Raises ``OSError``."""
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(path)) as other:
            self._db.backup(other)

    def close(self) -> None:
        """Fold the write-ahead log into the file and release it.

        If damage was found, the log stays as well: behind the first frame that is damaged there may be good ones, which
        SQLite would throw away. What is folded already does no harm in it.
        """
        self._mark.close()
        log, kept = (self.path.with_name(self.path.name + ending) for ending in ("-wal", "-wal.kept"))
        if self._keeps_log:
            with suppress(FileNotFoundError):
                kept.unlink(missing_ok=True)
                kept.hardlink_to(log)
        self._db.close()
        if self._keeps_log:
            with suppress(FileNotFoundError):
                kept.rename(log)

    def _meta(self, key: str) -> int:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0


def _found_or_made(path: Path) -> int:
    """Return a descriptor that stands for the data file, which is made if there is none.

    It cannot be read: to close one that can would take the locks that SQLite has on the file in this process.
    Raises ``OSError`` for anything but regular files of this user, also beside it.
    """
    if not os.path.lexists(path):
        # A data file was moved away to start empty, and its mark was not.
        mark.path_of(path).unlink(missing_ok=True)
    try:
        # Created by us, so that nobody else may read the secrets in it; SQLite gives its side files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        for ending in ("-wal", "-journal", "-shm"):
            with suppress(FileNotFoundError):
                os.close(regular_files.open_descriptor(path.with_name(path.name + ending), os.O_PATH))
    return regular_files.open_descriptor(path, os.O_PATH)


def _has_content(db: sqlite3.Connection, path: Path) -> bool:
    """Check whether this is a data file that has been used; refuses others before anything of them is changed."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not tables >= {"changes", "meta"}:
        raise JournalError(f"data file {path} is a database of another program: use another file")
    row = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() if tables else None
    if row is not None and row[0] not in (_FORMAT, _FORMER):
        raise JournalError(f"data file {path} has format {row[0]}, this version reads {_FORMAT}: use another file")
    return bool(tables)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Write all of the block, or nothing if it raises."""
    db.execute("BEGIN")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _drop(db: sqlite3.Connection, versions: Iterable[int]) -> int:
    """Delete changes, and return how many there were."""
    return db.executemany("DELETE FROM changes WHERE version = ?", [(number,) for number in versions]).rowcount


def _note(db: sqlite3.Connection, **values: int) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _begin(db: sqlite3.Connection) -> None:
    """Create the tables of a new file and its identity in one transaction: half of it would pass for a new file."""
    with _transaction(db):
        for statement in _SCHEMA:
            db.execute(statement)
        identity = secrets.randbits(63)
        db.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?), ('identity', ?)", (_FORMAT, identity))


def _add_checksums(db: sqlite3.Connection) -> None:
    """Convert a file without checksums: what it has now is assumed to be intact."""
    row = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if row is None or row[0] != _FORMER:
        return
    db.create_function("checksum_of", 6, checksum, deterministic=True)
    with _transaction(db):
        db.execute("ALTER TABLE changes ADD COLUMN checksum INTEGER")
        rows = db.execute(_ADD_CHECKSUMS).rowcount
        counted = db.execute("SELECT max(version) FROM changes").fetchone()[0] or 0
        _note(db, counted=counted, rows=rows, format=_FORMAT)


def _make_private(path: Path, found: int) -> None:
    if not os.path.samestat(os.fstat(found), path.lstat()):
        raise JournalError(f"data file {path} was replaced while it was opened: start again")
    Path(f"/proc/self/fd/{found}").chmod(0o600)


def _explain(path: Path, error: Exception) -> str:
    if "locked" in str(error):
        return f"data file {path} is in use by another server: stop that one, or give another file"
    return f"data file {path} cannot be used ({error}): move it away to start empty"
