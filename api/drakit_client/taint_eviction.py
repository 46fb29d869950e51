"""Deletes pods whose allocated devices have a NoExecute taint that they do not tolerate, or not any longer (KEP-5055).

Who taints devices, and who watches what, is the caller's: drakit's controllers evict for slices and DeviceTaintRules,
as kube-controller-manager does, and its scheduler for ResourceSlicePatches. Words, and what counts as a toleration, are
those of k8s.io/kubernetes/pkg/controller/devicetainteviction; whose taint it is follows behind them where the caller
says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from drakit_api.core import conditions
from drakit_api.core.pod_claims import claim_names, is_reserved_for, is_terminal
from drakit_api.core.tolerations import Taint, tolerates
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.allocations import results
from drakit_api.typed_objects import DeviceRequestAllocationResult, ObjectMeta, ResourceClaim
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.events import EventRecorder, reference
from drakit_client.resources import PODS
from drakit_client.work_queue import NotYet, WorkQueue

log = logging.getLogger(__name__)

Key = tuple[str, str]  # namespace, name

EFFECT = "NoExecute"
_REASON = "DeviceTaintManagerEviction"
_MARKING = "Marking for deletion"
_CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}
_WORKERS = 10
# Seconds until a pod is looked at again whose taints are not known yet.
_SOON = 0.1


class OwnedTaint(NamedTuple):
    """A taint, and who gives it to the device; if that is said, log and event of an eviction name taint and owner."""

    taint: Taint
    owner: str = ""


# The taints of an allocated device.
Taints = Callable[[DeviceRequestAllocationResult], Iterable[OwnedTaint]]


class _Eviction(NamedTuple):
    """When a pod has to go, and why, if that is to be told."""

    due: datetime
    cause: str


class TaintEviction:
    """Looks at each pod that is added, and again when a toleration ends; ``run`` until cancelled.

    ``pod`` and ``claim`` return objects as last seen; ``taints`` raises ``NotYet`` while it is still finding them out.
    Several may do the same work in one cluster.
    """

    def __init__(
        self,
        connection: Connection,
        events: EventRecorder,
        *,
        pod: Callable[[Key], Object | None],
        claim: Callable[[Key], ResourceClaim | None],
        taints: Taints,
    ) -> None:
        self._connection = connection
        self._events = events
        self._pod = pod
        self._claim = claim
        self._taints = taints
        # Pods with a planned eviction, by uid: an event says if it is cancelled.
        self._planned: set[str] = set()
        self._queue: WorkQueue[Key] = WorkQueue(self._sync, name="device taints", limit=_WORKERS)

    async def run(self) -> None:
        """Evict until cancelled."""
        await self._queue.run()

    def add(self, key: Key) -> None:
        """Look at a pod soon."""
        self._queue.add(key)

    def forget(self, uid: str) -> None:
        """Drop what was planned for a pod that is gone."""
        self._planned.discard(uid)

    async def _sync(self, key: Key) -> float | None:
        pod = self._pod(key)
        if pod is None or not pod["spec"].get("nodeName") or is_terminal(pod):
            return None
        uid = pod["metadata"]["uid"]
        try:
            eviction = self._first_eviction(pod)
        except NotYet:
            return _SOON
        if eviction is None:
            if uid in self._planned:
                self._planned.discard(uid)
                self._events.event(_reference(pod), "Normal", _REASON, "Cancelling deletion")
            return None
        left = (eviction.due - datetime.now(UTC)).total_seconds()
        if left > 0:
            self._planned.add(uid)
            return left
        self._planned.discard(uid)
        await self._evict(pod, eviction.cause)
        return None

    def _first_eviction(self, pod: Object) -> _Eviction | None:
        """Find out when the pod has to go; None if nothing evicts it."""
        found = []
        for key in claim_keys(pod):
            claim = self._claim(key)
            if claim is not None and is_reserved_for(pod, claim):
                found += [eviction for result in results(claim) for eviction in self._evictions(result)]
        return min(found, key=lambda eviction: eviction.due, default=None)

    def _evictions(self, result: DeviceRequestAllocationResult) -> Iterator[_Eviction]:
        """Iterate over when tolerations end, for each taint of an allocated device that is not tolerated for ever."""
        for taint, owner in self._taints(result):
            if taint["effect"] != EFFECT:
                continue
            seconds = [
                toleration.get("tolerationSeconds")
                for toleration in result.get("tolerations") or ()
                if toleration.get("effect") == EFFECT and tolerates(toleration, taint)
            ]
            limits = [each for each in seconds if each is not None]
            if len(limits) == len(seconds):
                added = taint.get("timeAdded")
                since = datetime.fromisoformat(added) if added else datetime.now(UTC)
                due = since + timedelta(seconds=max(0, min(limits, default=0)))
                yield _Eviction(due, _cause(taint, owner, result) if owner else "")

    async def _evict(self, pod: Object, cause: str) -> None:
        metadata: ObjectMeta = pod["metadata"]
        try:
            current = await self._connection.get(PODS, metadata["name"], metadata["namespace"])
            if current["metadata"]["uid"] != metadata["uid"] or "deletionTimestamp" in current["metadata"]:
                return
            self._events.event(_reference(pod), "Normal", _REASON, f"{_MARKING}: {cause}" if cause else _MARKING)
            (condition,) = conditions.with_condition(None, _CONDITION)
            patch: dict[str, Any] = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [condition]}}
            await self._connection.patch(
                PODS, metadata["name"], patch, metadata["namespace"], patch_type="strategic-merge", subresource="status"
            )
            await self._connection.delete(PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except NotFound:
            return
        if cause:
            log.warning("pod %s/%s is evicted: %s", metadata["namespace"], metadata["name"], cause)


def _cause(taint: Taint, owner: str, result: DeviceRequestAllocationResult) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    device = f"{result['driver']}/{result['pool']}/{result['device']}"
    return f"taint {taint['key']}{value}:{taint['effect']} of {owner} on device {device}"


def claim_keys(pod: Object) -> Iterator[Key]:
    """Yield namespace and name of each claim of a pod that exists as far as the pod knows."""
    namespace = pod["metadata"]["namespace"]
    return ((namespace, name) for name in claim_names(pod))


def _reference(pod: Object) -> Object:
    return reference({**pod, "kind": PODS.kind, "apiVersion": PODS.api_version})
