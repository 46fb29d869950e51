"""How long a pool that somebody else keeps changing is left to them, before it is repaired again."""

from __future__ import annotations

import time

from drakit_client.backoff import Backoff

_LONGEST_SECONDS = 10.0
# Repairs of one pool closer together than this are a quarrel and wait longer each time.
_QUARREL_SECONDS = 5.0


class Quarrels:
    """Counts repairs of each pool in a row, so that two writers who disagree do not fill the API server with it."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def pause(self, name: str, seconds: float) -> float:
        """Return the seconds to wait before the next repair: these, or more after several in a row."""
        return Backoff(seconds, _LONGEST_SECONDS).seconds(1 + self._counts.get(name, 0))

    def repaired(self, name: str) -> None:
        """Count a repair, which is now."""
        now = time.monotonic()
        in_a_row = now - self._last.get(name, -_QUARREL_SECONDS * 2) < _QUARREL_SECONDS
        self._counts[name] = self._counts.get(name, -1) + 1 if in_a_row else 0
        self._last[name] = now
