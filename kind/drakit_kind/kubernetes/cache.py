"""The cache of builds and downloads: one directory for each pinned module and platform, so that none is done twice.

``<cache>/kubernetes/1.37.1-linux-amd64-0123456789ab/`` holds ``bin/NAME``, ``build.log``, a lock and, during a build,
what is not finished yet. A binary appears in ``bin`` in one step, when it is whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from drakit_client.files import regular_files
from drakit_client.files.user_cache import cache_directory
from drakit_kind.kubernetes.releases import Release

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def host_platform() -> tuple[str, str]:
    """Return GOOS and GOARCH, what Go calls this machine."""
    machine = platform.machine()
    return sys.platform, _ARCHITECTURES.get(machine, machine)


@dataclass(frozen=True)
class CacheEntry:
    """What is built or downloaded, or will be, of one release."""

    directory: Path

    @classmethod
    def of(cls, release: Release, cache: Path | None = None) -> CacheEntry:
        """Return the cache entry of a release for this machine's platform, whether it exists or not."""
        key = "-".join((release.version, *host_platform(), release.digest))
        return cls((cache or cache_directory()).absolute() / "kubernetes" / key)

    @property
    def binaries(self) -> Path:
        """The directory of the finished binaries."""
        return self.directory / "bin"

    @property
    def log(self) -> Path:
        """What Go printed in all builds, and what was downloaded."""
        return self.directory / "build.log"

    @property
    def unfinished(self) -> Path:
        """Where a build or download works; it exists only during one, or after one that was killed."""
        return self.directory / "unfinished"

    def has(self, name: str) -> bool:
        """Whether a binary is finished."""
        return (self.binaries / name).is_file()

    def size(self) -> int:
        """Return the bytes of all finished binaries."""
        return sum(path.stat().st_size for path in self.binaries.glob("*"))

    def make(self) -> None:
        """Create the directories that are missing, private to the user, who will run what is in them."""
        for directory in (*reversed(self.binaries.parents), self.binaries):
            if not directory.exists():
                directory.mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def locked(self, on_wait: Callable[[int], None]) -> Iterator[None]:
        """Be the only build or download of this entry; call ``on_wait`` with the process id of another to wait for.

        The kernel gives the lock back when a process ends, however it ends.
        """
        with os.fdopen(regular_files.open_lock(self.directory / "lock"), "r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                on_wait(int(file.read() or 0))
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            file.truncate()
            file.write(str(os.getpid()))
            file.flush()
            yield
