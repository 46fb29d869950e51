"""Which binaries a build or a download gets: those that are named, all of a version, or what clusters lack here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from drakit_kind.kubernetes.assets import find_assets
from drakit_kind.kubernetes.releases import Release, checked_name, is_of_kubernetes, pinned_release, pinned_releases

if TYPE_CHECKING:
    from drakit_kind.clusters.backends import Backend


@dataclass(frozen=True)
class Wanted:
    """Names of binaries by the release that has them; ``nowhere``: a line for each that no release has.

    The latter is for the start of a cluster to refuse, as ``--real`` may name components that do without.
    """

    by_release: Sequence[tuple[Release, Sequence[str]]]
    nowhere: Sequence[str] = field(default=())


def named(version: str, only: Sequence[str]) -> Wanted:
    """Return these binaries of a version, or all of it where none is named.

    Raises ``ClusterError`` for a version that is not pinned and a name that is none.
    """
    release = pinned_release(version)
    return Wanted([(release, [checked_name(name) for name in only] or release.names)])


def lacking(version: str, backend: Backend, cache: Path | None) -> Wanted:
    """Return what clusters of a version need on this machine and is nowhere.

    ``cache`` is that of builds and downloads, where it is another than the user's. Raises ``ClusterError`` for a
    version that is not pinned and has no directory of the user's, either.
    """
    assets = find_assets(version, built_in=cache)
    missing = [name for name in _needed(backend) if assets.find(name) is None]
    of_version = list(filter(is_of_kubernetes, missing))
    others = [name for name in missing if name not in of_version]
    newest: list[tuple[Release, Sequence[str]]] = [(pinned_releases()[0], others)] if others else []
    is_pinned = assets.version in [release.version for release in pinned_releases()]
    if not is_pinned and any(map(is_of_kubernetes, assets.found())):
        nowhere = [f"there is no {name} of Kubernetes {version}; {assets.remedy(name)}" for name in of_version]
        return Wanted(newest, nowhere)
    return Wanted([*([(pinned_release(version), of_version)] if of_version else []), *newest])


def _needed(backend: Backend) -> Sequence[str]:
    if backend == "kind":
        from drakit_kind.kind.node_images.image_builder import BINARIES

        return BINARIES
    from drakit_kind.clusters.backends import real_components
    from drakit_kind.clusters.flags import PROGRAMS

    return [name for component in sorted(real_components(backend)) for name in PROGRAMS[component]]
