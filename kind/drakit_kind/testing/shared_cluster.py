"""One cluster for all workers of a test run (pytest-xdist): several control planes on one machine starve each other.

The first worker that needs the cluster starts it, as it would for itself alone; the others join. The one that started
it stops it, when nobody uses it any more. Workers know of each other by locks on files in a directory that all of them
have, which the kernel releases however a worker ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, Generic, TypeVar

from drakit_client.files import private_files, regular_files
from drakit_kind.cluster import ClusterError, silent, with_notes
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.processes.turns import one_at_a_time
from drakit_kind.testing.cluster_turns import ClusterTurns

C = TypeVar("C")
_PAUSE = 0.1


class SharedCluster(Generic[C]):
    """What the workers with the same ``directory`` share: a cluster, and the ``turns`` of their tests on it.

    ``start`` and ``join`` make what a worker calls the cluster; ``home_of`` says where a started one is.
    """

    def __init__(
        self,
        directory: Path,
        *,
        start: Callable[[], C],
        home_of: Callable[[C], ClusterHome],
        join: Callable[[ClusterHome], C],
    ) -> None:
        self._directory = directory
        self._start = start
        self._home_of = home_of
        self._join = join
        self._place = directory / "place"  # of the cluster that was started last
        self._why_not = directory / "why-not"
        self.turns = ClusterTurns(directory)

    @contextmanager
    def used(self, *, first: bool = False) -> Iterator[C]:
        """Use the shared cluster in this block; raise ``ClusterError`` in every worker if it does not start.

        Leaving takes the one who started it until nobody else uses it; it is for the caller to stop it then.
        ``first``: where no cluster was started yet, have the first turn on it.
        """
        # Turns are given up first: others may need them before they leave.
        with self._open("starter") as starter, self._open("users") as users, ExitStack() as last, closing(self.turns):
            if first and not self._place.exists():
                self.turns.ask_early()
            with self._one_at_a_time("door"):
                self._refuse_after_failure()  # also while the one who failed is still there
                leads = _take(starter)
                cluster = self._started() if leads else self._joined()
                fcntl.flock(users, fcntl.LOCK_SH)
            if leads:
                last.callback(self._leave, starter, users)
            yield cluster

    def _leave(self, starter: IO[str], users: IO[str]) -> None:
        """Wait until nobody else uses the cluster; who comes from then on starts another."""
        while True:
            # Never wait here: tests that use the cluster may be waiting for one that is about to begin.
            with self._one_at_a_time("door"):
                if _take(users):
                    fcntl.flock(starter, fcntl.LOCK_UN)
                    return
            time.sleep(_PAUSE)

    def _refuse_after_failure(self) -> None:
        if self._why_not.exists():
            raise ClusterError(
                f"another worker could not start the cluster: {regular_files.read(self._why_not).decode()}"
            )

    def _started(self) -> C:
        try:
            cluster = self._start()
        except Exception as error:
            private_files.write(self._why_not, with_notes(error))
            raise
        private_files.write(self._place, str(self._home_of(cluster).directory))
        return cluster

    def _joined(self) -> C:
        return self._join(ClusterHome(Path(regular_files.read(self._place).decode())))

    def _open(self, name: str) -> IO[str]:
        return os.fdopen(regular_files.open_lock(self._directory / name), "w")

    def _one_at_a_time(self, name: str) -> AbstractContextManager[None]:
        return one_at_a_time(self._directory / name, silent)


def _take(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
