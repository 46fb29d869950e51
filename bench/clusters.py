"""Embedded clusters that last as long as a measurement, in a directory that goes with them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Directly below /tmp, because unix sockets lie in it and their paths are limited to 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="drakit-", dir="/tmp", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@contextmanager
def running(spec: ClusterSpec) -> Iterator[LocalCluster]:
    """A started cluster; ``ready_seconds`` says how long that took. It is stopped however the block ends."""
    with scratch_directory() as directory:
        cluster = LocalCluster(spec, ClusterHome(directory))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
