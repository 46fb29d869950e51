"""Short names of long directories: found by every process, and never somebody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from drakit_kind.clusters import short_paths


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory that has no short name afterwards."""
    (made := tmp_path / "long").mkdir()
    yield made
    short_paths.remove(made)


def test_a_short_name_leads_to_its_directory(directory: Path) -> None:
    assert short_paths.of(directory) is None
    link = short_paths.make(directory)
    assert (short_paths.make(directory), short_paths.of(directory)) == (link, link)
    assert len(os.fsencode(link)) == short_paths.length()
    assert link.resolve() == directory
    short_paths.remove(directory)
    assert short_paths.of(directory) is None
    assert directory.exists()


def test_what_has_the_name_already_is_left_alone(directory: Path, tmp_path: Path) -> None:
    first = short_paths.make(directory)
    first.unlink()
    (elsewhere := tmp_path / "elsewhere").mkdir()
    first.symlink_to(elsewhere)
    try:
        second = short_paths.make(directory)
        assert second != first
        assert second.resolve() == directory
        assert first.resolve() == elsewhere
    finally:
        first.unlink()


def test_where_every_name_is_taken_the_way_out_is_a_shorter_directory(directory: Path, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    taken = list(short_paths._names(directory))
    for link in taken:
        link.symlink_to(elsewhere)
    try:
        with pytest.raises(FileExistsError) as refused:
            short_paths.make(directory)
    finally:
        for link in taken:
            link.unlink()
    names = ", ".join(map(str, taken))
    assert str(refused.value) == (
        f"{directory} is too long for unix sockets, and its short names {names} are taken by something else; "
        "remove that, or use a shorter directory (DRAKIT_HOME, or --data-dir)"
    )


def test_another_users_link_does_not_count(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = short_paths.make(directory)
    uid = os.geteuid()
    with monkeypatch.context() as other:
        other.setattr(Path, "lstat", lambda path: os.stat_result((0o120777, 0, 0, 1, uid + 1, 0, 0, 0, 0, 0)))
        assert short_paths.of(directory) is None
    assert short_paths.of(directory) == link


def test_names_that_lead_nowhere_go_with_the_next_one(directory: Path, tmp_path: Path) -> None:
    (gone := tmp_path / "gone").mkdir()
    dangling = short_paths.make(gone)
    gone.rmdir()
    short_paths.make(directory)
    assert not dangling.is_symlink()
