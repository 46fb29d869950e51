"""What a cluster's nodes do to the machine is written down before it is done, so that anybody can undo it.

A journal for each cluster, one JSON object a line, in a directory that, as most of what it describes, does not survive
a reboot. Whoever has a lock on a journal may use or undo it: the cluster's process for as long as it lives, then its
guard, and after a crash of both the next cluster. Undoing goes backwards, takes what is gone already for undone, and
removes the journal only when nothing is left.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from drakit_client.files import regular_files
from drakit_kind import bounds
from drakit_kind.cluster import ClusterError
from drakit_kind.nodes import cgroups, network
from drakit_kind.nodes.cgroups import ControlGroup, Hierarchy, hierarchies

log = logging.getLogger(__name__)

RECORDS = Path("/run/drakit")
SYSCTL = Path("/proc/sys")
_SUFFIX = ".journal"
_NEW = "new"  # a journal that is being created; what a killed process has left of one is overwritten
# In a directory of the machine that was made for a cluster: what it is and who may remove it.
MARK = ".made-by-drakit"
_PAUSE = 0.05
_LARGEST_BYTES = 16 * regular_files.MEBIBYTE

Effect = dict[str, Any]
Undo = Callable[[Effect], None]


class Journal:
    """The effects of one cluster, locked by this process until it is closed."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self._file = file

    @property
    def identity(self) -> str:
        """Six hexadecimal digits that the names of all effects of this cluster contain."""
        return self.path.name.removesuffix(_SUFFIX)

    @classmethod
    def create(cls, home: Path, records: Path = RECORDS) -> Journal:
        """Create the journal of the cluster whose files are in ``home``, and lock it."""
        with machine_lock(records):
            # It gets its final name once it is locked: a process that took it before would wait for `machine_lock`.
            scratch = records / _NEW
            scratch.unlink(missing_ok=True)
            file = os.fdopen(os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600), "r+b")
            fcntl.flock(file, fcntl.LOCK_EX)
            journal = cls(records / f"{secrets.token_hex(3)}{_SUFFIX}", file)
            journal.write({"effect": "cluster", "home": str(home.absolute())})
            scratch.rename(journal.path)
            return journal

    @classmethod
    def take(cls, path: Path, *, seconds: float = 0.0) -> Journal | None:
        """Lock an existing journal; None if another process holds it for more than ``seconds``, or if it was undone."""
        deadline = time.monotonic() + seconds
        try:
            file = os.fdopen(regular_files.open_descriptor(path, os.O_RDWR), "r+b")
        except FileNotFoundError:
            return None
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_PAUSE)
                    continue
                file.close()
                return None
            if os.fstat(file.fileno()).st_nlink == 0:  # whoever had it is done with it
                file.close()
                return None
            return cls(path, file)

    def write(self, effect: Effect) -> None:
        """Add an effect that is about to happen; on disk when this returns."""
        self._file.write(msgspec.json.encode(effect) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def effects(self) -> list[Effect]:
        """Read what was written, oldest first. A line that a crash cut off announced nothing that happened."""
        return _effects(self.path)

    def undo(self, undo: Mapping[str, Undo] | None = None) -> None:
        """Undo everything, newest first, then remove the journal. ``ClusterError`` names what could not be undone.

        What other journals have too is left to the last of them.
        """
        how = _UNDO if undo is None else undo
        with machine_lock(self.path.parent):
            shared = _subjects_of_others(self.path)
            problems = []
            for effect in reversed(self.effects()):
                try:
                    if _subject(effect) not in shared:
                        how.get(effect["effect"], _unknown)(effect)
                except (ClusterError, OSError) as error:
                    problems.append(str(error))
            if problems:
                raise ClusterError(
                    f"not everything that the nodes of the cluster in {_home(self.path)} did to the machine could be "
                    f"undone ({self.path}); `drakit cluster down` of it and the next cluster with real nodes try again:"
                    + "".join(f"\n  {problem}" for problem in problems)
                )
            self.path.unlink()
            self.close()

    def close(self) -> None:
        """Unlock the journal, so that another process can take it."""
        self._file.close()


def undo_dead(home: Path | None = None, records: Path = RECORDS) -> list[str]:
    """Undo what clusters left that ended without doing so; return the identities of those that were undone.

    With ``home`` only that of the cluster whose files are there, after waiting for its guard if that is at it already.
    Raises ``ClusterError`` if that one cannot be undone; without ``home`` a failure is only logged.
    """
    undone = []
    for path in _journals(records):
        if home is not None and _home(path) != home.absolute():
            continue
        journal = Journal.take(path, seconds=bounds.UNDO_WAIT if home is not None else 0.0)
        if journal is not None:
            try:
                journal.undo()
                undone.append(journal.identity)
                log.info("undid what the nodes of an earlier cluster %s had left", journal.identity)
            except ClusterError as error:
                if home is not None:
                    raise
                log.warning("%s", error)
            finally:
                journal.close()
    return undone


@contextmanager
def machine_lock(records: Path = RECORDS) -> Iterator[None]:
    """Keep other clusters of this machine from what they share: the records, free networks, made directories.

    The lock's file and directory are removed by the last cluster, so that nothing is left of drakit.
    """
    with _locked_file(records):
        yield
        if not _journals(records):
            with suppress(OSError):
                (records / _NEW).unlink(missing_ok=True)
                (records / "lock").unlink()
                records.rmdir()


@contextmanager
def _locked_file(records: Path) -> Iterator[None]:
    while True:
        records.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = regular_files.open_lock(records / "lock")
        except FileNotFoundError:  # the last cluster removed the directory just now
            continue
        with os.fdopen(descriptor, "r+") as file:
            _lock(file, records / "lock")
            if os.fstat(file.fileno()).st_nlink == 0:
                continue
            yield
            return


def _lock(file: IO[str], path: Path) -> None:
    deadline = time.monotonic() + bounds.UNDO_WAIT
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"another process has {path} for more than {bounds.UNDO_WAIT:.0f} s; `fuser {path}` names it: "
                    "is it stopped?"
                ) from None
            time.sleep(_PAUSE)
        else:
            return


def make_directory(journal: Journal, path: Path) -> None:
    """Make a directory that nodes need on this machine; the last cluster that needs it removes it."""
    effect: Effect = {"effect": "directory", "path": str(path)}
    # The directory of a cluster that was killed may not have its mark yet.
    ours = (path / MARK).exists() or _subject(effect) in _subjects_of_others(journal.path)
    if path.is_dir() and not ours:
        return
    journal.write(effect | ({} if path.exists() else {"absent": True}))
    path.mkdir(exist_ok=True)
    (path / MARK).write_text(
        "An empty directory over which drakit's nodes mount their own; removed with the last one.\n"
    )


def raise_setting(journal: Journal, setting: str, least: int) -> None:
    """Let a number below /proc/sys be at least ``least`` until the last cluster that wanted that is gone."""
    file = SYSCTL / setting
    found = int(file.read_text())
    before = before_raised(setting, found, journal.path.parent)
    if found >= least and before == found:
        return
    raised = max(found, least)
    journal.write({"effect": "setting", "name": setting, "from": before, "to": raised})
    file.write_text(str(raised))


def enable_controllers(journal: Journal, found: Sequence[Hierarchy]) -> None:
    """Let groups directly below the root of v2 have all controllers until the last cluster that wanted that is gone.

    Otherwise kubelets and runc do it, and leave it so.
    """
    if not all(hierarchy.unified for hierarchy in found):
        return
    others = _subjects_of_others(journal.path)
    for directory in (hierarchy.mount for hierarchy in found):
        offered, enabled = cgroups.controllers(directory), cgroups.enabled(directory)
        for name in offered:
            effect = {"effect": "controller", "path": str(directory), "name": name}
            if name not in enabled or _subject(effect) in others:
                journal.write(effect)
        cgroups.enable(directory, offered)


def before_raised(setting: str, now: int, records: Path = RECORDS) -> int:
    """Return a setting's value from before clusters raised it to ``now``; ``now`` itself if others set it."""
    effects = [effect for path in _journals(records) for effect in _effects(path) if effect["effect"] == "setting"]
    raised = {effect["to"]: effect["from"] for effect in effects if effect["name"] == setting}
    return int(raised.get(now, now))


def _unknown(effect: Effect) -> None:
    raise ClusterError(f"another version of drakit has to undo {effect}")


def _undo_cgroup(effect: Effect) -> None:
    group = ControlGroup(effect["name"], hierarchies())
    group.kill()
    group.remove()


def _undo_directory(effect: Effect) -> None:
    path = Path(effect["path"])
    mark = path / MARK
    if mark.exists() or effect.get("absent"):
        mark.unlink(missing_ok=True)
        with suppress(OSError):  # somebody else uses it by now, or it was never made
            path.rmdir()


def _undo_setting(effect: Effect) -> None:
    file = SYSCTL / effect["name"]
    if int(file.read_text()) == effect["to"]:  # not changed by the administrator meanwhile
        file.write_text(str(effect["from"]))


_UNDO: Mapping[str, Undo] = {
    "cluster": lambda _: None,
    "cgroup": _undo_cgroup,
    "controller": lambda effect: cgroups.disable(Path(effect["path"]), effect["name"]),
    "bridge": lambda effect: network.delete_bridge(effect["name"]),
    "directory": _undo_directory,
    "setting": _undo_setting,
}


def _subject(effect: Effect) -> tuple[str, str | None, str | None]:
    """Identify what an effect changes on the machine, by kind, path and name."""
    return effect["effect"], effect.get("path"), effect.get("name")


def _subjects_of_others(mine: Path) -> list[tuple[str, str | None, str | None]]:
    return [_subject(effect) for path in _journals(mine.parent) if path != mine for effect in _effects(path)]


def _journals(records: Path) -> list[Path]:
    try:
        return sorted(path for path in records.iterdir() if path.name.endswith(_SUFFIX))
    except (FileNotFoundError, PermissionError):  # the latter is another user's, who may not have nodes anyway
        return []


def _effects(path: Path) -> list[Effect]:
    try:
        lines = regular_files.read(path, limit=_LARGEST_BYTES).split(b"\n")
    except FileNotFoundError:  # undone meanwhile
        return []
    return [msgspec.json.decode(line) for line in lines[:-1]]


def _home(path: Path) -> Path | None:
    effects = _effects(path)
    return Path(effects[0]["home"]) if effects else None
