"""The file system that a container would see: its mounts in one tree, in which symbolic links lead where they do there.

All of it is looked up here, name by name. So ``..`` and links stay inside the container, and a mount is only ever
asked for what stands below it.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping
from typing import BinaryIO, TypeVar

from drakit_embedded.kubelet.execution.entries import Entry, Parts, Source, refused
from drakit_embedded.kubelet.execution.stored_files import NotLoadedError

T = TypeVar("T")
# PATH_MAX, and how many links Linux follows for one path.
_LONGEST_PATH = 4096
_MOST_LINKS = 40


class View:
    """The mounts of a container by their places, that of the root among them; the deepest one has a path."""

    def __init__(self, mounts: Mapping[Parts, Source], directory: str = "/") -> None:
        self._mounts = mounts
        # Where relative paths begin.
        self.directory = directory

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work``, which looks at files, in a thread, once all that it looks at is loaded."""
        while True:
            try:
                return await asyncio.to_thread(work)
            except NotLoadedError as missing:
                await missing.source.load()

    def entry(self, path: str, *, follow: bool = True) -> Entry:
        """Look at what stands at a path; ``OSError`` as the system would raise it."""
        return self._at(self._resolved(path, follow=follow))

    def listing(self, path: str) -> dict[str, Entry]:
        """List a directory with its entries, by name; ``OSError`` as the system would raise it."""
        parts = self._resolved(path)
        names = {place[len(parts)] for place in self._mounts if _is_below(place, parts)}
        source, below = self._source(parts)
        try:
            names.update(source.names(below))
        except FileNotFoundError:
            if not names:
                raise
        found: dict[str, Entry] = {}
        for name in sorted(names):
            try:
                found[name] = self._at((*parts, name))
            except FileNotFoundError:
                continue  # Gone since.
        return found

    def open(self, path: str) -> BinaryIO:
        """Open a regular file to be read; ``OSError`` as the system would raise it."""
        parts = self._resolved(path)
        if self._at(parts).is_directory:
            raise refused(errno.EISDIR)
        source, below = self._source(parts)
        return source.open(below)

    def _resolved(self, path: str, *, follow: bool = True) -> Parts:
        """Follow a path name by name; the last one, too, unless not ``follow``."""
        if not path or "\0" in path:
            raise refused(errno.ENOENT)
        if len(path) > _LONGEST_PATH:
            raise refused(errno.ENAMETOOLONG)
        left = list(reversed((path if path.startswith("/") else f"{self.directory}/{path}").split("/")))
        done: Parts = ()
        links = 0
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            if name == "..":
                done = done[:-1]
                continue
            found = self._at((*done, name))
            if found.is_link and (left or follow):
                links += 1
                if links > _MOST_LINKS:
                    raise refused(errno.ELOOP)
                done = () if found.target.startswith("/") else done
                left += reversed(found.target.split("/"))
                continue
            if left and not found.is_directory:
                raise refused(errno.ENOTDIR)
            done = (*done, name)
        return done

    def _at(self, parts: Parts) -> Entry:
        source, below = self._source(parts)
        try:
            return source.entry(below)
        except FileNotFoundError:
            if any(_is_below(place, parts) for place in self._mounts):
                return self._mounts[()].entry(())
            raise

    def _source(self, parts: Parts) -> tuple[Source, Parts]:
        """Find the mount that has a path, and the path below it."""
        end = next(end for end in range(len(parts), -1, -1) if parts[:end] in self._mounts)
        return self._mounts[parts[:end]], parts[end:]


def _is_below(place: Parts, parts: Parts) -> bool:
    return len(place) > len(parts) and place[: len(parts)] == parts
