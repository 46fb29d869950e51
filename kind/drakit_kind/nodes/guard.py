"""A guard (see ``guards``) that undoes what a cluster's nodes did to the machine, if its process could not."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.nodes.leftovers import Journal
from drakit_kind.processes import guards

log = logging.getLogger("drakit.guard")

_ATTEMPTS = 3
_TAKE_SECONDS = 60.0
_STOP_SECONDS = 10.0


class Guard:
    """The guard of one journal, as seen from the process that it guards."""

    def __init__(self, journal: Path, log: Path) -> None:
        self._journal = journal
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; what it prints goes to its log."""
        self._process = guards.start("drakit_kind.nodes.guard", str(self._journal), log=self._log)

    async def stop(self) -> None:
        """Tell it that there is nothing left to guard, and wait until it is gone."""
        if self._process is None:
            return
        process, self._process = self._process, None
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.to_thread(process.wait, _STOP_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("the guard of %s is still at work; see %s", self._journal, self._log)


def undo(path: Path) -> None:
    """Undo a journal that is still there, in up to three attempts; raise the ``ClusterError`` of the last one."""
    for attempt in reversed(range(_ATTEMPTS)):
        journal = Journal.take(path, seconds=_TAKE_SECONDS)
        if journal is None:
            return
        try:
            journal.undo()
            log.info("undid everything of %s, whose process ended without doing so", path)
            return
        except ClusterError:
            log.exception("attempt to undo %s failed", path)
            if not attempt:
                raise
        finally:
            journal.close()


def main() -> None:
    """Entry point: ``python -m drakit_kind.nodes.guard JOURNAL``."""
    guards.wait_for_starter()
    undo(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
