"""Whose tests use a cluster that several workers share: many at once, or one alone.

A test that wants it alone waits until the others have left it, while those that come later wait for it: processors idle
meanwhile. So its worker can ask before the cluster is there, when nobody has to leave it, and can keep it for its next
test.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from drakit_client.files import regular_files
from drakit_kind.cluster import silent
from drakit_kind.processes.turns import one_at_a_time


class ClusterTurns:
    """The turns of one worker; those with the same ``directory`` take them together. The kernel ends a dead one's."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._asked: ExitStack | None = None  # holds the head of the queue
        self._kept: IO[str] | None = None

    def ask_early(self) -> None:
        """Wait until this worker's turn comes next; it can be taken later."""
        self._asked = self._asked or self._at_the_head()

    @contextmanager
    def turn(self, *, alone: bool, again: bool = False) -> Iterator[None]:
        """Use the cluster beside other tests, or ``alone``: when those before have ended, and while those after wait.

        ``again``: nobody comes between this turn and this worker's next one.
        """
        room, self._kept = self._kept or self._entered(alone=alone), None
        try:
            yield
        finally:
            if again:
                self._kept = room
            else:
                room.close()

    def close(self) -> None:
        """Give up what was asked for, or kept, and not used."""
        for each in (self._asked, self._kept):
            if each is not None:
                each.close()
        self._asked = self._kept = None

    def _entered(self, *, alone: bool) -> IO[str]:
        """Take a lock that others wait for until it is closed."""
        room = os.fdopen(regular_files.open_lock(self._directory / "room"), "w")
        asked, self._asked = self._asked or self._at_the_head(), None
        with asked:
            fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        return room

    def _at_the_head(self) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(one_at_a_time(self._directory / "queue", silent))
        return stack
