"""A guard (see ``guards``) that removes a kind cluster and its directory if the process that started it cannot.

If the guard itself is killed, nothing is removed.
"""

from __future__ import annotations

import logging
import shutil
import sys
import time
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.kind.removal import remove_cluster
from drakit_kind.processes import guards

log = logging.getLogger("drakit.guard")

_ATTEMPTS = 30
_PAUSE = 2.0


class Guard:
    """Watches over one cluster and its directory until ``dismiss``, or until this process ends.

    What it has to say is in ``guard.log`` of the directory, which stays if the cluster cannot be removed.
    """

    def __init__(self, cluster: str, directory: Path) -> None:
        self._process = guards.start("drakit_kind.kind.guard", cluster, str(directory), log=directory / "guard.log")

    def dismiss(self) -> None:
        """End the guard: the cluster is gone, or is to stay."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def remove(cluster: str, directory: Path) -> None:
    """Remove a cluster and its directory, although what made it may still be at work in the daemon."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            remove_cluster(cluster, directory, settled=False)
            break
        except ClusterError:
            log.exception("removing %s failed", cluster)
            if attempt == _ATTEMPTS:
                raise
            time.sleep(_PAUSE)
    shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    """``python -m drakit_kind.kind.guard CLUSTER DIRECTORY``."""
    guards.wait_for_starter()
    cluster, directory = sys.argv[1:]
    remove(cluster, Path(directory))


if __name__ == "__main__":
    main()
