"""A short name for a directory whose own path is too long for the unix sockets below it.

A socket's path has at most 107 bytes, whatever it leads through, so a symbolic link in /tmp makes room. Its name
follows from the directory, so that every process finds it; and it counts only if it is this user's and leads there, as
anybody can make links in /tmp. Who makes one removes those of this user that lead nowhere any more: of clusters that
were killed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# sun_path of AF_UNIX holds 108 bytes with the final NUL.
SOCKET_BYTES = 107
_PLACE = Path("/tmp")  # noqa: S108  # only links are there, and whose they are is looked at
_PREFIX = "dk-"
_NAMES = f"{_PREFIX}{'[0-9a-f]' * 8}"
# The pattern of all short paths.
PATTERN = f"{_PLACE}/{_NAMES}"
# Another process may have taken the name already.
_TRIES = 4


def length() -> int:
    """Return how many bytes a short name has."""
    return len(os.fsencode(_PLACE)) + 1 + len(_PREFIX) + 8


def of(directory: Path) -> Path | None:
    """Find the short name of a directory; None if it has none."""
    return next((link for link in _names(directory) if _leads_to(link, directory)), None)


def make(directory: Path) -> Path:
    """Give a directory a short name; raises ``OSError`` if that cannot be."""
    _remove_dangling()
    if (found := of(directory)) is not None:
        return found
    for link in _names(directory):
        with suppress(FileExistsError):
            link.symlink_to(directory)
            return link
    names = ", ".join(map(str, _names(directory)))
    raise FileExistsError(
        f"{directory} is too long for unix sockets, and its short names {names} are taken by something else; "
        "remove that, or use a shorter directory (DRAKIT_HOME, or --data-dir)"
    )


def remove(directory: Path) -> None:
    """Take the short name away, if there is one."""
    if (link := of(directory)) is not None:
        link.unlink(missing_ok=True)


def _names(directory: Path) -> Iterator[Path]:
    for number in range(_TRIES):
        text = f"{os.geteuid()} {number} ".encode() + os.fsencode(directory)
        yield _PLACE / f"{_PREFIX}{hashlib.sha256(text).hexdigest()[:8]}"


def _leads_to(link: Path, directory: Path) -> bool:
    return _is_own_link(link) and link.readlink() == directory


def _is_own_link(path: Path) -> bool:
    try:
        about = path.lstat()
    except OSError:
        return False
    return stat.S_ISLNK(about.st_mode) and about.st_uid == os.geteuid()


def _remove_dangling() -> None:
    for link in _PLACE.glob(_NAMES):
        if _is_own_link(link) and not link.exists():
            link.unlink(missing_ok=True)
