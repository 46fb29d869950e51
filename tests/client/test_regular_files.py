"""What lies in the place of a file is never waited for, never followed, and never changed."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from drakit_client.files import private_files, regular_files
from drakit_client.files.regular_files import UnusableFileError


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path itself may be too long
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def _link(path: Path) -> None:
    (target := path.with_name("target")).write_bytes(b"precious")
    target.chmod(0o644)
    path.symlink_to(target)


def _dangling_link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


TRAPS: dict[str, tuple[Callable[[Path], object], str]] = {
    "FIFO": (os.mkfifo, "is a FIFO, not a regular file"),
    "directory": (Path.mkdir, "is a directory, not a regular file"),
    "link": (_link, "is a symbolic link, not a regular file"),
    "dangling link": (_dangling_link, "is a symbolic link, not a regular file"),
    "socket": (_socket, "is a socket, not a regular file"),
}
USES: dict[str, Callable[[Path], object]] = {
    "read": regular_files.read,
    "lock": regular_files.open_lock,
    "append": private_files.append_to,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("trap", TRAPS)
def test_only_regular_files_are_opened(tmp_path: Path, trap: str, use: str) -> None:
    put, why = TRAPS[trap]
    path = tmp_path / "file"
    put(path)
    before = sorted((each.name, each.lstat().st_mode) for each in tmp_path.iterdir())
    with pytest.raises(UnusableFileError, match=why):
        USES[use](path)
    assert sorted((each.name, each.lstat().st_mode) for each in tmp_path.iterdir()) == before


def test_a_device_has_no_end_and_is_not_read() -> None:
    with pytest.raises(UnusableFileError, match="/dev/zero is a character device"):
        regular_files.read(Path("/dev/zero"))


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (path := tmp_path / "file").write_bytes(b"12345")
    assert regular_files.read(path, limit=5) == b"12345"
    with pytest.raises(UnusableFileError, match="file is larger than 4 bytes"):
        regular_files.read(path, limit=4)


def test_a_file_that_is_missing_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        regular_files.read(tmp_path / "file")


def test_another_users_file_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "file").write_bytes(b"lies")
    if path.stat().st_uid == 0:
        if os.geteuid() != 0:
            pytest.skip("files here belong to root, whom everybody believes")
        os.chown(path, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(UnusableFileError, match="belongs to another user"):
        regular_files.read(path)
    assert regular_files.read(path, anyones=True) == b"lies"


def test_nothing_is_truncated_before_it_is_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="truncate the file after it was opened"):
        regular_files.open_descriptor(tmp_path / "file", os.O_WRONLY | os.O_TRUNC)
