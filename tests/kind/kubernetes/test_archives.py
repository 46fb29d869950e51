"""Of a downloaded archive only the programs' contents are taken, and nothing of one that is not as it should be."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.kubernetes import archives
from tests.kind.kubernetes.release_site import archive


def _link(path: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.type, info.linkname = kind, target
    return info


def _take(directory: Path, content: bytes) -> Path:
    """Take ``bin/a`` of an archive; the directory it goes to."""
    file, into = directory / "programs.tar.gz", directory / "into"
    file.write_bytes(content)
    into.mkdir()
    archives.take(file, {"a": "bin/a"}, into)
    return into


@pytest.mark.parametrize("path", ["bin/a", "./bin/a", "bin//a"])
def test_programs_are_taken_by_their_path(tmp_path: Path, path: str) -> None:
    into = _take(tmp_path, archive({"README": b"", path: b"program", "bin/b": b"other"}))
    assert {each.name: each.read_bytes() for each in into.iterdir()} == {"a": b"program"}
    assert (into / "a").stat().st_uid != 1001


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (archive({"bin/a": b"x", "../evil": b""}), r"programs\.tar\.gz has the path '\.\./evil', which leads out of"),
        (archive({"bin/../../a": b""}), "leads out of it; nothing of it is used"),
        (archive({"/bin/a": b"x"}), "has the path '/bin/a', which leads out"),
        (archive({}, _link("bin/a", "/etc/shadow")), r"bin/a is no regular file; nothing of it is used"),
        (archive({"b": b""}, _link("bin/a", "b", tarfile.LNKTYPE)), "bin/a is no regular file"),
        (archive({}, _link("bin/a", "", tarfile.FIFOTYPE)), "bin/a is no regular file"),
        (archive({"a": b"x"}), r"programs\.tar\.gz has no bin/a$"),
        (b"no archive", r"programs\.tar\.gz cannot be unpacked: "),
        (archive({"bin/a": b"x" * 99})[:60], r"programs\.tar\.gz cannot be unpacked: "),
    ],
    ids=["outside", "outside below", "absolute", "link", "hard link", "fifo", "not there", "no archive", "cut off"],
)
def test_what_is_not_as_it_should_be_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(ClusterError, match=says):
        _take(tmp_path, content)
    assert not (tmp_path / "evil").exists()
