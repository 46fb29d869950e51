"""A guard (see ``guards``) that removes a kind cluster and its directory if the process that started it cannot.

Killed itself, it does nothing.
"""

from __future__ import annotations

import logging
import shutil
import sys
import time
from pathlib import Path

from drakit_kind import guards
from drakit_kind.cluster import ClusterError
from drakit_kind.kind.docker import remove_cluster, remove_nodes

log = logging.getLogger("drakit.guard")

# What was asked of the daemon before everything else ended, it still does.
_LOOKS = 3
_PAUSE = 2.0
_ATTEMPTS = 30  # that may fail


class Guard:
    """Watches over one cluster and its directory until ``dismiss``, or until this process ends.

    What it has to say is in ``guard.log`` of the directory, which stays if the cluster cannot be removed.
    """

    def __init__(self, cluster: str, directory: Path, *, network: bool) -> None:
        arguments = (cluster, str(directory), str(int(network)))
        self._process = guards.start("drakit_kind.kind.guard", *arguments, log=directory / "guard.log")

    def dismiss(self) -> None:
        """The cluster is gone, or shall stay."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def remove(cluster: str, directory: Path, *, network: bool) -> None:
    """Remove a cluster and its directory, although what made it may still be at work in the daemon."""
    nothing = failed = 0
    while nothing < _LOOKS:
        try:
            nothing = 0 if remove_nodes(cluster) else nothing + 1
        except ClusterError:
            log.exception("removing %s failed", cluster)
            failed, nothing = failed + 1, 0
            if failed == _ATTEMPTS:
                raise
        time.sleep(_PAUSE)
    remove_cluster(cluster, network=network)
    shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    """``python -m drakit_kind.kind.guard CLUSTER DIRECTORY 0|1``; 1: kind's network goes, if nobody else is in it."""
    guards.wait_for_starter()
    cluster, directory, network = sys.argv[1:]
    remove(cluster, Path(directory), network=network == "1")


if __name__ == "__main__":
    main()
