"""Evicts pods from devices with a NoExecute taint, whether a driver or an administrator has put it there (KEP-5055).

A pod goes when one of its claims was allocated such a device without tolerating the taint, or when its time of
toleration is over. Words, and what counts as a toleration, are those of
k8s.io/kubernetes/pkg/controller/devicetainteviction. The conditions of DeviceTaintRules, with which that controller
tells its progress, are not written.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from drakit_api.core import conditions
from drakit_api.core.pod_claims import claim_names, is_reserved_for, is_terminal
from drakit_api.core.tolerations import tolerates
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.allocations import results
from drakit_api.typed_objects import (
    Device,
    DeviceRequestAllocationResult,
    DeviceTaint,
    ObjectMeta,
    ResourceClaim,
    ResourceSlice,
    ResourceSliceSpec,
)
from drakit_client.errors import NotFound
from drakit_client.events import EventRecorder, reference
from drakit_client.reflector import Key, key_of
from drakit_client.resources import DEVICE_TAINT_RULES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.ownership import typed

_EFFECT = "NoExecute"
_REASON = "DeviceTaintManagerEviction"
_CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}
_WORKERS = 10


class DeviceTaintEviction:
    """Runs while the gate DRADeviceTaints is on; ``rules``: DRADeviceTaintRules too."""

    def __init__(self, informers: Informers, *, rules: bool) -> None:
        self._connection = informers.connection
        self._events = EventRecorder(informers.connection, "device-taint-eviction-controller")
        self._pods = informers.reflector(PODS)
        self._claims = informers.reflector(RESOURCE_CLAIMS)
        self._rules = informers.reflector(DEVICE_TAINT_RULES) if rules else None
        self._pods_by_claim = informers.index(PODS, _claim_keys)
        self._claims_by_pool = informers.index(RESOURCE_CLAIMS, _pools)
        self._slices_by_pool = informers.index(RESOURCE_SLICES, _pool)
        # Pods with a planned eviction, by uid: an event says if it is cancelled.
        self._planned: set[str] = set()
        self._queue: WorkQueue[Key] = WorkQueue(self._sync, name="device taints", limit=_WORKERS)
        self._pods.on_change(self._pod_changed)
        self._claims.on_change(self._claim_changed)
        informers.reflector(RESOURCE_SLICES).on_change(self._slice_changed)
        if self._rules is not None:
            self._rules.on_change(self._rule_changed)

    async def run(self) -> None:
        """Evict until cancelled; the reflectors must be synced."""
        await self._queue.run()

    # Find pods whose devices may have changed.

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None and new["spec"].get("nodeName"):
            self._queue.add(key_of(new))
        elif old is not None:
            self._planned.discard(old["metadata"]["uid"])

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if new is not None:
            self._add_pods_of(new)

    def _slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        for pool in {pool for each in (old, new) if each is not None and _is_tainted(each) for pool in _pool(each)}:
            for claim in self._claims_by_pool.get(pool):
                self._add_pods_of(claim)

    def _rule_changed(self, old: Object | None, new: Object | None) -> None:
        for claim in self._claims.store.values():
            if any(_selects(rule, result) for rule in (old, new) if rule for result in results(claim)):
                self._add_pods_of(claim)

    def _add_pods_of(self, claim: ResourceClaim) -> None:
        for pod in self._pods_by_claim.get(key_of(claim)):
            self._queue.add(key_of(pod))

    async def _sync(self, key: Key) -> float | None:
        namespace, name = key
        pod = self._pods.get(name, namespace)
        if pod is None or not pod["spec"].get("nodeName") or is_terminal(pod):
            return None
        uid = pod["metadata"]["uid"]
        due = self._eviction_time(pod)
        if due is None:
            if uid in self._planned:
                self._planned.discard(uid)
                self._events.event(_pod_reference(pod), "Normal", _REASON, "Cancelling deletion")
            return None
        left = (due - datetime.now(UTC)).total_seconds()
        if left > 0:
            self._planned.add(uid)
            return left
        self._planned.discard(uid)
        await self._evict(pod)
        return None

    def _eviction_time(self, pod: Object) -> datetime | None:
        """Compute when the pod has to go; None if nothing evicts it."""
        times = []
        for key in _claim_keys(pod):
            claim: ResourceClaim | None = self._claims.get(key[1], key[0])
            if claim is not None and is_reserved_for(pod, claim):
                times += [time for result in results(claim) for time in self._times(result)]
        return min(times, default=None)

    def _times(self, result: DeviceRequestAllocationResult) -> Iterator[datetime]:
        """Iterate over when tolerations end, for each taint of an allocated device that is not tolerated for ever."""
        for taint in self._taints(result):
            seconds = [
                toleration.get("tolerationSeconds")
                for toleration in result.get("tolerations") or ()
                if toleration.get("effect") == _EFFECT and tolerates(toleration, taint)
            ]
            limits = [each for each in seconds if each is not None]
            if len(limits) == len(seconds):
                added = taint.get("timeAdded")
                since = datetime.fromisoformat(added) if added else datetime.now(UTC)
                yield since + timedelta(seconds=max(0, min(limits, default=0)))

    def _taints(self, result: DeviceRequestAllocationResult) -> Iterator[DeviceTaint]:
        """Iterate over the taints of an allocated device that evict."""
        device = self._device(result)
        taints = list(device.get("taints") or ()) if device is not None else []
        if self._rules is not None:
            taints += [rule["spec"]["taint"] for rule in self._rules.store.values() if _selects(rule, result)]
        return (taint for taint in taints if taint["effect"] == _EFFECT)

    def _device(self, result: DeviceRequestAllocationResult) -> Device | None:
        """Find the device in the newest slices of its pool."""
        of_pool: list[ResourceSliceSpec] = [
            each["spec"] for each in self._slices_by_pool.get((result["driver"], result["pool"]))
        ]
        of_pool.sort(key=lambda spec: spec["pool"].get("generation", 0), reverse=True)
        devices = (device for spec in of_pool for device in spec.get("devices") or ())
        return next((device for device in devices if device["name"] == result["device"]), None)

    async def _evict(self, pod: Object) -> None:
        metadata: ObjectMeta = pod["metadata"]
        try:
            current = await self._connection.get(PODS, metadata["name"], metadata["namespace"])
            if current["metadata"]["uid"] != metadata["uid"] or "deletionTimestamp" in current["metadata"]:
                return
            self._events.event(_pod_reference(pod), "Normal", _REASON, "Marking for deletion")
            (condition,) = conditions.with_condition(None, _CONDITION)
            patch = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [condition]}}
            await self._connection.patch(
                PODS, metadata["name"], patch, metadata["namespace"], patch_type="strategic-merge", subresource="status"
            )
            await self._connection.delete(PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except NotFound:
            return


def _claim_keys(pod: Object) -> Iterator[Key]:
    namespace = pod["metadata"]["namespace"]
    return ((namespace, name) for name in claim_names(pod))


def _pools(claim: ResourceClaim) -> Iterator[tuple[str, str]]:
    return ((result["driver"], result["pool"]) for result in results(claim))


def _pool(slice_: ResourceSlice) -> Iterator[tuple[str, str]]:
    spec = slice_["spec"]
    yield spec["driver"], spec["pool"]["name"]


def _is_tainted(slice_: ResourceSlice) -> bool:
    return any(device.get("taints") for device in slice_["spec"].get("devices") or ())


def _selects(rule: Object, result: DeviceRequestAllocationResult) -> bool:
    """Check whether a rule selects an allocated device; one without a selector selects nothing."""
    selector = rule["spec"].get("deviceSelector")
    return selector is not None and all(
        selector[field] == result[field] for field in ("driver", "pool", "device") if field in selector
    )


def _pod_reference(pod: Object) -> Object:
    return reference(typed(PODS, pod))
