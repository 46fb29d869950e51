"""Carrying out a decision: claims allocated and reserved, devices ready, pod bound; or all of it undone.

The order is that of kube-scheduler. The finalizer comes first, so that a claim with an allocation cannot disappear;
allocation and reservation are one status update, so that no other pod gets between them; the pod is bound last, so
that a bound pod always has its devices. A request whose answer got lost is repeated until there is an answer: each of
them either is refused the second time, and then reading the object tells what happened, or does the same again.

Each write names the resourceVersion that it was decided on, the binding that of the pod: whatever is written to the
object in the meantime, by a fence among others (``leadership``), makes it fail.

Source: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (PreBind, bindClaim,
Unreserve) and ``pkg/scheduler/schedule_one.go`` (bindingCycle).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from drakit_allocator.explanation.report import DefectEffect
from drakit_allocator.scheduler import claims
from drakit_allocator.scheduler.leadership.lease import Permission
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.core.pod_claims import CLAIM_FINALIZER, pod_consumer
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.allocations import results_of
from drakit_api.typed_objects import (
    AllocationResult,
    ObjectMeta,
    ResourceClaim,
    ResourceClaimStatus,
    as_claim,
)
from drakit_client import claim_writes
from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import UNREACHABLE, ApiError, Conflict, NotFound
from drakit_client.resources import PODS, RESOURCE_CLAIMS

log = logging.getLogger(__name__)

_CONFLICTS = 5
# Requests on their way at the same time; more would only queue up in the server.
_CONCURRENCY = 32
_BACKOFF = Backoff(0.02, 1.0)

_T = TypeVar("_T")


class BindingFailed(Exception):
    """The decision could not be carried out; what was written of it is still there (``Binder.undo``)."""


@dataclass(slots=True)
class Decision:
    """A pod, its node, its claims, and the allocations that are to be recorded, by claim uid.

    ``defects``: of Kubernetes, that would have made a difference.
    """

    pod: PodInfo
    node: str
    claims: list[ResourceClaim]
    allocations: dict[str, AllocationResult]
    defects: tuple[DefectEffect, ...] = ()


class Binder:
    """Writes decisions to the API server, any number of them at the same time."""

    def __init__(self, connection: Connection, known: claims.Claims, permission: Permission) -> None:
        self._connection = connection
        self._known = known
        self._permission = permission
        self._slots = asyncio.Semaphore(_CONCURRENCY)
        # Pods that share a claim reserve it one after the other instead of running into conflicts.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def prepare(self, decision: Decision) -> None:
        """Record allocations and reservations. Raises ``BindingFailed`` or ``LeaseLost``."""
        for claim in decision.claims:
            async with self._lock(claim):
                await self._reserve(decision.pod, claim, decision.allocations.get(claims.uid_of(claim)))

    async def bind(self, decision: Decision) -> None:
        """Bind the pod. Raises ``BindingFailed`` or ``LeaseLost``."""
        pod = decision.pod.obj
        for _ in range(_CONFLICTS):
            try:
                await self._answered(partial(self._bind, pod, decision.node))
                return
            except Conflict as error:
                current = await self._read_pod(decision.pod)
                if current["spec"].get("nodeName") == decision.node:
                    return
                if not _may_still_bind(current, decision.pod):
                    raise BindingFailed(f"binding rejected: {error}") from error
                pod = current
            except ApiError as error:
                raise BindingFailed(f"binding rejected: {error}") from error
        raise BindingFailed(f"binding rejected: pod {decision.pod} keeps changing")

    async def undo(self, decision: Decision) -> None:
        """Give back what the pod holds: its reservations, and allocations that were made for it alone."""
        for claim in decision.claims:
            known = self._known.get(claims.key_of(claim))
            if known is None or not claims.reserved_for(known, decision.pod.uid):
                continue
            try:
                async with self._lock(known):
                    await self._unreserve(decision, known)
            except (ApiError, BindingFailed) as error:
                # The claim controller removes reservations of pods that are gone.
                log.warning("reservation of claim %s by pod %s stays: %s", claims.key_of(claim), decision.pod, error)

    async def deallocate(self, claim: ResourceClaim) -> None:
        """Give back an allocation that nobody uses. Raises ``Conflict`` when it has changed, or ``LeaseLost``."""
        status = claim["status"].copy()
        status.pop("allocation", None)
        status.pop("reservedFor", None)
        status.pop("devices", None)
        self._written(await self._answered(lambda: self._replace({**claim, "status": status}, "status")))

    def _lock(self, claim: ResourceClaim) -> asyncio.Lock:
        return self._locks.setdefault(claims.uid_of(claim), asyncio.Lock())

    async def _reserve(self, pod: PodInfo, decided: ResourceClaim, allocation: AllocationResult | None) -> None:
        claim = self._known.get(claims.key_of(decided)) or decided
        for _ in range(_CONFLICTS):
            self._check_claim(claim, decided, allocation)
            if claims.reserved_for(claim, pod.uid) and claims.allocation_of(claim) is not None:
                return
            try:
                claim = await self._protect(claim, allocation)
                self._written(await self._answered(partial(self._replace, _reserved(claim, pod, allocation), "status")))
                return
            except Conflict:
                claim = await self._read(claim)
            except ApiError as error:
                raise BindingFailed(f"add {_what(allocation)} to claim {_name(claim)}: {error}") from error
        raise BindingFailed(f"claim {_name(claim)} keeps changing")

    def _check_claim(self, claim: ResourceClaim, decided: ResourceClaim, allocation: AllocationResult | None) -> None:
        if "deletionTimestamp" in claim["metadata"] or claims.uid_of(claim) != claims.uid_of(decided):
            raise BindingFailed(f"claim {_name(claim)} got deleted in the meantime")
        recorded = claims.allocation_of(claim)
        if allocation is None and recorded is None:
            raise BindingFailed(f"claim {_name(claim)} got deallocated elsewhere in the meantime")
        # An allocation equal to ours is ours: the answer to the write was lost.
        if allocation is not None and recorded is not None and results_of(recorded) != results_of(allocation):
            raise BindingFailed(f"claim {_name(claim)} got allocated elsewhere in the meantime")

    async def _protect(self, claim: ResourceClaim, allocation: AllocationResult | None) -> ResourceClaim:
        finalizers = claim["metadata"].get("finalizers") or []
        if allocation is None or CLAIM_FINALIZER in finalizers:
            return claim
        protected: ResourceClaim = {
            **claim,
            "metadata": {**claim["metadata"], "finalizers": [*finalizers, CLAIM_FINALIZER]},
        }
        return await self._answered(lambda: self._replace(protected, None))

    async def _unreserve(self, decision: Decision, claim: ResourceClaim) -> None:
        allocated_here = claims.uid_of(claim) in decision.allocations
        if allocated_here and len(claims.consumers(claim)) == 1:
            try:
                await self.deallocate(claim)
                return
            except Conflict:
                pass
        for _ in range(_CONFLICTS):
            if not claims.reserved_for(claim, decision.pod.uid):
                return
            try:
                self._written(await self._answered(partial(self._replace, _released(claim, decision.pod), "status")))
                return
            except Conflict:
                claim = await self._read(claim)

    async def _bind(self, pod: Object, node: str) -> Object:
        metadata: ObjectMeta = pod["metadata"]
        kept = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in metadata}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": kept,
            "target": {"kind": "Node", "name": node},
        }
        return await self._connection.create(
            PODS, binding, metadata["namespace"], subresource="binding", name=metadata["name"]
        )

    async def _read_pod(self, pod: PodInfo) -> Object:
        try:
            return await self._answered(lambda: self._connection.get(PODS, pod.name, pod.namespace))
        except NotFound as error:
            raise BindingFailed(f"binding rejected: {error}") from error

    async def _read(self, claim: ResourceClaim) -> ResourceClaim:
        namespace, name = claims.key_of(claim)
        try:
            current = as_claim(await self._answered(lambda: self._connection.get(RESOURCE_CLAIMS, name, namespace)))
        except NotFound:
            raise BindingFailed(f"claim {_name(claim)} got deleted in the meantime") from None
        self._written(current)
        return current

    async def _replace(self, claim: ResourceClaim, subresource: str | None) -> ResourceClaim:
        return await claim_writes.replace(self._connection, claim, subresource)

    def _written(self, claim: ResourceClaim) -> None:
        self._known.written(claim)

    async def _answered(self, send: Callable[[], Awaitable[_T]]) -> _T:
        """Send until the server answers. Raises ``LeaseLost``, or ``ApiError`` if the answer is a refusal."""
        for delay in _BACKOFF.pauses():
            async with self._slots:
                # The last thing before sending: what is read or decided before it may be outdated by now.
                self._permission.check()
                try:
                    return await send()
                except ApiError as error:
                    if error.code < 500 and error.code != 429:
                        raise
                    failure: Exception = error
                except UNREACHABLE as error:
                    failure = error
            log.debug("no answer: %s; again in %.2f s", str(failure) or type(failure).__name__, delay)
            await asyncio.sleep(delay)
        raise AssertionError("a back-off has no end")


def _reserved(claim: ResourceClaim, pod: PodInfo, allocation: AllocationResult | None) -> ResourceClaim:
    status: ResourceClaimStatus = {**(claim.get("status") or {})}
    if allocation is not None:
        status["allocation"] = allocation
    if not claims.reserved_for(claim, pod.uid):
        status["reservedFor"] = [*claims.consumers(claim), pod_consumer(pod.obj)]
    return {**claim, "status": status}


def _released(claim: ResourceClaim, pod: PodInfo) -> ResourceClaim:
    others = [consumer for consumer in claims.consumers(claim) if consumer.get("uid") != pod.uid]
    return {**claim, "status": {**claim["status"], "reservedFor": others}}


def _may_still_bind(current: Object, pod: PodInfo) -> bool:
    """Tell whether what has changed in a pod since the decision is nothing that it rests on."""
    now = PodInfo(current)
    return now.uid == pod.uid and not now.node and not now.deleted and not now.differs(pod)


def _what(allocation: AllocationResult | None) -> str:
    return "reservation" if allocation is None else "allocation and reservation"


def _name(claim: ResourceClaim) -> str:
    return "/".join(claims.key_of(claim))
