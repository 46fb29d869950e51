"""One cluster for all workers of a test run (pytest-xdist): several control planes on one machine starve each other.

The first worker that needs the cluster starts it, as it would for itself alone; the others join. The one that started
it stops it, when nobody uses it any more. Workers know of each other by locks on files in a directory that all of them
have, which the kernel releases however a worker ends.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Generic, TypeVar

from drakit_kind.cluster import ClusterError, silent
from drakit_kind.cluster_turns import ClusterTurns
from drakit_kind.home import ClusterHome
from drakit_kind.turns import one_at_a_time

C = TypeVar("C")


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
        self.turns = ClusterTurns(directory)

    @contextmanager
    def used(self) -> Iterator[C]:
        """The cluster; ``ClusterError`` if it does not start, also for those who would have joined.

        Leaving takes the one who started it until nobody else uses it; it is for the caller to stop it then.
        """
        with self._open("starter") as starter, self._open("users") as users:
            with self._one_at_a_time("door"):
                leads = _take(starter)
                cluster = self._started() if leads else self._joined()
                fcntl.flock(users, fcntl.LOCK_SH)
            try:
                yield cluster
            finally:
                self.turns.close()
                if leads:
                    # Whoever comes now waits at the door, and then starts another.
                    with self._one_at_a_time("door"):
                        fcntl.flock(users, fcntl.LOCK_EX)
                        fcntl.flock(starter, fcntl.LOCK_UN)

    def _started(self) -> C:
        why, place = self._directory / "why-not", self._directory / "place"
        if why.exists():
            raise ClusterError(f"another worker could not start the cluster: {why.read_text()}")
        try:
            cluster = self._start()
        except Exception as error:
            why.write_text(str(error))
            raise
        place.write_text(str(self._home_of(cluster).directory))
        return cluster

    def _joined(self) -> C:
        return self._join(ClusterHome(Path((self._directory / "place").read_text())))

    def _open(self, name: str) -> IO[str]:
        return (self._directory / name).open("w")

    def _one_at_a_time(self, name: str) -> AbstractContextManager[None]:
        return one_at_a_time(self._directory / name, silent)


def _take(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
