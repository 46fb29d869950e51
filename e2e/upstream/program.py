"""The Go programs of the tests: their pinned module is ``module/`` beside this file, built as all of Kubernetes.

They have a module of their own, as tests need packages that no component does, and nobody who builds a cluster's
components should have to build them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drakit_client.files.user_cache import cache_directory
from drakit_kind.cli.kubernetes.build_progress import BuildProgress
from drakit_kind.cluster import KUBERNETES_VERSION
from drakit_kind.kubernetes.build import build
from drakit_kind.kubernetes.cache import CacheEntry
from drakit_kind.kubernetes.releases import Release

TESTS = "upstream-e2e"
# What runs in pods of the tests: Kubernetes' own, built as it is, and a stand-in.
DEVICE_PLUGIN = "sample-device-plugin"
PROXY = "hostpathplugin"
OF_PODS = (DEVICE_PLUGIN, PROXY)
_OF_KUBERNETES = {DEVICE_PLUGIN: f"k8s.io/kubernetes/test/images/{DEVICE_PLUGIN}"}
_MODULE = Path(__file__).parent / "module"


@dataclass(frozen=True)
class _TestRelease(Release):
    """The module of the tests."""

    @property
    def names(self) -> tuple[str, ...]:
        return (TESTS, *OF_PODS)

    def package(self, name: str) -> str:
        return _OF_KUBERNETES.get(name) or super().package(name)


def built_programs(names: Sequence[str]) -> dict[str, Path]:
    """Build those that are not in the cache; the paths of all of them. Raises ``ClusterError`` without Go."""
    release = _TestRelease(KUBERNETES_VERSION, _MODULE)
    entry = CacheEntry.of(release, cache_directory() / "upstream")
    with BuildProgress() as progress:
        build(release, names, entry, progress)
    return {name: entry.binaries / name for name in names}
