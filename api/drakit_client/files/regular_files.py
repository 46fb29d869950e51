"""Opens files in places where somebody else could have put something else.

A name does not say what lies behind it: reading a FIFO waits for ever, a symbolic link leads to a file that was never
meant, a device has no end, and another user's file says what that user wants. So files that drakit finds by their name
(CDI specifications, checkpoints, locks, the files of a cluster) are opened here: they must be regular files, not
links, owned by this user or root, and no longer than is sensible. Nothing is changed before that is known. Files that
a user names for reading (a layout, a kubeconfig) are the user's business: links and pipes are fine there.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MEBIBYTE = 1024 * 1024
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
# What open(2) says of links, of directories and of FIFOs and sockets that are to be written to.
_NOT_REGULAR = (errno.ELOOP, errno.EISDIR, errno.ENXIO)


class UnusableFileError(OSError):
    """Something that is there, but may not be used; the message names it and says why."""


def open_descriptor(path: Path, flags: int, *, anyones: bool = False) -> int:
    """Open ``path`` as ``os.open`` does, a new file with mode 0600; never waits, and follows no link.

    Raises ``UnusableFileError`` for anything but a regular file of this user or root, or of whoever else if
    ``anyones``; and the other errors of ``os.open``. Nothing is truncated: ``O_TRUNC`` would come before the check.
    """
    if flags & os.O_TRUNC:
        raise ValueError("truncate the file after it was opened")
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, 0o600)
    except OSError as error:
        if error.errno in _NOT_REGULAR:
            raise UnusableFileError(f"{path} is {_kind(path)}, not a regular file") from error
        raise
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise UnusableFileError(f"{path} is {_KINDS[stat.S_IFMT(about.st_mode)]}, not a regular file")
        if not anyones and about.st_uid not in (os.geteuid(), 0):
            raise UnusableFileError(f"{path} belongs to another user (uid {about.st_uid})")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(path: Path, *, limit: int = MEBIBYTE, anyones: bool = False) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes; raises as ``open_descriptor`` does."""
    with os.fdopen(open_descriptor(path, os.O_RDONLY, anyones=anyones), "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise UnusableFileError(f"{path} is larger than {limit} bytes")
    return content


def open_lock(path: Path) -> int:
    """Open a file that is there to be locked, and made (0600) if it is missing; raises as ``open_descriptor`` does."""
    return open_descriptor(path, os.O_RDWR | os.O_CREAT)


def _kind(path: Path) -> str:
    try:
        return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "not readable")
    except OSError:  # gone meanwhile
        return "something else"
