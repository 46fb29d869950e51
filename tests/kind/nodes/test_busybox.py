"""Finding a busybox that runs in a container that has nothing else."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.nodes import busybox

LOAD, INTERPRETER = 1, 3


def program(path: Path, *segments: int) -> Path:
    """An ELF file with these program headers and nothing in them."""
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, len(segments))
    path.write_bytes(bytes(header) + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in segments))
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any busybox: an empty PATH and an empty cache."""
    monkeypatch.delenv(busybox.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def test_a_program_without_a_dynamic_loader_is_static(tmp_path: Path) -> None:
    assert busybox.is_static(program(tmp_path / "a", LOAD, LOAD))
    assert not busybox.is_static(program(tmp_path / "b", LOAD, INTERPRETER))
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert not busybox.is_static(tmp_path / "script")
    assert not busybox.is_static(tmp_path / "none")


def test_the_one_that_the_user_names_comes_first(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(elsewhere / "bin/busybox", LOAD)
    named = program(elsewhere / "named", LOAD)
    monkeypatch.setenv(busybox.VARIABLE, str(named))
    assert busybox.find_busybox() == named
    program(named, INTERPRETER)
    with pytest.raises(ClusterError, match=r"DRAKIT_BUSYBOX=.*named is no statically linked program"):
        busybox.find_busybox()


def test_the_one_in_path_is_taken_if_it_is_static(elsewhere: Path) -> None:
    found = program(elsewhere / "bin/busybox", LOAD)
    assert busybox.find_busybox() == found


def test_one_that_was_downloaded_before_is_kept(elsewhere: Path) -> None:
    program(elsewhere / "bin/busybox", INTERPRETER)
    (elsewhere / "cache").mkdir()
    cached = program(elsewhere / "cache/busybox", LOAD)
    assert busybox.find_busybox() == cached


def test_without_any_and_without_apt_the_way_out_is_named() -> None:
    with pytest.raises(
        ClusterError, match=r"install Debian's busybox-static, or name such a program in \$DRAKIT_BUSYBOX"
    ):
        busybox.find_busybox()


@pytest.mark.slow
def test_what_killed_downloads_have_left_goes_with_the_next(elsewhere: Path) -> None:
    """Nothing but the program stays, which comes in one step."""
    left = elsewhere / "cache" / ".busybox-killed"
    left.mkdir(parents=True)
    package = program(elsewhere / "package", LOAD)
    texts = {
        "apt-get": ": >busybox-static.deb",
        "dpkg-deb": f"/bin/mkdir -p $3/bin; /bin/cp {package} $3/bin/busybox",
    }
    for name, text in texts.items():
        tool = elsewhere / "bin" / name
        tool.write_text(f"#!/bin/sh\n{text}\n")
        tool.chmod(0o755)
    found = busybox.find_busybox()
    assert found.read_bytes() == package.read_bytes()
    assert sorted(path.name for path in (elsewhere / "cache").iterdir()) == ["busybox", "busybox.lock"]
    assert not left.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("status", "problem"), [(100, "E: Unable to locate package"), (0, "does not contain one")])
def test_what_apt_complains_about_is_passed_on(elsewhere: Path, status: int, problem: str) -> None:
    for name in ("apt-get", "dpkg-deb"):
        tool = elsewhere / "bin" / name
        tool.write_text(f"#!/bin/sh\necho 'E: Unable to locate package busybox-static' >&2\nexit {status}\n")
        tool.chmod(0o755)
    told: list[str] = []
    with pytest.raises(ClusterError, match=problem):
        busybox.find_busybox(told.append)
    assert told == ["downloading busybox-static of this Debian for the containers of tests"]
