"""Downloading a release's published programs into the cache that builds fill, each one checked before it is there.

A checksum says that a file is what its host publishes. Who controls the host could change both: that is what https to
the project's own host is for.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from drakit_client.processes.ending_signals import run_until_told
from drakit_kind.cluster import ClusterError
from drakit_kind.kubernetes import archives
from drakit_kind.kubernetes.cache import CacheEntry, host_platform
from drakit_kind.kubernetes.fetching import Fetcher, MissingFileError, shown_url
from drakit_kind.kubernetes.published import UNPUBLISHED, Hosts, PublishedFile, published_files
from drakit_kind.kubernetes.releases import Release, check_in_release, pinned_releases

_ALGORITHMS = {64: "sha256", 128: "sha512"}  # by the number of hexadecimal digits
_DIGEST = re.compile(r"[0-9a-f]{64}|[0-9a-f]{128}", re.IGNORECASE)


class Progress(Protocol):
    """Who is told how a download goes on."""

    def waiting(self, process: int) -> None:
        """Report that another process works on the same, and that this one waits for it."""

    def started(self, name: str, number: int, of: int) -> None:
        """Report that a file is being downloaded, the ``number``-th ``of`` those that are missing."""

    def received(self, size: int, of: int | None) -> None:
        """Report the bytes of a file that have come, and ``of`` how many; None where the server does not say."""

    def finished(self, name: str, seconds: float, size: int) -> None:
        """Report that the programs of a file are there; ``size`` is the file's, in bytes."""


def download(
    release: Release,
    names: Sequence[str],
    entry: CacheEntry,
    progress: Progress,
    *,
    hosts: Hosts | None = None,
    replace: bool = False,
) -> list[str]:
    """Download what is missing of ``names``, or with ``replace`` all of them; return what was downloaded.

    Raises ``ClusterError`` that names the file. What is complete by then is kept, nothing of the rest is, and the next
    download continues from it; the same holds after Ctrl-C.
    """
    check_in_release(release, names)
    if unpublished := [name for name in names if name in UNPUBLISHED]:
        raise ClusterError(without_release(release, unpublished))
    if sys.platform != "linux":
        raise ClusterError("what is downloaded runs on Linux only; elsewhere, clusters are embedded or in kind")
    entry.make()
    with entry.locked(progress.waiting):
        missing = [name for name in release.names if name in names and (replace or not entry.has(name))]
        if missing:
            _download_all(published_files(release, missing, hosts or Hosts()), entry, progress)
    return missing


def without_release(release: Release, names: Sequence[str]) -> str:
    """Return what to do about programs that are published as images only, as a sentence."""
    only = " ".join(f"--only {name}" for name in names)
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{' and '.join(names)} {verb} published as an image only; with Go, build what you need of it: "
        f"`drakit kubernetes build {release.version} {only}`"
    )


def published_digest(text: str, file: str) -> str | None:
    """Return the hash of a file out of what is published: a hash alone, or lines of one and a name (``sha256sum``)."""
    for line in text.splitlines():
        digest, _, name = line.strip().partition(" ")
        is_its = not name or PurePosixPath(name.strip().removeprefix("*")).name == file
        if is_its and _DIGEST.fullmatch(digest):
            return digest.lower()
    return None


def _download_all(files: Sequence[PublishedFile], entry: CacheEntry, progress: Progress) -> None:
    shutil.rmtree(entry.unfinished, ignore_errors=True)
    entry.unfinished.mkdir(mode=0o700)
    try:
        run_until_told(_download_each(files, entry, progress))
    finally:
        shutil.rmtree(entry.unfinished, ignore_errors=True)


async def _download_each(files: Sequence[PublishedFile], entry: CacheEntry, progress: Progress) -> None:
    async with Fetcher() as fetcher:
        for number, published in enumerate(files, start=1):
            progress.started(published.name, number, len(files))
            began = time.monotonic()
            file, digest = await _checked_file(fetcher, published, entry.unfinished, progress)
            size = file.stat().st_size
            for program in _unpacked(file, published):
                program.chmod(0o755)
                program.rename(entry.binaries / program.name)
            file.unlink(missing_ok=True)
            _note(entry, f"{', '.join(published.programs)}, downloaded from {shown_url(published.url)} ({digest})")
            progress.finished(published.name, time.monotonic() - began, size)


async def _checked_file(
    fetcher: Fetcher, published: PublishedFile, scratch: Path, progress: Progress
) -> tuple[Path, str]:
    """Download a file and check its hash; return its path and the hash as ``sha256:0123...``."""
    file = scratch / f"download-{published.name}"
    checksums = shown_url(published.checksum_url)
    try:
        text = await fetcher.text(published.checksum_url)
        expected = published_digest(text, published.name)
        if expected is None:
            raise ClusterError(f"{checksums} has no SHA-256 or SHA-512 of {published.name}")
        algorithm = _ALGORITHMS[len(expected)]
        got = await fetcher.save(published.url, file, algorithm, progress.received)
    except MissingFileError as error:
        raise ClusterError(f"{error}; {_why_missing(published)}") from None
    if got != expected:
        raise ClusterError(
            f"{shown_url(published.url)} is not what was published: its {algorithm} is {got}, and {checksums} says "
            f"{expected}; it was removed. Try again later, or another --url"
        )
    return file, f"{algorithm}:{got}"


def _why_missing(published: PublishedFile) -> str:
    versions = ", ".join(release.version for release in pinned_releases())
    return (
        f"this host has no {published.whose} for linux/{host_platform()[1]}. Projects publish for amd64 and arm64; "
        f"drakit knows Kubernetes {versions}"
    )


def _unpacked(file: Path, published: PublishedFile) -> list[Path]:
    """Take the programs out of a downloaded file, and return the file of each, beside it."""
    members = {name: path for name, path in published.programs.items() if path is not None}
    if members:
        archives.take(file, members, file.parent)
    else:
        (name,) = published.programs
        file.rename(file.with_name(name))
    return [file.with_name(name) for name in published.programs]


def _note(entry: CacheEntry, text: str) -> None:
    with entry.log.open("a") as log:
        log.write(f"== {time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
