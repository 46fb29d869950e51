"""Bugs of Kubernetes itself that stories meet in patch releases that somebody may still run.

A story asks the same of every version. Where one fails of a bug that has a number and is mended in a later patch, the
summary shows that number (``xfailed``) instead of a failure that nobody who runs the story could do anything about. It
takes the very symptom, in a story that asks for it by its marker, of Kubernetes' own components: anything else that
fails is a failure, in these versions too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from drakit_kind.cluster import ClusterSpec, Component
from e2e.ledger import HeldTwice


@dataclass(frozen=True)
class KnownBug:
    """``mended_in`` is the first patch release without it, of each minor version that had it.

    It makes stories fail that have the ``marker``, in clusters whose ``components`` are all Kubernetes' own; the
    version is that of the first.
    """

    marker: str
    components: tuple[Component, ...]
    symptom: type[AssertionError]
    mended_in: tuple[str, ...]
    said: str

    def explains(self, spec: ClusterSpec, error: BaseException | None) -> bool:
        """Whether this is what a story failed of."""
        version = _numbers(spec.version_of(self.components[0]))
        is_there = any(_numbers(mended)[:2] == version[:2] and version < _numbers(mended) for mended in self.mended_in)
        return is_there and spec.real.issuperset(self.components) and isinstance(error, self.symptom)


_BUGS = [
    KnownBug(
        marker="many_at_once",
        components=("scheduler", "apiserver"),
        symptom=HeldTwice,
        mended_in=("1.34.4", "1.35.1"),
        said="kubernetes#136269: when many pods come at once, kube-scheduler gives a device to two claims now and then",
    ),
]


def known_bug(markers: Iterable[str], spec: ClusterSpec, error: BaseException | None) -> str:
    """The bug of this cluster's version that a story with these markers failed of, in words; or ""."""
    for bug in _BUGS:
        if bug.marker in markers and bug.explains(spec, error):
            return f"{bug.said} (mended in {' and '.join(bug.mended_in)}); here: {error}"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    """(1, 34, 3) of "1.34.3" and of "v1.34.3+vendor"."""
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()
