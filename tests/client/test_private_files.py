"""What may hold a secret is the user's own file, whatever lies where it is written first."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_client.files import private_files


def _open_file(scratch: Path, elsewhere: Path) -> None:
    scratch.touch()
    scratch.chmod(0o644)


def _symlink(scratch: Path, elsewhere: Path) -> None:
    scratch.symlink_to(elsewhere)


@pytest.mark.parametrize("found", [_open_file, _symlink])
def test_what_lies_in_the_way_is_neither_written_to_nor_followed(tmp_path: Path, found: object) -> None:
    assert callable(found)
    path, elsewhere = tmp_path / "there" / "key", tmp_path / "elsewhere"
    path.parent.mkdir()
    found(path.with_name(".key.drakit-new"), elsewhere)
    assert private_files.write(path, "secret").read_text() == "secret"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]
    assert not elsewhere.exists()


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = private_files.write(tmp_path / "key", "before")
    with pytest.raises(UnicodeEncodeError):
        private_files.write(path, "\ud800")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_to_be_kept_is_written_once(tmp_path: Path) -> None:
    path = private_files.keep(tmp_path / "there" / "key", "first")
    assert private_files.keep(path, "second").read_text() == "first"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]
