"""The scheduler process: watches, one decision after the other, any number of bindings at the same time.

Decisions are made one by one on memory alone, each seeing what the ones before have taken; what they decide is written
concurrently. Everything happens in one event loop, to which long decisions give way (see ``pace``), and only while this
scheduler holds the lease (see ``leadership``).

Source: kubernetes ``pkg/scheduler/{scheduler,schedule_one}.go``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from drakit_allocator.defects import Compat
from drakit_allocator.scheduler import claims as claim_store
from drakit_allocator.scheduler import readiness
from drakit_allocator.scheduler.binding import Binder, BindingFailed, Decision
from drakit_allocator.scheduler.diagnosis import SchedulingFailed, Unschedulable
from drakit_allocator.scheduler.hints import devices_changed
from drakit_allocator.scheduler.leadership.fence import Fence
from drakit_allocator.scheduler.leadership.lease import Lease, LeaseLost, LeaseTimes, NoLease
from drakit_allocator.scheduler.mirror import LateMirror, Mirror, served
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.pace import Pace
from drakit_allocator.scheduler.patch_evictions import PatchEvictions
from drakit_allocator.scheduler.queue import DEFAULT_BACKOFF, Entry
from drakit_allocator.scheduler.readiness import DevicesNotReady
from drakit_allocator.scheduler.reports import SCHEDULER_ERROR, UNSCHEDULABLE, Reports
from drakit_allocator.scheduler.state import State
from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim
from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, ApiError
from drakit_client.resources import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICE_PATCHES,
    RESOURCE_SLICES,
)

log = logging.getLogger(__name__)

FILTER_TIMEOUT = 10.0  # seconds for one node, kube-scheduler's default
# How many seconds bindings that have begun may take when the scheduler stops.
_DRAIN = 5.0
# If nothing happened for so many seconds, there is time to look ahead.
_IDLE = 0.1


@dataclass(slots=True)
class Counters:
    """What the scheduler has done so far."""

    attempts: int = 0
    scheduled: int = 0
    unschedulable: int = 0
    errors: int = 0
    # Seconds spent on decisions.
    deciding: float = 0.0


class Scheduler:
    """Schedules the pods that name it. ``run`` until cancelled, which loses nothing and leaves nothing half done."""

    def __init__(
        self,
        connection: Connection,
        *,
        name: str = "default-scheduler",
        gates: FeatureGates | None = None,
        leader_election: bool = True,
        backoff: Backoff | None = None,
        lease_times: LeaseTimes | None = None,
        filter_timeout: float = FILTER_TIMEOUT,
        compat: Compat = "upstream",
    ) -> None:
        gates = gates or FeatureGates()
        self.counters = Counters()
        self.lease: Lease | NoLease = Lease(connection, name, lease_times) if leader_election else NoLease()
        self._reports = Reports(connection, name)
        self.state = State(
            name,
            gates,
            backoff or DEFAULT_BACKOFF,
            filter_timeout,
            compat,
            self._objection,
            failed=self._reports.patch_fault,
        )
        self._connection = connection
        self._follows_taint_rules = gates.enabled("DRADeviceTaintRules")
        self._follows_patches = gates.enabled(PATCHES_GATE)
        self._fence = Fence(connection, self.lease, self.state.claims, self._reports.unfenced)
        self._binder = Binder(connection, self.state.claims, self.lease)
        self._bindings: set[asyncio.Task[None]] = set()
        # The bindings that wait for devices to become ready.
        self._waiting: set[asyncio.Task[None]] = set()
        self._claims = Mirror(connection, RESOURCE_CLAIMS, self._on_claim)
        self._pods = Mirror(connection, PODS, self._on_pod, "status.phase!=Succeeded,status.phase!=Failed")
        self._evictions = PatchEvictions(
            connection,
            self._reports.events,
            self.state.searches.snapshot,
            self.state.claims,
            pod=lambda key: self._pods.get(key[1], key[0]),
        )
        self._others = [
            Mirror(connection, NODES, self.state.on_node),
            Mirror(connection, NAMESPACES, self.state.on_namespace),
            Mirror(connection, DEVICE_CLASSES, self.state.on_class),
            Mirror(connection, RESOURCE_SLICES, self.state.on_slice),
        ]
        self.synced = asyncio.Event()
        # Set while no decision is being made.
        self._decided = asyncio.Event()
        self._decided.set()

    async def run(self) -> None:
        """Schedule until cancelled. Raises an ``ExceptionGroup`` if a part of the scheduler itself fails."""
        try:
            async with asyncio.TaskGroup() as tasks:
                # The loop below is the body of the group, not a member: when cancelled, it ends before the watches do.
                for work in (self.lease.watch(), self._warm_up(), self._evictions.run()):
                    tasks.create_task(work)
                # Claims before pods: a pod is only queued when its claims are known.
                for mirror in (*await self._device_taints(), *self._others, self._claims, self._pods):
                    mirror.start(tasks)
                    await mirror.synced()
                await self._follow_patches(tasks)
                self.synced.set()
                while True:
                    unclean = await self.lease.acquire(self._has_work)
                    await self._lead(tasks, unclean)
        finally:
            await self._reports.flush()

    async def _device_taints(self) -> list[Mirror]:
        """Taint rules are served in different versions by different Kubernetes versions, or not at all."""
        if not self._follows_taint_rules:
            return []
        resource = await served(self._connection, DEVICE_TAINT_RULES, "v1", "v1beta2", "v1alpha3")
        return [] if resource is None else [Mirror(self._connection, resource, self.state.on_taint_rule)]

    async def _follow_patches(self, tasks: asyncio.TaskGroup) -> None:
        """Follow patches from now on; where their kind is not served, from when it is installed."""
        if not self._follows_patches:
            return
        self.state.on_devices.append(self._evictions.devices_changed)
        remedy = "`drakit install patches` installs it"
        roles = "the ClusterRole drakit-patch-reader, which `drakit install patches` creates"
        patches = LateMirror(self._connection, RESOURCE_SLICE_PATCHES, self.state.on_patch, remedy=remedy, roles=roles)
        tasks.create_task(patches.run())
        await patches.synced()

    def _on_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        self.state.on_claim(old, new)
        self._evictions.claim_changed(old, new)

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        self.state.on_pod(old, new)
        self._evictions.pod_changed(old, new)

    async def _lead(self, tasks: asyncio.TaskGroup, unclean: bool) -> None:
        """Schedule while the lease is held; pass it on afterwards unless it was lost."""
        keeper = asyncio.create_task(self.lease.keep())
        turn = asyncio.create_task(self._turn_ended())
        work = asyncio.create_task(self._work(tasks, unclean))
        try:
            await asyncio.wait([keeper, turn, work], return_when=asyncio.FIRST_COMPLETED)
            for task in (keeper, work):
                if task.done():
                    task.result()
        except (LeaseLost, *REQUEST_FAILURES) as error:
            log.info("scheduling stops for now: %s", str(error) or type(error).__name__)
        finally:
            await _stop(work, turn)
            settled = await self._drain()
            await _stop(keeper)
            if settled:
                await self.lease.release()
            else:
                # Requests may still be on their way: whoever comes next must fence, even if it is this scheduler.
                self.lease.abandon()

    async def _turn_ended(self) -> None:
        await self.lease.turn_ended()
        # A decision that takes longer than a turn would otherwise never be made.
        await self._decided.wait()

    async def _work(self, tasks: asyncio.TaskGroup, unclean: bool) -> None:
        if unclean:
            await self._fence.put_up()
        else:
            self._fence.take_down()
        # All that others did while they held the lease must be known before the first decision.
        self.state.claims.settle_all()
        await asyncio.gather(self._claims.relist(tasks), self._pods.relist(tasks))
        # Some wait for bindings that the last loss of the lease has ended.
        self.state.queue.move(devices_changed())
        self.lease.begin_turn()
        closing = asyncio.create_task(self._close_gaps())
        try:
            while True:
                await self._schedule(await self.state.queue.pop())
                self.state.look_ahead()
                # Let watches, bindings and the lease have their turn.
                await asyncio.sleep(0)
        finally:
            await _stop(closing)

    async def _close_gaps(self) -> None:
        await self._fence.close(lambda: self.state.queue.move(devices_changed()))
        self.lease.fenced()

    def _objection(self, pod_uid: str, pod_claims: list[ResourceClaim], *, allocates: bool) -> str:
        return self._fence.objection(pod_uid, pod_claims, allocates=allocates)

    def _has_work(self) -> bool:
        return len(self.state.queue) > len(self.state.queue.unschedulable)

    async def _warm_up(self) -> None:
        """Use the time in which there is nothing to schedule."""
        while True:
            await asyncio.sleep(_IDLE)
            pace = Pace()
            # Slices of a pool come one by one; what is still changing is not worth looking at.
            while not self._has_work() and self._warm_up_one():
                await pace.step()

    def _warm_up_one(self) -> bool:
        try:
            return self.state.warm_up()
        except Exception as error:
            # Which pods it keeps from being scheduled is told when they are tried.
            log.info("the devices of a node cannot be looked at: %s", error, exc_info=error)
            return True

    async def _schedule(self, entry: Entry) -> None:
        self.counters.attempts += 1
        start, pace = time.perf_counter(), Pace()
        self.state.deciding = entry.pod.uid
        self._decided.clear()
        try:
            decision = await self.state.cycle.decide(entry.pod, pace)
        except Unschedulable as verdict:
            if self._is_current(entry):
                self._rejected(entry, verdict, missed_events=pace.gave_way)
            return
        except SchedulingFailed as failure:
            self._failed(entry, str(failure))
            return
        except asyncio.CancelledError:
            # The lease is lost, or the scheduler ends; that says nothing about the pod.
            if self._is_current(entry):
                self.state.queue.put_back(entry)
            raise
        except Exception as error:
            # Something about this pod, or about what it uses, that nobody has thought of.
            self._failed(entry, _defect(entry.pod, "cannot be decided on", error))
            return
        finally:
            self.state.deciding = ""
            self._decided.set()
            self.counters.deciding += time.perf_counter() - start
        if self._is_current(entry):
            self._assume(decision)
            self._start(self._carry_out(entry, decision))

    def _is_current(self, entry: Entry) -> bool:
        """Tell whether a verdict is about the pod as it is now; if not, what is left of the pod is queued again."""
        now = self._current(entry.pod)
        if now is None or now.obj is entry.pod.obj:
            return now is not None
        self.state.deciding = ""
        if now.deleted or now.node or now.differs(entry.pod):
            self.state.on_pod(entry.pod.obj, now.obj)
            return False
        entry.pod = now
        return True

    def _assume(self, decision: Decision) -> None:
        decision.pod = self.state.cluster.assume(decision.pod, decision.node)
        self.state.binding[decision.pod.uid] = decision.pod
        for claim in decision.claims:
            allocation = decision.allocations.get(claim_store.uid_of(claim))
            if allocation is not None:
                self.state.claims.expect(claim, allocation)

    async def _carry_out(self, entry: Entry, decision: Decision) -> None:
        pod = decision.pod
        try:
            await self._binder.prepare(decision)
            await self._await_devices(decision)
            await self._binder.bind(decision)
        except (BindingFailed, DevicesNotReady) as failure:
            await self._give_back(entry, decision, str(failure))
        except (LeaseLost, asyncio.CancelledError):
            # Nothing more can be written. Claims are settled when the lease is held again and the truth is known.
            self.state.forget_binding(pod)
            self._retry(entry)
            raise
        except Exception as error:
            await self._give_back(entry, decision, _defect(pod, "cannot be bound", error))
        else:
            self._settle(decision)
            self.state.binding.pop(pod.uid, None)
            if self._current(entry.pod) is None:
                # Deleted while it was being bound; the watch said so before the binding was known.
                self.state.forget_binding(pod)
            self.counters.scheduled += 1
            self._reports.scheduled(pod, decision.node)
            for effect in decision.defects:
                self._reports.avoided_defect(pod, effect)

    async def _give_back(self, entry: Entry, decision: Decision, message: str) -> None:
        """Undo what was done of a decision that could not be carried out, and try the pod again later."""
        try:
            await self._binder.undo(decision)
        finally:
            self._settle(decision)
            self.state.forget_binding(decision.pod)
            self._failed(entry, message)

    async def _await_devices(self, decision: Decision) -> None:
        if not self.state.searches.features.device_binding_and_status:
            return
        keys = [claim_store.key_of(claim) for claim in decision.claims]
        current = [claim for key in keys if (claim := self.state.claims.get(key)) is not None]
        if any(readiness.has_conditions(claim) for claim in current):
            self._reports.waiting_for_devices(decision.pod, decision.node)
            task = asyncio.current_task()
            assert task is not None
            self._waiting.add(task)
            try:
                await self.state.readiness.wait(keys)
            finally:
                self._waiting.discard(task)

    def _settle(self, decision: Decision) -> None:
        for claim in decision.claims:
            self.state.claims.settle(claim_store.uid_of(claim))
        for claim in decision.claims:
            self.state.claim_changed(claim_store.key_of(claim))

    def _rejected(self, entry: Entry, verdict: Unschedulable, *, missed_events: bool) -> None:
        if verdict.silently:
            self.state.queue.park(entry, verdict.rejectors)
            return
        self.counters.unschedulable += 1
        self.state.queue.rejected(entry, verdict.rejectors)
        if missed_events:
            # The queue did not have the pod while they happened. What was found out is remembered, so this is cheap.
            self.state.queue.retry(entry)
        self._reports.failed(entry, UNSCHEDULABLE, verdict.message)
        for claim in verdict.unusable_claims:
            if all(consumer.get("uid") == entry.pod.uid for consumer in claim_store.consumers(claim)):
                # One at a time, as upstream: it may be enough.
                self._start(self._deallocate(claim))
                break

    async def _deallocate(self, claim: ResourceClaim) -> None:
        try:
            await self._binder.deallocate(claim)
        except ApiError as error:
            log.debug("claim %s not deallocated: %s", claim_store.key_of(claim), error)

    def _failed(self, entry: Entry, message: str) -> None:
        self.counters.errors += 1
        if self._retry(entry):
            self._reports.failed(entry, SCHEDULER_ERROR, message)

    def _retry(self, entry: Entry) -> bool:
        """Queue a pod again after an error, as it is now; False if there is nothing left to schedule."""
        pod = self._current(entry.pod)
        if pod is None or pod.node or pod.deleted or pod.uid in self.state.queue.entries:
            return False
        entry.pod = pod
        self.state.queue.errored(entry)
        return True

    def _current(self, pod: PodInfo) -> PodInfo | None:
        """Return the pod as the watch shows it now; None if it is gone."""
        obj = self._pods.get(pod.name, pod.namespace)
        return PodInfo(obj) if obj is not None and obj["metadata"]["uid"] == pod.uid else None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._bindings.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._bindings.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, LeaseLost):
            log.error("binding ended unexpectedly", exc_info=error)

    async def _drain(self) -> bool:
        """Let bindings on their way finish; False if some had to be cut off while they were writing."""
        await _stop(*self._waiting)
        if self._bindings and self.lease.is_held():
            await asyncio.wait(self._bindings, timeout=_DRAIN)
        left = list(self._bindings)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return not left


def _defect(pod: PodInfo, what: str, error: Exception) -> str:
    """Log an error that is the scheduler's own, and what the pod's user is told of it."""
    log.error("pod %s %s", pod, what, exc_info=error)
    return f"internal error of the scheduler: {type(error).__name__}: {error}"


async def _stop(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
