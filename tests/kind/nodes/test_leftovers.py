"""The journal of what nodes do to a machine: written before, undone backwards, by whoever comes first."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drakit_client.files.regular_files import UnusableFileError
from drakit_kind import bounds
from drakit_kind.cluster import ClusterError
from drakit_kind.nodes import leftovers
from drakit_kind.nodes.leftovers import Effect, Journal, Undo


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "records"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with one setting."""
    monkeypatch.setattr(leftovers, "SYSCTL", tmp_path)
    (tmp_path / "instances").write_text("128\n")
    return tmp_path / "instances"


class Machine:
    """Undoes nothing, and tells what it was asked to undo; ``broken`` effects cannot be."""

    def __init__(self, *broken: str) -> None:
        self.undone: list[str] = []
        self.broken = broken

    def how(self) -> dict[str, Undo]:
        return {"cluster": lambda _: None, "thing": self._undo}

    def _undo(self, effect: Effect) -> None:
        self.undone.append(effect["name"])
        if effect["name"] in self.broken:
            raise ClusterError(f"{effect['name']} is in use")


def journal(records: Path, *things: str) -> Journal:
    made = Journal.create(records.parent / "home", records)
    for thing in things:
        made.write({"effect": "thing", "name": thing})
    return made


def test_effects_are_undone_newest_first_and_then_forgotten(records: Path) -> None:
    machine, written = Machine(), journal(records, "network", "processes")
    written.undo(machine.how())
    assert machine.undone == ["processes", "network"]
    assert not records.exists()


def test_what_cannot_be_undone_keeps_the_journal_and_stops_nothing_else(records: Path) -> None:
    machine, written = Machine("processes"), journal(records, "network", "processes")
    with pytest.raises(ClusterError, match=r"(?s)cluster in .*/home did .*could be undone .*processes is in use"):
        written.undo(machine.how())
    written.close()
    again = Journal.take(written.path)
    assert again is not None
    machine.broken = ()
    again.undo(machine.how())
    assert machine.undone == ["processes", "network", "processes", "network"]
    assert not records.exists()


def test_an_effect_that_a_later_version_wrote_is_not_forgotten(records: Path) -> None:
    written = journal(records)
    written.write({"effect": "firewall", "name": "x"})
    with pytest.raises(ClusterError, match=r"another version of drakit has to undo .*firewall"):
        written.undo()
    written.close()
    assert written.path.exists()


def test_a_line_that_a_crash_cut_off_announced_nothing(records: Path) -> None:
    written = journal(records, "network")
    with written.path.open("ab") as file:
        file.write(b'{"effect":"thi')
    machine = Machine()
    written.undo(machine.how())
    assert machine.undone == ["network"]


def test_a_journal_belongs_to_one_process_at_a_time(records: Path) -> None:
    written = journal(records)
    assert Journal.take(written.path) is None
    written.close()
    taken = Journal.take(written.path)
    assert taken is not None
    assert Journal.take(written.path) is None
    taken.undo()
    assert Journal.take(written.path) is None


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_nothing_but_a_file_is_a_journal(records: Path, put: Callable[[Path], object]) -> None:
    """A journal says what root undoes on the machine."""
    records.mkdir()
    put(path := records / "abcdef.journal")
    with pytest.raises(UnusableFileError, match=r"abcdef\.journal is a .*, not a regular file"):
        Journal.take(path)
    with pytest.raises(UnusableFileError, match=r"abcdef\.journal is a .*, not a regular file"):
        leftovers.undo_dead(records=records)


def test_a_link_in_the_way_of_a_new_journal_is_not_followed(records: Path) -> None:
    records.mkdir()
    (precious := records.parent / "precious").write_text("mine")
    (records / "new").symlink_to(precious)
    journal(records).close()
    assert precious.read_text() == "mine"


def test_who_waits_for_a_journal_finds_it_undone(records: Path) -> None:
    """As the next `drakit cluster up` on a home whose guard is at work."""
    written = journal(records)
    found: list[Journal | None] = []
    waiting = threading.Thread(target=lambda: found.append(Journal.take(written.path, seconds=20)))
    waiting.start()
    written.undo()
    waiting.join()
    assert found == [None]


def test_only_dead_clusters_are_undone(records: Path, tmp_path: Path) -> None:
    alive = Journal.create(tmp_path / "alive", records)
    dead = {name: Journal.create(tmp_path / name, records) for name in ("dead", "killed")}
    for each in dead.values():
        each.close()
    assert leftovers.undo_dead(tmp_path / "killed", records) == [dead["killed"].identity]
    assert leftovers.undo_dead(records=records) == [dead["dead"].identity]
    assert leftovers.undo_dead(records=records) == []
    assert alive.path.exists()
    alive.undo()
    assert not records.exists()


def test_what_another_cluster_left_and_cannot_be_undone_stops_no_new_one(
    records: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dead = Journal.create(tmp_path / "dead", records)
    dead.write({"effect": "firewall", "name": "x"})
    dead.close()
    assert leftovers.undo_dead(records=records) == []
    assert f"cluster in {tmp_path / 'dead'}" in caplog.text
    assert str(dead.path) in caplog.text
    with pytest.raises(ClusterError, match="firewall"):
        leftovers.undo_dead(tmp_path / "dead", records)


def test_nobody_can_take_a_journal_before_its_cluster_has_it(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who did would wait for the lock of the machine, and the cluster, which has that, for the journal."""
    lock = fcntl.flock
    taken: list[Journal] = []

    def locked(file: Any, operation: int) -> None:
        if operation == fcntl.LOCK_EX:
            taken.extend(filter(None, map(Journal.take, records.glob("*.journal"))))
        assert taken == []
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", locked)
    cluster = journal(records)
    assert Journal.take(cluster.path) is None
    cluster.undo()


def test_nothing_is_left_of_a_cluster_that_was_killed_while_it_began(records: Path) -> None:
    records.mkdir()
    (records / "new").write_text('{"effect":')
    cluster = journal(records)
    assert [each["effect"] for each in cluster.effects()] == ["cluster"]
    (records / "new").touch()
    cluster.undo()
    assert not records.exists()


def test_nothing_is_left_of_a_machine_without_records(records: Path) -> None:
    assert leftovers.undo_dead(records=records) == []
    assert not records.exists()


def test_a_directory_goes_with_the_last_cluster_that_wanted_it(records: Path, tmp_path: Path) -> None:
    made, own, used = tmp_path / "made", tmp_path / "own", tmp_path / "used"
    own.mkdir()
    clusters = [Journal.create(tmp_path / name, records) for name in ("one", "two")]
    for cluster in clusters:
        for directory in (made, own, used):
            leftovers.make_directory(cluster, directory)
    (used / "of-somebody-else").touch()
    clusters[0].undo()
    assert made.is_dir()
    clusters[1].undo()
    assert not made.exists()
    assert own.is_dir(), "it was there before"
    assert [path.name for path in used.iterdir()] == ["of-somebody-else"]


def test_a_directory_goes_although_its_cluster_was_killed_before_it_was_marked(records: Path, tmp_path: Path) -> None:
    """Unless somebody uses it, or another cluster wants it."""
    names = ("unused", "used", "wanted")
    unused, used, wanted = directories = [tmp_path / name for name in names]
    killed, another = (Journal.create(tmp_path / name, records) for name in ("killed", "another"))
    for directory in directories:
        leftovers.make_directory(killed, directory)
        (directory / leftovers.MARK).unlink()
    (used / "of-somebody-else").touch()
    leftovers.make_directory(another, wanted)
    killed.undo()
    assert not unused.exists()
    assert [path.name for path in used.iterdir()] == ["of-somebody-else"]
    assert wanted.is_dir()
    another.undo()
    assert not wanted.exists()


def test_a_setting_comes_back_with_the_last_cluster_that_wanted_it(records: Path, settings: Path) -> None:
    clusters = [Journal.create(records.parent / name, records) for name in ("one", "two")]
    for cluster in clusters:
        leftovers.raise_setting(cluster, "instances", 8192)
    assert settings.read_text() == "8192"
    clusters[0].undo()
    assert settings.read_text() == "8192"
    clusters[1].undo()
    assert settings.read_text() == "128"


def test_a_setting_comes_back_although_another_cluster_is_about_to_raise_it(records: Path, settings: Path) -> None:
    ending, beginning = (Journal.create(records.parent / name, records) for name in ("one", "two"))
    leftovers.raise_setting(ending, "instances", 8192)
    ending.undo()
    leftovers.raise_setting(beginning, "instances", 8192)
    assert settings.read_text() == "8192"
    beginning.undo()
    assert settings.read_text() == "128"


def test_a_setting_that_is_high_enough_is_left_alone(records: Path, settings: Path) -> None:
    cluster = Journal.create(records.parent / "one", records)
    leftovers.raise_setting(cluster, "instances", 100)
    settings.write_text("64\n")
    cluster.undo()
    assert settings.read_text() == "64\n"


def test_a_setting_that_the_administrator_changed_meanwhile_stays(records: Path, settings: Path) -> None:
    cluster = Journal.create(records.parent / "one", records)
    leftovers.raise_setting(cluster, "instances", 8192)
    settings.write_text("10000\n")
    cluster.undo()
    assert settings.read_text() == "10000\n"


def test_what_the_administrator_set_under_one_cluster_is_what_comes_back_after_another(
    records: Path, settings: Path
) -> None:
    first, second = (Journal.create(records.parent / name, records) for name in ("one", "two"))
    leftovers.raise_setting(first, "instances", 8192)
    settings.write_text("524288\n")
    leftovers.raise_setting(second, "instances", 8192)
    assert leftovers.before_raised("instances", 524288, records) == 524288
    first.undo()
    second.undo()
    assert settings.read_text() == "524288\n"


def test_what_the_administrator_lowered_under_one_cluster_is_what_comes_back_after_another(
    records: Path, settings: Path
) -> None:
    first, second = (Journal.create(records.parent / name, records) for name in ("one", "two"))
    leftovers.raise_setting(first, "instances", 8192)
    settings.write_text("512\n")
    leftovers.raise_setting(second, "instances", 8192)
    assert settings.read_text() == "8192"
    first.undo()
    second.undo()
    assert settings.read_text() == "512"


def test_whoever_keeps_the_lock_of_the_machine_is_waited_for_with_a_bound(
    records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process that was stopped (SIGSTOP) while it had it."""
    cluster = journal(records)
    monkeypatch.setattr(bounds, "UNDO_WAIT", 0.1)
    with leftovers.machine_lock(records), pytest.raises(ClusterError, match=f"{records}/lock"):
        cluster.undo()
    cluster.undo()
    assert not records.exists()
