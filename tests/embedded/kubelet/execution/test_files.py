"""What a container sees of this machine and of its volumes: its mounts, and nothing that is not below them."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from drakit_embedded.kubelet.execution.host_files import HostFiles
from drakit_embedded.kubelet.execution.listing import UnknownOptionError, listing
from drakit_embedded.kubelet.execution.stored_files import Files, StoredFile, StoredFiles, in_one_step
from drakit_embedded.kubelet.execution.view import View

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """A directory to mount, beside a secret that is not."""
    (tmp_path / "secret").write_text("secret")
    mounted = tmp_path / "mounted"
    (mounted / "sub").mkdir(parents=True)
    (mounted / "a").write_text("of a")
    (mounted / "sub" / "b").write_text("of b")
    return mounted


def view(mounted: Path, **more: Path) -> View:
    root = StoredFiles({"etc/hostname": StoredFile(b"p\n"), "dev/null": StoredFile(mode=0o020666)}, WHEN)
    others = {tuple(place.split("_")): HostFiles(path) for place, path in more.items()}
    return View({(): root, ("data",): HostFiles(mounted), **others})


def read(seen: View, path: str) -> bytes:
    with seen.open(path) as file:
        return file.read()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/data/a", b"of a"),
        ("/data/sub/b", b"of b"),
        ("/data/sub/../a", b"of a"),
        ("/data//./sub/b", b"of b"),
        ("data/a", b"of a"),
        ("/../../data/a", b"of a"),
        ("/etc/hostname", b"p\n"),
        ("/dev/null", b""),
    ],
)
def test_files_are_read_where_they_are_mounted(mounted: Path, path: str, content: bytes) -> None:
    assert read(view(mounted), path) == content


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/secret", errno.ENOENT),
        ("/data/../secret", errno.ENOENT),
        ("/data/../../secret", errno.ENOENT),
        ("/data/sub/../../secret", errno.ENOENT),
        ("/data/a/b", errno.ENOTDIR),
        ("/data/a/", errno.ENOTDIR),
        ("/data", errno.EISDIR),
        ("/", errno.EISDIR),
        ("", errno.ENOENT),
        ("/data/a\0", errno.ENOENT),
        ("/" + "x/" * 3000, errno.ENAMETOOLONG),
        ("/proc/self/environ", errno.ENOENT),
        ("/etc/passwd", errno.ENOENT),
    ],
)
def test_there_is_nothing_else(mounted: Path, path: str, number: int) -> None:
    with pytest.raises(OSError, match=r".") as refused:
        read(view(mounted), path)
    assert refused.value.errno == number


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        ("a", b"of a"),
        ("/data/a", b"of a"),
        ("../data/sub/b", b"of b"),
        ("/etc/hostname", b"p\n"),
        ("../secret", errno.ENOENT),
        ("../../secret", errno.ENOENT),
        ("link", errno.ELOOP),
        ("/etc/passwd", errno.ENOENT),
        ("sub/../../../../../../../etc/passwd", errno.ENOENT),
    ],
)
def test_links_lead_where_they_do_in_the_container(mounted: Path, target: str, outcome: bytes | int) -> None:
    (mounted / "link").symlink_to(target)
    if isinstance(outcome, bytes):
        assert read(view(mounted), "/data/link") == outcome
        return
    with pytest.raises(OSError, match=r".") as refused:
        read(view(mounted), "/data/link")
    assert refused.value.errno == outcome


def test_a_link_to_the_secret_by_its_path_on_this_machine_leads_nowhere(mounted: Path) -> None:
    (mounted / "link").symlink_to(mounted.parent / "secret")
    (mounted / "up").symlink_to(mounted.parent)
    for path in ("/data/link", "/data/up/secret"):
        with pytest.raises(FileNotFoundError):
            read(view(mounted), path)


@pytest.mark.parametrize("parts", [("up", "secret"), ("link",), ("sub", "up", "secret")])
def test_a_mount_itself_follows_no_link(mounted: Path, parts: tuple[str, ...]) -> None:
    """Also if a directory becomes a link after the view has looked at it."""
    (mounted / "link").symlink_to("../secret")
    (mounted / "up").symlink_to("..")
    (mounted / "sub" / "up").symlink_to("../..")
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        HostFiles(mounted).open(parts)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    os.chdir(path.parent)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("make", [_fifo, _socket])
def test_what_is_no_file_is_not_waited_for(
    mounted: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mounted)
    make(mounted / "special")
    with pytest.raises(OSError, match=r"not permitted|No such device"):
        read(view(mounted), "/data/special")


def test_a_single_file_is_mounted_and_the_deepest_mount_has_a_path(mounted: Path) -> None:
    seen = view(mounted, data_sub_b=mounted / "a", deep_er_still=mounted)
    assert read(seen, "/data/sub/b") == b"of a"
    assert list(seen.listing("/data/sub")) == ["b"]
    assert list(seen.listing("/deep")) == ["er"]
    assert list(seen.listing("/")) == ["data", "deep", "dev", "etc"]
    with pytest.raises(NotADirectoryError):
        seen.listing("/data/sub/b")


async def test_files_of_a_volume_are_laid_out_as_the_kubelet_does_it(mounted: Path) -> None:
    calls: list[str] = []

    async def load() -> Files:
        calls.append("load")
        return in_one_step({"a.txt": StoredFile(b"text"), "d/b": StoredFile(b"deep")}, WHEN, 7)

    seen = View({(): StoredFiles({}, WHEN), ("cm",): StoredFiles(load, WHEN)})
    assert list(seen.listing("/")) == ["cm"]
    assert calls == []
    assert await seen.run(lambda: read(seen, "/cm/a.txt")) == b"text"
    assert await seen.run(lambda: read(seen, "/cm/d/b")) == b"deep"
    assert calls == ["load"]
    assert seen.entry("/cm/a.txt", follow=False).target == "..data/a.txt"
    assert list(seen.listing("/cm")) == ["..2026_01_02_03_04_05.7", "..data", "a.txt", "d"]


@pytest.mark.parametrize(
    ("arguments", "output", "errors"),
    [
        (["/data"], ["a", "sub"], []),
        (["-1", "/data/"], ["a", "sub"], []),
        (["-d", "/data"], ["/data"], []),
        (["-1d", "/data/a", "/data"], ["/data", "/data/a"], []),
        (
            ["/data/sub", "/data/a", "/none"],
            ["/data/a", "", "/data/sub:", "b"],
            ["ls: /none: No such file or directory"],
        ),
        (["-a", "/data"], [".", "..", ".hidden", "a", "sub"], []),
        (["-A", "/data"], [".hidden", "a", "sub"], []),
        ([], ["data", "dev", "etc"], []),
        (["-l", "/etc"], ["total 1", "-rw-r--r--    1 root     root             2 Jan  2  2026 hostname"], []),
        (["-l", "/dev/null"], ["crw-rw-rw-    1 root     root             0 Jan  2  2026 /dev/null"], []),
    ],
    ids=lambda value: " ".join(value),
)
def test_listings(
    mounted: Path, arguments: list[str], output: list[str], errors: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: WHEN.timestamp() + 365 * 86400)
    (mounted / ".hidden").touch()
    found = listing(view(mounted), arguments)
    assert (found.output, found.errors) == (output, errors)


def test_an_option_of_ls_that_is_not_known_is_named(mounted: Path) -> None:
    with pytest.raises(UnknownOptionError, match="-lR"):
        listing(view(mounted), ["-lR", "/"])
