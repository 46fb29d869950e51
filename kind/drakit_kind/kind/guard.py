"""A small process that removes a kind cluster if the process that started it cannot.

Its standard input is a pipe from that process, into which nothing is written: the kernel closes it when the process
ends, however it ends. Signals that reach a whole session or terminal are not for it.
"""

from __future__ import annotations

import os
import subprocess
import sys

from drakit_kind.kind.docker import remove_cluster


class Guard:
    """Watches over one cluster until ``dismiss``, or until this process ends."""

    def __init__(self, cluster: str, *, network: bool) -> None:
        command = [sys.executable, "-m", "drakit_kind.kind.guard", cluster, str(int(network))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def dismiss(self) -> None:
        """The cluster is gone, or shall stay."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def main() -> None:
    """``python -m drakit_kind.kind.guard CLUSTER 0|1``; 1: kind's network goes with it, if nobody else is in it."""
    os.chdir("/")
    while os.read(0, 1):
        pass
    remove_cluster(sys.argv[1], network=sys.argv[2] == "1")


if __name__ == "__main__":
    main()
