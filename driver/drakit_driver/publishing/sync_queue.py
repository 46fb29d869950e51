"""Which pool must be compared with the server next, and when.

A pool is waited for once however many events name it; one that fails, or that somebody keeps changing, waits longer
each time, so that two writers who disagree do not fill the API server with their quarrel.
"""

from __future__ import annotations

import asyncio
import time

from drakit_client.backoff import Backoff
from drakit_driver.reports import Reminders

_BACKOFF = Backoff(0.1, 10.0)
# Repairs of one pool closer together than this are a quarrel and wait longer each time.
_QUARREL_SECONDS = 5.0


class SyncQueue:
    """Pool names, each with the time at which it is due; one consumer."""

    def __init__(self, reminders: Reminders | None = None) -> None:
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._reminders = reminders or Reminders()
        self._last: dict[str, float] = {}
        self._quarrels: dict[str, int] = {}
        self._wake = asyncio.Event()

    def add(self, name: str, delay: float = 0.0) -> None:
        """Make ``name`` due after ``delay`` seconds, or longer if it was due again and again lately."""
        now = time.monotonic()
        if delay:
            delay = Backoff(delay, _BACKOFF.longest).seconds(1 + self._quarrels.get(name, 0))
        if (due := self._due.get(name)) is None or now + delay < due:
            self._due[name] = now + delay
            self._wake.set()

    def retry(self, name: str, message: str = "") -> tuple[float, bool]:
        """Make ``name`` due after a failure: the delay, and whether this failure is to be told (again)."""
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        delay = _BACKOFF.seconds(failures)
        self._due[name] = time.monotonic() + delay
        self._wake.set()
        return delay, self._reminders.due(name, message)

    def done(self, name: str) -> None:
        """``name`` was brought up to date."""
        self._failures.pop(name, None)
        self._reminders.over(name)
        now = time.monotonic()
        quarrel = now - self._last.get(name, -_QUARREL_SECONDS * 2) < _QUARREL_SECONDS
        self._quarrels[name] = min(self._quarrels.get(name, -1) + 1, 10) if quarrel else 0
        self._last[name] = now

    async def get(self) -> str:
        """Wait for the next name that is due and take it."""
        while True:
            self._wake.clear()
            now = time.monotonic()
            name = min(self._due, key=self._due.__getitem__, default=None)
            if name is not None and self._due[name] <= now:
                del self._due[name]
                return name
            try:
                async with asyncio.timeout(None if name is None else self._due[name] - now):
                    await self._wake.wait()
            except TimeoutError:
                continue
