"""Building a release's binaries with the user's Go, one after the other, into the cache.

The first binary compiles most of what the others share, so the order of the table matters more than parallel builds
would: Go uses all cores by itself.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from typing import IO, Protocol

from drakit_kind.cluster import ClusterError
from drakit_kind.kubernetes import toolchain
from drakit_kind.kubernetes.cache import CacheEntry, host_platform
from drakit_kind.kubernetes.published import UNPUBLISHED
from drakit_kind.kubernetes.releases import Release, check_in_release
from drakit_kind.processes.spawn import log_tail

# Leave out storage drivers that need C libraries: nodes use overlayfs. Other modules know none of these tags.
_TAGS = "no_btrfs,no_devmapper,no_zfs"
_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false", f"-tags={_TAGS}")
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


class Progress(Protocol):
    """Who is told how a build goes on."""

    def waiting(self, process: int) -> None:
        """Report that another process builds the same, and that this one waits for it."""

    def started(self, name: str, number: int, of: int) -> None:
        """Report that a binary is being built, the ``number``-th ``of`` those that are missing."""

    def said(self, line: str) -> None:
        """Report a line of Go's output."""

    def finished(self, name: str, seconds: float, size: int) -> None:
        """Report that a binary is complete; ``size`` is in bytes."""


def build(release: Release, names: Sequence[str], entry: CacheEntry, progress: Progress) -> list[str]:
    """Build what is missing of ``names``; return what was built.

    Raises ``ClusterError`` with Go's last lines. What is built by then is kept, and the next build continues from it;
    the same holds after Ctrl-C.
    """
    check_in_release(release, names)
    if sys.platform != "linux":
        raise ClusterError("drakit builds Kubernetes' binaries on Linux only; elsewhere name a directory with them")
    entry.make()
    with entry.locked(progress.waiting):
        missing = [name for name in release.names if name in names and not entry.has(name)]
        if missing:
            _build_missing(release, missing, entry, progress)
    return missing


def _link_flags(version: str) -> str:
    """Return ``-ldflags``: without the version in two places, emulated versions and feature gates are wrong."""
    major, minor, _ = version.split(".", 2)
    values = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    stamped = [f"-X {package}.{key}={value}" for package in _VERSION_PACKAGES for key, value in values.items()]
    return " ".join(["-s", "-w", *stamped])


def _build_missing(release: Release, missing: Sequence[str], entry: CacheEntry, progress: Progress) -> None:
    go = _find_go(release, missing)
    shutil.rmtree(entry.unfinished, ignore_errors=True)
    entry.unfinished.mkdir(mode=0o700, exist_ok=True)
    try:
        with entry.log.open("a") as log:
            for number, name in enumerate(missing, start=1):
                progress.started(name, number, len(missing))
                began, cpu = time.monotonic(), _cpu_seconds()
                _note(log, f"{name}, with {go.version}")
                _build_one(release, name, entry, go, log, progress)
                seconds = time.monotonic() - began
                _note(log, f"{name}: {seconds:.1f} s, {_cpu_seconds() - cpu:.1f} s of processor time")
                progress.finished(name, seconds, (entry.binaries / name).stat().st_size)
    finally:
        shutil.rmtree(entry.unfinished, ignore_errors=True)


def _find_go(release: Release, missing: Sequence[str]) -> toolchain.Go:
    try:
        return toolchain.find_go(release.go_version, f"building Kubernetes {release.version}")
    except ClusterError as error:
        if set(missing) <= set(UNPUBLISHED):
            raise
        raise ClusterError(
            f"{error}; or take the published programs, without Go: `drakit kubernetes download {release.version}`"
        ) from None


def _build_one(
    release: Release, name: str, entry: CacheEntry, go: toolchain.Go, log: IO[str], progress: Progress
) -> None:
    goos, goarch = host_platform()
    built = entry.unfinished / name
    # Go's temporary files lie with ours, so that a killed build leaves nothing elsewhere.
    work = entry.unfinished / "work"
    work.mkdir(exist_ok=True)
    status = toolchain.run(
        [go.executable, "build", "-o", built, "-ldflags", _link_flags(release.version), release.package(name)],
        directory=release.directory,
        environment=toolchain.environment(_FLAGS, GOOS=goos, GOARCH=goarch, CGO_ENABLED="0", GOTMPDIR=str(work)),
        log=log,
        on_line=progress.said,
    )
    if status:
        raise ClusterError(
            f"{name} of Kubernetes {release.version}: `go build` ended with status {status}; "
            f"the end of {entry.log}:{log_tail(entry.log)}"
        )
    built.rename(entry.binaries / name)


def _note(log: IO[str], text: str) -> None:
    log.write(f"== {time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
    log.flush()


def _cpu_seconds() -> float:
    """Return the CPU seconds of all child processes that have ended, including their own children."""
    times = os.times()
    return times.children_user + times.children_system
