"""A log that tells of the same thing once in a while, with a count, however often strangers make it happen."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_SECONDS = 5.0


class LogRate(logging.Filter):
    """Passes the first record of a message, and then one every few seconds that says how many were left out.

    Records are alike if their messages are before arguments are filled in. ``brief`` are errors of which the traceback
    says nothing, because others made them: their text takes its place.
    """

    def __init__(
        self,
        *brief: type[BaseException],
        seconds: float = _SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._brief, self._seconds, self._clock = brief, seconds, clock
        self._told: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Check whether a record is logged; one that is may say more than it did."""
        key, now = str(record.msg), self._clock()
        told = self._told.get(key)
        if told is not None and now - told < self._seconds:
            self._left_out[key] = self._left_out.get(key, 0) + 1
            return False
        self._told[key] = now
        text = record.getMessage()
        if record.exc_info and isinstance(error := record.exc_info[1], self._brief):
            text += f": {' '.join(str(error).split())}"
            record.exc_info = record.exc_text = None
        if told is not None and (count := self._left_out.pop(key, 0)):
            text += f" ({count} more in the last {now - told:.0f} s)"
        record.msg, record.args = text, ()
        return True
