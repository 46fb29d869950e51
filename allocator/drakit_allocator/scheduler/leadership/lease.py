"""Only one scheduler at a time may give out devices: the Lease that says which.

Why it is needed. The API server protects one claim from two writers (resourceVersion), but a *device* from nobody: two
schedulers that allocate two different claims write two different objects, and both writes succeed even when they name
the same device. Kubernetes has this hole and lives with it because it runs one scheduler. Here all drakit schedulers of
a cluster, whatever their name, share the Lease ``kube-system/drakit-scheduler``; only its holder allocates.

Why it holds when a scheduler stalls. A holder checks before each write that its own deadline, counted from before the
last renewal was *sent*, has not passed; others take the Lease only after watching it unchanged for longer than that.
That leaves a holder which stalls between the check and the write, and requests that are still on their way. So whoever
takes over a Lease that is not known to be clean first puts up a fence (``fence``), against which such writes fail.

When a Lease is clean. A holder that has ended all of its writes, and whose own fence is complete, says so in the
annotation ``drakit.dev/clean`` when it gives the Lease up, and only then; the next holder takes the annotation off in
the same write that makes it the holder. A Lease without a holder and without the annotation (released with a fence
unfinished, emptied by hand) has to expire like one that is held, and a Lease that did not exist says nothing about who
may have held it before it was deleted: both are fenced.

Schedulers of the same name stand by for each other. Those of different names have different pods to schedule and take
turns: one that has work asks the holder, through an annotation on the Lease, to pass it on.

Source of the protocol: k8s.io/client-go ``tools/leaderelection/leaderelection.go``.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, AlreadyExists, Conflict, NotFound
from drakit_client.reflector import Reflector
from drakit_client.resources import LEASES

log = logging.getLogger(__name__)

NAMESPACE, NAME = "kube-system", "drakit-scheduler"
# coordination.k8s.io/v1 LeaseSpec: an int32, after which there is no larger one.
_TRANSITIONS = 2**31
# Annotations: the scheduler that asks for the lease; and the one that released it when all its writes were answered and
# its fence was complete.
WAITING = "drakit.dev/waiting"
CLEAN = "drakit.dev/clean"


class LeaseLost(Exception):
    """The scheduler may no longer write: its lease has expired, is gone, or another has it."""


class Permission(Protocol):
    """Says whether this scheduler may write."""

    def check(self) -> None:
        """Raise ``LeaseLost`` unless writing is still allowed."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds, by default kube-scheduler's. ``deadline`` must leave room before ``duration``, when others take over."""

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0
    # For how many seconds a holder keeps the lease before it passes it on to a scheduler of another name.
    turn: float = 1.0


def clock() -> float:
    """Return seconds that also pass while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Lease:
    """One scheduler's view of the shared lease. ``acquire``, then ``keep`` in the background, then ``release``."""

    def __init__(self, connection: Connection, scheduler_name: str, times: LeaseTimes | None = None) -> None:
        self.identity = f"{scheduler_name}_{_machine()}_{os.getpid()}_{secrets.token_hex(4)}"
        self.times = times or LeaseTimes()
        self.asked_for = asyncio.Event()
        self._scheduler_name = scheduler_name
        self._connection = connection
        self._valid_until = float("-inf")
        self._turn_began = asyncio.Event()
        self._turn_began_at = float("-inf")
        self._object: Object | None = None
        self._observed: Any = None
        self._observed_at = float("-inf")
        # Whether writes that were decided before this term are refused by now.
        self._is_fenced = False
        self._changed = asyncio.Event()
        self._reflector = Reflector(
            connection,
            LEASES,
            namespace=NAMESPACE,
            field_selector=f"metadata.name={NAME}",
            on_change=[self._on_change],
        )

    def is_held(self) -> bool:
        """Tell whether this scheduler may write now."""
        return clock() < self._valid_until

    async def turn_ended(self) -> None:
        """Wait until another scheduler has asked for the lease and this one has had its turn."""
        await self.asked_for.wait()
        await self._turn_began.wait()
        await asyncio.sleep(max(self._turn_began_at + self.times.turn - clock(), 0.0))

    def begin_turn(self) -> None:
        """Begin the turn, as the fence is up and all is known that others did: a shorter turn would help nobody."""
        self._turn_began_at = clock()
        self._turn_began.set()

    def check(self) -> None:
        """Call right before each write. Raises ``LeaseLost``."""
        if not self.is_held():
            raise LeaseLost(f"{self.identity} no longer holds the lease {NAMESPACE}/{NAME}")

    async def watch(self) -> None:
        """Follow the lease until cancelled, so that a release is noticed at once."""
        await self._reflector.run()

    async def acquire(self, has_work: Callable[[], bool]) -> bool:
        """Wait for the lease. True if it was not known to be clean: put up the fence before anything else."""
        while True:
            self._changed.clear()
            taken: bool | None = None
            try:
                taken = await self._try_acquire(has_work())
            except REQUEST_FAILURES as error:
                log.debug("lease: %s", str(error) or type(error).__name__)
            if taken is not None:
                self.asked_for.clear()
                self._turn_began.clear()
                self._is_fenced = not taken
                log.info("%s holds the lease", self.identity)
                return taken
            try:
                async with asyncio.timeout(self.times.retry):
                    await self._changed.wait()
            except TimeoutError:
                pass

    def fenced(self) -> None:
        """Note that the fence is complete: the lease may be given up as clean."""
        self._is_fenced = True

    async def keep(self) -> None:
        """Renew until the lease is lost, then raise ``LeaseLost``: this scheduler must have stopped writing by then."""
        try:
            while True:
                await asyncio.sleep(min(self.times.retry, max(self._valid_until - clock(), 0.0)))
                self.check()
                try:
                    async with asyncio.timeout(self._valid_until - clock()):
                        await self._renew()
                except NotFound:
                    raise LeaseLost(f"the lease {NAMESPACE}/{NAME} was deleted") from None
                except REQUEST_FAILURES as error:
                    log.info("lease not renewed: %s", str(error) or type(error).__name__)
        except LeaseLost:
            self._valid_until = float("-inf")
            raise

    def abandon(self) -> None:
        """Stop writing without giving the lease up: it has to expire, and who takes it over has to fence."""
        self._valid_until = float("-inf")

    async def release(self) -> None:
        """Give the lease up at once, so that another scheduler need not wait for it to expire.

        Only for one that has no writes on their way. It is given up as clean if there is no fence to be completed.
        """
        if not self.is_held() or self._object is None:
            return
        # Nothing may be written from here on, whether the release itself succeeds or not.
        self._valid_until = float("-inf")
        try:
            async with asyncio.timeout(self.times.deadline):
                for _ in range(3):
                    try:
                        await self._write(self._object, "")
                        return
                    except Conflict:
                        self._object = await self._connection.get(LEASES, NAME, NAMESPACE)
                        if _holder(self._object) != self.identity:
                            return
        except REQUEST_FAILURES as error:
            log.debug("lease not released: %s", str(error) or type(error).__name__)

    async def _try_acquire(self, has_work: bool) -> bool | None:
        sent = clock()
        try:
            current = await self._connection.get(LEASES, NAME, NAMESPACE)
        except NotFound:
            # Whoever held it until it was deleted may not know yet.
            return await self._create(sent) if self._has_expired() else None
        holder = _holder(current)
        record = current.get("spec")
        if record != self._observed:
            self._observed, self._observed_at = record, clock()
        expired = self._has_expired()
        if not holder and CLEAN in _annotations(current):
            if not expired and self._someone_else_waits(current):
                return None
            return await self._take(current, sent, unclean=False)
        if expired or holder == self.identity or _is_dead(holder):
            # Requests of the time before may still be on their way, even one's own.
            return await self._take(current, sent, unclean=True)
        if has_work and holder and not holder.startswith(f"{self._scheduler_name}_"):
            await self._ask_for(current)
        return None

    async def _ask_for(self, current: Object) -> None:
        """Ask a scheduler of another name to pass the lease on."""
        if WAITING not in _annotations(current):
            annotations = {WAITING: self.identity}
            await self._connection.patch(LEASES, NAME, {"metadata": {"annotations": annotations}}, NAMESPACE)

    def _has_expired(self) -> bool:
        """Tell whether the lease has not changed for so long that its holder, as last seen, has stopped writing."""
        seconds = (self._observed or {}).get("leaseDurationSeconds") or 0
        return clock() - self._observed_at > seconds

    def _someone_else_waits(self, lease: Object) -> bool:
        # Who asked for the lease has the first go; the released record is short-lived, so a dead one blocks nobody.
        return _annotations(lease).get(WAITING, self.identity) != self.identity

    async def _create(self, sent: float) -> bool | None:
        lease = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": self._spec({}, self.identity)}
        try:
            self._object = await self._connection.create(LEASES, lease, NAMESPACE)
        except AlreadyExists:
            return None
        self._valid_until = sent + self.times.deadline
        return True

    async def _take(self, current: Object, sent: float, *, unclean: bool) -> bool | None:
        try:
            await self._write(current, self.identity)
        except Conflict:
            return None
        self._valid_until = sent + self.times.deadline
        return unclean

    async def _renew(self) -> None:
        assert self._object is not None
        sent = clock()
        try:
            await self._write(self._object, self.identity)
        except Conflict:
            self._object = await self._connection.get(LEASES, NAME, NAMESPACE)
            if _holder(self._object) != self.identity:
                raise LeaseLost(f"{_holder(self._object)} holds the lease") from None
            sent = clock()
            await self._write(self._object, self.identity)
        self._valid_until = sent + self.times.deadline

    async def _write(self, current: Object, holder: str) -> None:
        annotations = {key: value for key, value in _annotations(current).items() if key != CLEAN}
        if holder and _holder(current) != holder:
            annotations.pop(WAITING, None)
        if not holder and self._is_fenced:
            annotations[CLEAN] = self.identity
        metadata = {**current["metadata"], "annotations": annotations}
        lease = {**current, "metadata": metadata, "spec": self._spec(current.get("spec") or {}, holder)}
        self._object = await self._connection.replace(LEASES, lease, NAMESPACE)

    def _spec(self, old: Object, holder: str) -> Object:
        now = gotime.now(micro=True)
        changed = (old.get("holderIdentity") or "") != holder
        return {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(round(self.times.duration), 1) if holder else 1,
            "acquireTime": now if changed else old.get("acquireTime", now),
            "renewTime": now,
            "leaseTransitions": (old.get("leaseTransitions", 0) + int(changed and bool(holder))) % _TRANSITIONS,
        }

    def _on_change(self, old: Object | None, new: Object | None) -> None:
        self._changed.set()
        if new is None:
            # Deleted: the next one that looks may take it at once.
            self._valid_until = float("-inf")
        if new is not None and _annotations(new).get(WAITING, self.identity) != self.identity:
            self.asked_for.set()


class NoLease:
    """Stands in for the lease of a scheduler that is known to be the only one (``--leader-elect=false``)."""

    identity = "alone"

    def is_held(self) -> bool:
        """Return True: without a lease, writing is always allowed."""
        return True

    def check(self) -> None:
        """Allow everything."""

    async def watch(self) -> None:
        """Return: there is nothing to follow."""

    async def acquire(self, has_work: Callable[[], bool]) -> bool:
        """Acquire at once, with nobody to fence off."""
        return False

    def fenced(self) -> None:
        """Do nothing: there is no fence."""

    async def keep(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    def begin_turn(self) -> None:
        """Do nothing: this turn never ends."""

    async def turn_ended(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    def abandon(self) -> None:
        """Do nothing: there is nothing to abandon."""

    async def release(self) -> None:
        """Do nothing: there is nothing to release."""


def _holder(lease: Object) -> str:
    return (lease.get("spec") or {}).get("holderIdentity") or ""


def _machine() -> str:
    """Name what process ids are relative to: this boot of the machine, and in it the namespace of process ids."""
    boot, namespace = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    try:
        scope = boot.read_text(encoding="ascii") + str(namespace.readlink())
    except OSError:
        # Not Linux: a name that no other process has, so that nobody is ever taken for dead.
        scope = secrets.token_hex(16)
    return f"{socket.gethostname()}-{hashlib.sha256(scope.encode()).hexdigest()[:12]}"


def _is_dead(holder: str) -> bool:
    """Tell whether a holder was a process of this machine that is gone: nobody need wait for its lease."""
    parts = holder.rsplit("_", 3)
    if len(parts) != 4 or parts[1] != _machine() or not parts[2].isdigit():
        return False
    try:
        os.kill(int(parts[2]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def _annotations(lease: Object) -> dict[str, str]:
    return lease["metadata"].get("annotations") or {}
