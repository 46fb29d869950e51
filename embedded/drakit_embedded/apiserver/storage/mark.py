"""The highest version that a client was told of, in a file beside the data, so that lost changes are missed.

It is written after a change and before its acknowledgement, into the memory of the operating system as the change
itself: a process that is killed loses neither. It says whose it is, since data files are moved away and put back.
"""

from __future__ import annotations

import logging
import os
import struct
import zlib
from pathlib import Path

from drakit_client.files import regular_files

log = logging.getLogger(__name__)

_CONTENT = struct.Struct("<QQ")  # identity of the data file, version
_CHECKED = struct.Struct("<QQI")  # the same with its CRC-32


def path_of(data: Path) -> Path:
    """Build the path of a data file's mark."""
    return data.with_name(data.name + ".mark")


def is_written(data: Path) -> bool:
    """Check whether a data file of this path, which may have been another one, has a mark."""
    try:
        return path_of(data).lstat().st_size > 0
    except FileNotFoundError:
        return False


class Mark:
    """The mark of the data file ``data``, open for writing. Raises ``OSError``."""

    def __init__(self, data: Path, identity: int) -> None:
        self._path = path_of(data)
        self._identity = identity
        self._file = regular_files.open_descriptor(self._path, os.O_RDWR | os.O_CREAT)

    def read(self) -> int:
        """Read the version; 0 if the file has none of this data file, or is damaged, which is logged."""
        content = os.pread(self._file, _CHECKED.size + 1, 0)
        if not content:
            return 0
        if len(content) != _CHECKED.size or zlib.crc32(content[: _CONTENT.size]) != _CHECKED.unpack(content)[2]:
            log.warning("%s is damaged: whether the newest changes were lost cannot be said", self._path)
            os.ftruncate(self._file, 0)
            return 0
        identity, version, _ = _CHECKED.unpack(content)
        return int(version) if identity == self._identity else 0

    def write(self, version: int) -> None:
        """Write a version in place of the former one."""
        content = _CONTENT.pack(self._identity, version)
        os.pwrite(self._file, content + zlib.crc32(content).to_bytes(4, "little"), 0)

    def close(self) -> None:
        """Release the file, which stays."""
        os.close(self._file)
