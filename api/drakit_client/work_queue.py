"""A queue of keys to reconcile: each key once, never twice at the same time, later and later while it fails.

It follows client-go's rate limiting work queue (k8s.io/client-go/util/workqueue): a key that changes while it is being
worked on is worked on again afterwards, so no change is lost and no lock is needed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from drakit_client.backoff import Backoff
from drakit_client.errors import REQUEST_FAILURES

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)

# Delays of DefaultTypedControllerRateLimiter, with a shorter end: nobody waits a quarter of an hour for a test cluster.
_BACKOFF = Backoff(0.005, 16.0)


class NotYet(Exception):
    """A key cannot be brought in order yet; the message says what is missing.

    It is logged at ``level``: DEBUG for what is in order and may last.
    """

    def __init__(self, message: str, *, level: int = logging.INFO) -> None:
        super().__init__(message)
        self.level = level


# What an API server that is away, overloaded or ahead of our caches answers; anything else is a bug of ours.
_EXPECTED = (NotYet, *REQUEST_FAILURES)


class WorkQueue(Generic[K]):
    """Calls ``sync(key)`` for each added key. A number returned by it means: again after so many seconds.

    ``limit`` bounds how many keys are worked on at once; 0 is no bound, as for the pod workers of a kubelet. ``failed``
    is told of each failure in place of the log, with the seconds until the key is tried again; what it raises ends
    ``run``.
    """

    def __init__(
        self,
        sync: Callable[[K], Awaitable[float | None]],
        *,
        name: str,
        limit: int = 5,
        backoff: Backoff = _BACKOFF,
        failed: Callable[[K, Exception, float], Awaitable[None]] | None = None,
    ) -> None:
        self._sync = sync
        self._name = name
        self._limit = limit
        self._backoff = backoff
        self._failed = failed or self._log
        self._ready: dict[K, None] = {}
        self._active: set[K] = set()
        self._again: set[K] = set()
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()

    def add(self, key: K) -> None:
        """Work on ``key`` soon; if it is being worked on now, again afterwards."""
        if key in self._active:
            self._again.add(key)
        elif key not in self._ready:
            self._ready[key] = None
            self._wake.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Work on ``key`` in so many seconds, or earlier if it was already asked for earlier."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._expire, key)

    def forget(self, key: K) -> None:
        """Drop what is planned for ``key`` (the object is gone)."""
        self._ready.pop(key, None)
        self._again.discard(key)
        self._failures.pop(key, None)
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()

    async def run(self) -> None:
        """Work until cancelled; then everything that is under way is cancelled too."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    while self._ready and (not self._limit or len(self._active) < self._limit):
                        key = next(iter(self._ready))
                        del self._ready[key]
                        self._active.add(key)
                        tasks.create_task(self._process(key))
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            self._active.clear()  # a task that was cancelled before it began could not do so itself

    def _expire(self, key: K) -> None:
        del self._timers[key]
        self.add(key)

    async def _process(self, key: K) -> None:
        try:
            again = await self._sync(key)
        except Exception as error:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            delay = self._backoff.seconds(failures)
            await self._failed(key, error, delay)
            self.add_after(key, delay)
        else:
            self._failures.pop(key, None)
            if again is not None:
                self.add_after(key, again)
        finally:
            self._active.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._ready[key] = None
            self._wake.set()

    async def _log(self, key: K, error: Exception, delay: float) -> None:
        if isinstance(error, _EXPECTED):
            level = error.level if isinstance(error, NotYet) else logging.INFO
            log.log(level, "%s %s: %s; again in %.3f s", self._name, key, str(error) or type(error).__name__, delay)
        else:
            log.error("%s %s failed; again in %.3f s", self._name, key, delay, exc_info=error)
