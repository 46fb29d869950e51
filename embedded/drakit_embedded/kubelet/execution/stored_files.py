"""Files of a container that no machine has: those that the kubelet would write, of volumes and its own."""

from __future__ import annotations

import errno
import io
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO

from drakit_embedded.kubelet.execution.entries import DIRECTORY, Entry, Parts, refused


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file, or with a ``target`` a symbolic link."""

    content: bytes = b""
    mode: int = stat.S_IFREG | 0o644
    target: str = ""


# Files by their paths below the mount.
Files = Mapping[str, StoredFile]


class NotLoadedError(Exception):
    """Files that have to be loaded first; whoever catches it does that, and looks again."""

    def __init__(self, source: StoredFiles) -> None:
        super().__init__("these files are not loaded yet")
        self.source = source


class StoredFiles:
    """A directory of files as old as ``when``; they may come from somewhere that must be waited for."""

    def __init__(self, files: Files | Callable[[], Awaitable[Files]], when: datetime) -> None:
        self._modified = when.timestamp()
        self._loader = None if isinstance(files, Mapping) else files
        self._found: dict[Parts, StoredFile | None] = {(): None}
        if isinstance(files, Mapping):
            self._keep(files)

    async def load(self) -> None:
        """Load the files."""
        loader, self._loader = self._loader, None
        if loader is not None:
            self._keep(await loader())

    def entry(self, parts: Parts) -> Entry:
        """Look at what stands at a path below the mount, or at the mount itself."""
        file = self._at(parts) if parts else None
        if file is None:
            return replace(DIRECTORY, modified=self._modified)
        return Entry(file.mode, len(file.target or file.content), self._modified, target=file.target)

    def names(self, parts: Parts) -> Sequence[str]:
        """List a directory."""
        if self._at(parts) is not None:
            raise refused(errno.ENOTDIR)
        return [path[-1] for path in self._found if path and path[:-1] == parts]

    def open(self, parts: Parts) -> BinaryIO:
        """Open a regular file to be read, or a device that has nothing to read."""
        file = self._at(parts)
        if file is None:
            raise refused(errno.EISDIR)
        if not stat.S_ISREG(file.mode) and parts[-1] != "null":
            raise refused(errno.EPERM)
        return io.BytesIO(file.content)

    def _at(self, parts: Parts) -> StoredFile | None:
        if self._loader is not None:
            raise NotLoadedError(self)
        try:
            return self._found[parts]
        except KeyError:
            raise refused(errno.ENOENT) from None

    def _keep(self, files: Files) -> None:
        for path, file in files.items():
            parts = tuple(path.split("/"))
            self._found.update(dict.fromkeys((parts[:end] for end in range(1, len(parts))), None))
            self._found[parts] = file


def in_one_step(files: Files, when: datetime, number: int) -> Files:
    """Lay files out as the kubelet does, so that all change at once.

    After k8s.io/kubernetes/pkg/volume/util/atomic_writer.go: they are in a directory with a time in its name, to which
    ``..data`` leads; their own names lead there.
    """
    directory = f"..{when:%Y_%m_%d_%H_%M_%S}.{number}"
    linked = stat.S_IFLNK | 0o777
    tops = {path.partition("/")[0] for path in files}
    return {
        **{f"{directory}/{path}": file for path, file in files.items()},
        "..data": StoredFile(mode=linked, target=directory),
        **{top: StoredFile(mode=linked, target=f"..data/{top}") for top in tops},
    }
