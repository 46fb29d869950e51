"""A cluster for the length of a block, for programs that are no pytest suite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from drakit_kind.cluster import ClusterSpec, Report, silent
from drakit_kind.clusters import temporary
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster


@contextlib.contextmanager
def temporary_cluster(spec: ClusterSpec | None = None, *, report: Report = silent) -> Iterator[LocalCluster]:
    """Start a cluster on this machine (``embedded``, or real components by ``spec.real``), and end it with the block.

    ``spec`` says which nodes, drivers, versions and gates (default: API server, controllers and scheduler without a
    node); ``report`` is told of each step that takes long. Its files go with it, also if this process is killed.
    Raises ``ClusterError`` if it does not start.
    """
    home = ClusterHome.temporary()
    cluster = LocalCluster(spec or ClusterSpec(), home, temporary=True, report=report)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        temporary.remove(home.directory)
