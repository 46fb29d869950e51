"""Which pod is tried next, and when a pod that could not be scheduled is tried again.

Three places, as in kube-scheduler: *active* pods are ready, highest priority first, then first come; *backing off* pods
failed and wait, longer after each failure; *unschedulable* pods wait for an event that can change the verdict. What
rejected a pod decides which events those are (``hints``), so nothing is retried in vain. When nothing is active, pods
that merely back off after a verdict are tried early, since the event that moved them may have freed what they need;
after an error they wait the full time.

Source: kubernetes ``pkg/scheduler/backend/queue/{scheduling_queue,backoff_queue}.go``.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_client.backoff import Backoff

log = logging.getLogger(__name__)

# Decides whether an event can make this pod schedulable.
Hint = Callable[[PodInfo], bool]

# Unschedulable pods are tried again after this time even without an event, in case a hint was wrong.
_LONGEST_WAIT = 300.0
# The defaults of kube-scheduler's podInitialBackoffSeconds and podMaxBackoffSeconds.
DEFAULT_BACKOFF = Backoff(1.0, 10.0)


@dataclass(slots=True, eq=False)
class Entry:
    """A pod in the queue, and what has happened to it so far."""

    pod: PodInfo
    failures: int = 0
    rejectors: frozenset[str] = frozenset()
    # The pod is not tried before this time (seconds of the monotonic clock).
    not_before: float = 0.0
    after_error: bool = False
    # The pod is not tried until ``activate`` is called, whatever happens.
    held: bool = False
    # Increases each time the entry moves, so that what a heap still holds of earlier places is recognized as stale.
    ticket: int = 0
    # The message that the user was given last, and when.
    told: str = ""
    told_at: float = field(default=float("-inf"))


class SchedulingQueue:
    """Pods that wait to be scheduled. All methods are synchronous apart from ``pop``."""

    def __init__(self, backoff: Backoff | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.entries: dict[str, Entry] = {}
        self.unschedulable: dict[str, Entry] = {}
        self._backoff = backoff or DEFAULT_BACKOFF
        self._clock = clock
        self._active: list[tuple[int, int, str]] = []  # heap of (-priority, ticket, uid)
        self._waiting: list[tuple[float, int, str]] = []  # heap of (not before, ticket, uid): pods that back off
        self._tickets = itertools.count(1)
        self._ready = asyncio.Event()

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, pod: PodInfo) -> None:
        """Add a new pod, which is ready to be tried."""
        entry = self.entries[pod.uid] = Entry(pod)
        self._activate(entry)

    def hold(self, pod: PodInfo, rejectors: Iterable[str]) -> None:
        """Park a pod that is known to be unschedulable before it was tried, e.g. while its claims do not exist."""
        entry = self.entries.get(pod.uid) or Entry(pod)
        entry.pod = pod
        self.park(entry, rejectors)
        entry.held = True

    def park(self, entry: Entry, rejectors: Iterable[str]) -> None:
        """Let a pod wait for an event, without counting that as a failure."""
        entry.rejectors = frozenset(rejectors)
        entry.ticket = next(self._tickets)
        self.entries[entry.pod.uid] = self.unschedulable[entry.pod.uid] = entry

    def update(self, pod: PodInfo) -> Entry | None:
        """Take in a change of a waiting pod; return its entry, or None if it does not wait."""
        if (entry := self.entries.get(pod.uid)) is not None:
            entry.pod = pod
        return entry

    def delete(self, uid: str) -> None:
        """Remove a pod that is gone, or is no longer to be scheduled."""
        self.entries.pop(uid, None)
        self.unschedulable.pop(uid, None)

    def rejected(self, entry: Entry, rejectors: Iterable[str]) -> None:
        """Park a pod that no node suits; it waits for an event that concerns what rejected it."""
        self._failed(entry, after_error=False)
        self.park(entry, rejectors)

    def errored(self, entry: Entry) -> None:
        """Try a pod again after a while, as its attempt failed for reasons that have nothing to do with the pod."""
        self._failed(entry, after_error=True)
        entry.rejectors = frozenset()
        self.entries[entry.pod.uid] = entry
        self._wait(entry)

    def put_back(self, entry: Entry) -> None:
        """Put a pod back whose attempt was cut short; it is tried again as if there had been none."""
        self.entries[entry.pod.uid] = entry
        self._activate(entry)

    def activate(self, uid: str) -> None:
        """Try an unschedulable pod at once, without backoff: what it waited for has happened."""
        if (entry := self.unschedulable.pop(uid, None)) is not None:
            self._activate(entry)

    def move(self, hints: Mapping[str, Hint]) -> int:
        """Retry the pods that an event may help, and count them; ``hints`` tells for each plugin that it concerns."""
        if not self.unschedulable:
            return 0
        moved = [entry for entry in self.unschedulable.values() if not entry.held and _may_please(hints, entry)]
        for entry in moved:
            self.retry(entry)
        return len(moved)

    def retry(self, entry: Entry) -> None:
        """Move an unschedulable pod on: to active, or to backing off if its time has not come."""
        self.unschedulable.pop(entry.pod.uid, None)
        if entry.not_before > self._clock():
            self._wait(entry)
        else:
            self._activate(entry)

    def retry_stale(self) -> None:
        """Retry what has waited for an event for five minutes, in case a hint was wrong."""
        oldest = self._clock() - _LONGEST_WAIT
        for entry in [e for e in self.unschedulable.values() if e.rejectors and e.not_before < oldest and not e.held]:
            self.retry(entry)

    async def pop(self) -> Entry:
        """Take the next pod to try out of the queue; wait until there is one."""
        while True:
            entry = self._next()
            if entry is not None:
                return entry
            self._ready.clear()
            timeout = self._until_next()
            try:
                async with asyncio.timeout(timeout):
                    await self._ready.wait()
            except TimeoutError:
                self.retry_stale()

    def _next(self) -> Entry | None:
        now = self._clock()
        while self._waiting and self._waiting[0][0] <= now:
            _, ticket, uid = heapq.heappop(self._waiting)
            if (entry := self._current(uid, ticket)) is not None:
                self._activate(entry)
        while self._active:
            _, ticket, uid = heapq.heappop(self._active)
            if (entry := self._current(uid, ticket)) is not None:
                del self.entries[uid]
                return entry
        return self._early()

    def _early(self) -> Entry | None:
        """Take a pod that backs off after it was rejected, if nothing else is to be done."""
        held: list[tuple[float, int, str]] = []
        found = None
        while self._waiting and found is None:
            item = heapq.heappop(self._waiting)
            entry = self._current(item[2], item[1])
            if entry is None:
                continue
            if entry.after_error:
                held.append(item)
            else:
                found = self.entries.pop(item[2])
        for item in held:
            heapq.heappush(self._waiting, item)
        return found

    def _current(self, uid: str, ticket: int) -> Entry | None:
        entry = self.entries.get(uid)
        return entry if entry is not None and entry.ticket == ticket else None

    def _failed(self, entry: Entry, *, after_error: bool) -> None:
        entry.failures = entry.failures + 1 if entry.after_error == after_error else 1
        entry.after_error = after_error
        entry.not_before = self._clock() + self._backoff.seconds(entry.failures)

    def _activate(self, entry: Entry) -> None:
        entry.held = False
        entry.ticket = next(self._tickets)
        heapq.heappush(self._active, (-entry.pod.priority, entry.ticket, entry.pod.uid))
        self._ready.set()

    def _wait(self, entry: Entry) -> None:
        entry.ticket = next(self._tickets)
        heapq.heappush(self._waiting, (entry.not_before, entry.ticket, entry.pod.uid))
        self._ready.set()

    def _until_next(self) -> float:
        nearest = self._waiting[0][0] if self._waiting else float("inf")
        return min(max(nearest - self._clock(), 0.0), _LONGEST_WAIT / 10)


def _may_please(hints: Mapping[str, Hint], entry: Entry) -> bool:
    try:
        return any(plugin in hints and hints[plugin](entry.pod) for plugin in entry.rejectors)
    except Exception as error:
        # An error about this pod must not keep others waiting; it is reported when the pod is tried.
        log.debug("pod %s is tried: whether an event concerns it cannot be told: %s", entry.pod, error)
        return True
