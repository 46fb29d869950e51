"""The build cache: one directory for each pinned module and platform, so that nothing is ever built twice.

``<cache>/kubernetes/1.37.1-linux-amd64-0123456789ab/`` holds ``bin/NAME``, ``build.log`` and, during a build, a lock
and what is not finished yet. A binary appears in ``bin`` in one step, when it is whole.
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
    """What is built, or will be, of one release."""

    directory: Path

    @classmethod
    def of(cls, release: Release, cache: Path | None = None) -> CacheEntry:
        """Return the cache entry of a release for this machine's platform, whether it exists or not."""
        key = "-".join((release.version, *host_platform(), release.digest))
        return cls((cache or cache_directory()).absolute() / "kubernetes" / key)

    @property
    def binaries(self) -> Path:
        """The directory of what is built."""
        return self.directory / "bin"

    @property
    def log(self) -> Path:
        """What Go printed, of all builds."""
        return self.directory / "build.log"

    @property
    def unfinished(self) -> Path:
        """Where a build works; it exists during a build only, or after one that was killed."""
        return self.directory / "unfinished"

    def has(self, name: str) -> bool:
        """Whether a binary is built."""
        return (self.binaries / name).is_file()

    def size(self) -> int:
        """Bytes of all that is built."""
        return sum(path.stat().st_size for path in self.binaries.glob("*"))

    def make(self) -> None:
        """Create the directories that are missing, private to the user, who will run what is in them."""
        for directory in (*reversed(self.binaries.parents), self.binaries):
            if not directory.exists():
                directory.mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def locked(self, on_wait: Callable[[int], None]) -> Iterator[None]:
        """Be the only build of this entry. ``on_wait`` is called with the process id of another one, if we must wait.

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
