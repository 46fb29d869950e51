"""The Kubernetes versions that drakit can build: one pinned Go module each, in ``kind/kubernetes/<version>``.

In a source tree the modules lie beside the packages, in an installed wheel inside of this one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from semver import Version

from drakit_kind.cluster import ClusterError
from drakit_kind.kubernetes.mains import NAMES, OF_KUBERNETES, PLUGINS

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?)")
_GO_VERSION = re.compile(r"^go (\S+)$", re.MULTILINE)


def checked_version(text: str) -> str:
    """Return ``1.37.1`` for it and for ``v1.37.1``; raise ``ClusterError`` for others, as it becomes part of paths."""
    if not (found := _VERSION.fullmatch(text)):
        raise ClusterError(f"Kubernetes version {text!r}: write it with three numbers, as in 1.37.1")
    return found[1]


@dataclass(frozen=True)
class Release:
    """One pinned version and the directory of its Go module."""

    version: str
    directory: Path

    @property
    def go_version(self) -> str:
        """The oldest Go that builds it, e.g. ``1.26.6``."""
        found = _GO_VERSION.search(self._go_mod)
        if found is None:
            raise ClusterError(f"{self.directory}/go.mod has no go line; pin version {self.version} again")
        return found[1]

    @property
    def names(self) -> tuple[str, ...]:
        """What it builds, in the order in which it is built."""
        return tuple(name for name in NAMES if self._has(name))

    @property
    def digest(self) -> str:
        """What its binaries depend on: twelve hexadecimal digits of the SHA-256 of go.mod, go.sum and the mains."""
        files = [*(self.directory / name for name in ("go.mod", "go.sum")), *sorted(self.directory.glob("cmd/*/*.go"))]
        summary = hashlib.sha256()
        for path in files:
            content = path.read_bytes()
            summary.update(f"{path.relative_to(self.directory)} {len(content)}\n".encode())
            summary.update(content)
        return summary.hexdigest()[:12]

    def package(self, name: str) -> str:
        """Return the package that ``go build`` builds one of the release's binaries from."""
        return PLUGINS.get(name) or f"./cmd/{name}"

    def required_version(self, module: str) -> str:
        """Read a module's version from go.mod, e.g. ``v3.7.3``; raise ``ClusterError`` if it is not required."""
        found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", self._go_mod, re.MULTILINE)
        if found is None:
            raise ClusterError(f"{self.directory}/go.mod requires no {module}; pin version {self.version} again")
        return found[1]

    def _has(self, name: str) -> bool:
        if name in PLUGINS:
            return re.search(rf"^\s+{re.escape(PLUGINS[name])}$", self._go_mod, re.MULTILINE) is not None
        return (self.directory / "cmd" / name / "main.go").is_file()

    @property
    def _go_mod(self) -> str:
        return (self.directory / "go.mod").read_text()


def modules_directory() -> Path:
    """Return the directory with the modules of all pinned versions."""
    package = Path(__file__).parent
    installed = package / "pinned"
    return installed if installed.is_dir() else package.parents[1] / "kubernetes"


def pinned_releases(directory: Path | None = None) -> list[Release]:
    """List the pinned versions, the newest first."""
    modules = directory or modules_directory()
    found = [Release(path.parent.name, path.parent) for path in modules.glob("*/go.mod")]
    return sorted(found, key=lambda release: Version.parse(release.version), reverse=True)


def pinned_release(version: str) -> Release:
    """Return the release of a version; raise ``ClusterError`` if it is not pinned."""
    releases = pinned_releases()
    wanted = checked_version(version)
    for release in releases:
        if release.version == wanted:
            return release
    known = ", ".join(release.version for release in releases)
    raise ClusterError(
        f"drakit has no build of Kubernetes {wanted}, only of {known}; of another version, name a directory with its "
        "binaries in $DRAKIT_KUBERNETES_DIR"
    )


def check_in_release(release: Release, names: Iterable[str]) -> None:
    """Raise ``ClusterError`` for a name that this version does not have."""
    if foreign := [name for name in names if name not in release.names]:
        raise ClusterError(
            f"the module of Kubernetes {release.version} has no {', '.join(foreign)}, only "
            f"{', '.join(release.names)}; what serves every version comes with the newest one"
        )


def checked_name(name: str) -> str:
    """Return a known binary's name, which becomes part of paths; raise ``ClusterError`` for any other."""
    if name not in NAMES:
        raise ClusterError(f"there is no binary {name!r}; known are {', '.join(NAMES)}")
    return name


def is_of_kubernetes(name: str) -> bool:
    """Whether a binary belongs to a Kubernetes version; others (etcd, containerd, ...) serve them all."""
    return name in OF_KUBERNETES
