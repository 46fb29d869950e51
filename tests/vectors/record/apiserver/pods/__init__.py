"""Exchanges about pods: manifests, changes of pods and statuses, most of them wrong in one way.

``tests/vectors/api/pods.jsonl.gz`` has what a real kube-apiserver answers to them; ``shows`` names what is recorded of
an object that was accepted.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.vectors.exchanges import Vector
from tests.vectors.record.apiserver.pods import changes, containers, manifests, statuses, volumes


def made() -> Iterator[Vector]:
    """All of them; names are unique."""
    yield from containers.made()
    yield from volumes.made()
    yield from manifests.made()
    yield from changes.made()
    yield from statuses.made()
