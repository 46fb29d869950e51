"""Removing what Docker has of a kind cluster, although what made it may still be at work in the daemon."""

from __future__ import annotations

import time
from pathlib import Path

from drakit_kind.kind import network
from drakit_kind.kind.docker import remove_nodes

# The daemon completes requests even if the process that sent them was killed.
_LOOKS = 3
_PAUSE = 2.0


def remove_cluster(cluster: str, directory: Path, *, settled: bool) -> None:
    """Remove a kind cluster's nodes with all that is in them, and kind's network if no other cluster needs it.

    ``directory`` is the cluster's, and stays. ``settled``: nothing can come any more; otherwise nothing must have come
    for some seconds.
    """
    left = 1 if settled else _LOOKS
    while left:
        left = _LOOKS if remove_nodes(cluster) and not settled else left - 1
        if left:
            time.sleep(_PAUSE)
    network.release(directory)
