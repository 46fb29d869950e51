"""Finding the real binaries of a Kubernetes version, without building or downloading anything.

A directory that the user names comes first, name by name, then drakit's cache of builds and downloads. What does not
belong to a Kubernetes version (etcd, containerd, CNI plugins, ...) may be another version's there, the newest first.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.kubernetes.cache import CacheEntry, host_platform
from drakit_kind.kubernetes.mains import NAMES
from drakit_kind.kubernetes.releases import (
    Release,
    checked_name,
    checked_version,
    is_of_kubernetes,
    pinned_releases,
)

DIRECTORY_VARIABLE = "DRAKIT_KUBERNETES_DIR"

# Programs whose --version is that of the Kubernetes release.
_TELL_VERSION = ("kube-apiserver", "kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy")
_VERSION_SECONDS = 30.0


@dataclass(frozen=True)
class Assets:
    """Where the binaries of one version are looked for: ``own`` directories, then, for what fits all, ``newest``."""

    version: str
    own: tuple[Path, ...]
    newest: tuple[Path, ...]

    def path(self, name: str) -> Path:
        """Return the absolute path of a binary.

        Raises ``ClusterError`` that says where it was looked for and how to get it.
        """
        found = self.find(name)
        if found is None:
            places = "".join(f"\n  {place}" for place in self._places(name))
            searched = f"; it was looked for in{places}" if places else ""
            raise ClusterError(f"there is no {name} of Kubernetes {self.version}; {self.remedy(name)}{searched}")
        return found

    def find(self, name: str) -> Path | None:
        """Find a binary's path, or None; raise ``ClusterError`` if the name is unknown or the file not executable."""
        for place in self._places(checked_name(name)):
            candidate = place / name
            if candidate.is_file():
                if not os.access(candidate, os.X_OK):
                    raise ClusterError(f"{candidate} is not executable; `chmod +x` it")
                return candidate
        return None

    def found(self) -> dict[str, Path]:
        """Return the paths of all binaries that are there, by name."""
        found = {name: self.find(name) for name in NAMES}
        return {name: path for name, path in found.items() if path is not None}

    def remedy(self, name: str) -> str:
        """Say how to get a missing binary, as the end of a sentence: the build that has it, or a directory."""
        builds = [release.version for release in pinned_releases() if name in release.names]
        version = self.version if self.version in builds else builds[0]
        if is_of_kubernetes(name) and version != self.version:
            return f"drakit builds {', '.join(builds)} only, so name a directory that has it in ${DIRECTORY_VARIABLE}"
        return f"`drakit kubernetes build {version}` builds it with all the others (`--only {name}`: it alone)"

    def _places(self, name: str) -> Iterator[Path]:
        yield from self.own
        if not is_of_kubernetes(name):
            yield from self.newest


def find_assets(version: str, directory: Path | None = None, *, built_in: Path | None = None) -> Assets:
    """Find where a version's binaries may be; a missing one is an error only when it is asked for.

    ``directory`` (default: ``$DRAKIT_KUBERNETES_DIR``) has them below a directory of the version's name, with or
    without ``bin``, or directly, as a release download (``kubernetes/server/bin``) and envtest do. ``built_in`` is the
    cache of builds, where it is another than the user's. Raises ``ClusterError`` if the directory does not exist, or
    if it has those of another version.
    """
    version = checked_version(version)
    if directory is None and (named := os.environ.get(DIRECTORY_VARIABLE)):
        directory = Path(named)
    releases = pinned_releases()
    own = [] if directory is None else _in_directory(directory.absolute(), version)
    own += [_built(release, built_in) for release in releases if release.version == version]
    newest = [_built(release, built_in) for release in releases if release.version != version]
    return Assets(version, tuple(own), tuple(newest))


def assets_of(spec: ClusterSpec, version: str) -> Assets:
    """Find where a cluster's binaries of a version may be; see ``find_assets``."""
    return find_assets(version, Path(spec.kubernetes_dir) if spec.kubernetes_dir else None)


def _built(release: Release, cached_in: Path | None) -> Path:
    return CacheEntry.of(release, cached_in).binaries


def _in_directory(directory: Path, version: str) -> list[Path]:
    if not directory.is_dir():
        raise ClusterError(f"{directory} is no directory; it was to hold the binaries of Kubernetes {version}")
    # setup-envtest names its directories 1.37.1-linux-amd64.
    names = (version, f"v{version}", "-".join((version, *host_platform())))
    below = [path for name in names for path in (directory / name / "bin", directory / name) if path.is_dir()]
    if below:
        return below
    direct = [path for path in (directory / "bin", directory) if any((path / name).is_file() for name in NAMES)]
    for path in direct:
        _check_version(path, version)
    return direct or [directory]


def _check_version(place: Path, version: str) -> None:
    for teller in (place / name for name in _TELL_VERSION if (place / name).is_file()):
        if (actual := _version_of(teller, teller.stat().st_mtime_ns)) != version:
            raise ClusterError(
                f"{teller} is Kubernetes {actual}, not {version}; put each version's binaries in a directory of its "
                f"name: {place / version}"
            )


@cache  # each of the many who look for binaries would run them all
def _version_of(executable: Path, changed: int) -> str:
    """Run ``--version``: ``1.37.1`` of ``Kubernetes v1.37.1``; ``changed``, the file's mtime, is a key of the cache."""
    try:
        said = subprocess.run(
            [executable, "--version"], capture_output=True, text=True, check=False, timeout=_VERSION_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"{executable} does not tell its version: {error}") from error
    found = re.search(r"^Kubernetes v(\S+)", said.stdout)
    if found is None:
        raise ClusterError(f"{executable} does not tell its version: {(said.stdout + said.stderr).strip()[:200]}")
    return found[1]
