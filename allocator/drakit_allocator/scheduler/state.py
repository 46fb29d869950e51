"""Everything the scheduler knows, and what each change in the API server does to it.

The handlers are called by reflectors. They only update memory and move pods in the queue; decisions are made and
written elsewhere.

Source: kubernetes ``pkg/scheduler/eventhandlers.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from drakit_allocator.defects import Compat
from drakit_allocator.overlays.statements import Failed
from drakit_allocator.scheduler import claims as claim_store
from drakit_allocator.scheduler import hints, pod_claims
from drakit_allocator.scheduler.cycle import Cycle
from drakit_allocator.scheduler.device_search import DeviceSearches
from drakit_allocator.scheduler.nodes.cluster import Cluster
from drakit_allocator.scheduler.nodes.filters import DYNAMIC_RESOURCES
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.nodes.rankings import Rankings
from drakit_allocator.scheduler.queue import SchedulingQueue
from drakit_allocator.scheduler.readiness import Readiness
from drakit_api.features import MIXINS_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import mixins
from drakit_api.typed_objects import ResourceClaim
from drakit_client.backoff import Backoff

log = logging.getLogger(__name__)

SCHEDULING_GATES = "SchedulingGates"


class State:
    """The cluster, the claims, the devices and the queue of one scheduler."""

    def __init__(
        self,
        name: str,
        gates: FeatureGates,
        backoff: Backoff,
        filter_timeout: float,
        compat: Compat = "upstream",
        objection: pod_claims.Objection = pod_claims.no_objection,
        *,
        failed: Failed | None = None,
    ) -> None:
        """``failed`` is told why patches do not apply to devices."""
        self._name = name
        self._mixins = gates.enabled(MIXINS_GATE)
        self.cluster = Cluster()
        self.searches = DeviceSearches(gates, filter_timeout, compat, changed=self._devices_changed, failed=failed)
        self.claims = claim_store.Claims(self.searches.allocated, self._released)
        self.readiness = Readiness(self.claims)
        self.queue = SchedulingQueue(backoff)
        requirements = pod_claims.Requirements(self.claims, self.searches.classes, gates, objection)
        self.cycle = Cycle(self.cluster, Rankings(self.cluster), requirements, self.searches)
        # The pods that use a claim: only they are concerned when it changes.
        self._users: dict[claim_store.Key, set[str]] = {}
        # The pod that has left the queue and is being decided on, by uid.
        self.deciding = ""
        # Pods that are decided on and not bound yet.
        self.binding: dict[str, PodInfo] = {}
        # Whether devices have changed since this was last asked.
        self._devices_settle = False
        # Called when devices have changed as the allocator sees them, after the waiting pods have been told.
        self.on_devices: list[Callable[[], None]] = []

    def on_node(self, old: Object | None, new: Object | None) -> None:
        """Handle a node that was added, changed or deleted."""
        if new is None:
            assert old is not None
            self.cluster.remove_node(old["metadata"]["name"])
            self.searches.node_changed(old["metadata"]["name"])
            self.queue.move(hints.node_deleted())
            return
        if old is not None and _same_for_scheduling(old, new):
            return
        self.cluster.set_node(new)
        self.searches.node_changed(new["metadata"]["name"])
        if self.queue.unschedulable:
            self.queue.move(hints.node_set(old, new))

    def on_namespace(self, old: Object | None, new: Object | None) -> None:
        """Handle a namespace that was added, changed or deleted."""
        name = (new or old or {})["metadata"]["name"]
        before = self.cluster.namespace_labels.pop(name, {})
        if new is not None:
            labels = self.cluster.namespace_labels[name] = new["metadata"].get("labels") or {}
            if labels != before:
                self.queue.move(hints.namespace_changed())

    def on_slice(self, old: Object | None, new: Object | None) -> None:
        """Handle a ResourceSlice that was added, changed or deleted."""
        if self._mixins:
            old, new = (None if seen is None else mixins.applied_to(seen) for seen in (old, new))
        self.searches.slice_changed(old, new)

    def on_taint_rule(self, old: Object | None, new: Object | None) -> None:
        """Handle a DeviceTaintRule that was added, changed or deleted."""
        self.searches.taint_rule_changed(old, new)

    def on_patch(self, old: Object | None, new: Object | None) -> None:
        """Handle a ResourceSlicePatch that was added, changed or deleted."""
        self.searches.patch_changed(old, new)

    def _devices_changed(self) -> None:
        """Wake up pods that wait for devices: whatever has changed, the next search sees it."""
        self._devices_settle = True
        self.queue.move(hints.devices_changed())
        for tell in self.on_devices:
            tell()

    def look_ahead(self) -> bool:
        """Look at a few devices that have changed, so that faults of patches come up however busy the scheduler is.

        False when there are none left.
        """
        try:
            return self.searches.look_ahead()
        except Exception as error:
            # Pods that could get them are told when they are tried; all others are not to suffer.
            log.error("devices of a pool cannot be looked at: %s", error, exc_info=error)
            return True

    def warm_up(self) -> bool:
        """Prepare for pods to come, a little; False when there is nothing to prepare, or it is still changing."""
        if self._devices_settle:
            self._devices_settle = False
            return False
        return self.look_ahead() or self.searches.warm_up(self.cluster)

    def on_class(self, old: Object | None, new: Object | None) -> None:
        """Handle a DeviceClass that was added, changed or deleted."""
        self.searches.class_changed(old, new)
        if new is not None:
            self.queue.move(hints.devices_changed())

    def on_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Handle a ResourceClaim that was added, changed or deleted."""
        self.claims.seen(old, new)
        self.readiness.claim_changed()
        if new is not None and (old is None or old.get("status") != new.get("status")):
            self.claim_changed(claim_store.key_of(new))

    def claim_changed(self, key: claim_store.Key) -> None:
        """Retry the pods that wait for this very claim."""
        for uid in list(self._users.get(key, ())):
            entry = self.queue.unschedulable.get(uid)
            if entry is None or DYNAMIC_RESOURCES not in entry.rejectors:
                continue
            if entry.held:
                self._admit(entry.pod)
            elif not any(self.claims.pending(claim_store.uid_of(c)) for c in self._claims_of(entry.pod)):
                self.queue.retry(entry)

    def on_pod(self, old: Object | None, new: Object | None) -> None:
        """Handle an unfinished pod that was added, changed or deleted."""
        if new is None:
            assert old is not None
            self._pod_gone(old)
            return
        pod = PodInfo(new)
        if pod.finished:
            self._pod_gone(new)
        elif pod.node:
            self._pod_placed(old, pod)
        elif pod.spec.get("schedulerName", "default-scheduler") == self._name:
            self._pod_waits(old, pod)

    def forget_binding(self, pod: PodInfo) -> None:
        """Free what a pod would have used, as its binding failed."""
        self.binding.pop(pod.uid, None)
        self.cluster.forget(pod.uid)
        self.queue.move(hints.pod_removed(pod))

    def _pod_gone(self, obj: Object) -> None:
        pod = PodInfo(obj)
        self.queue.delete(pod.uid)
        self._unuse(pod)
        if pod.uid in self.binding and pod.uid in self.cluster.assumed:
            # The binding is about to fail, or to learn that the pod is gone.
            return
        if pod.uid in self.cluster.pods:
            self.cluster.remove(pod.uid)
            self.queue.move(hints.pod_removed(pod))

    def _pod_placed(self, old: Object | None, pod: PodInfo) -> None:
        waited = old is not None and not old["spec"].get("nodeName")
        if waited:
            self.queue.delete(pod.uid)
            self._unuse(pod)
        moved = old is None or waited or (old["metadata"].get("labels") or {}) != pod.labels
        self.cluster.place(pod)
        if moved and self.queue.unschedulable:
            self.queue.move(hints.pod_placed(pod))

    def _pod_waits(self, old: Object | None, pod: PodInfo) -> None:
        if pod.uid in self.binding or pod.uid in self.cluster.assumed or pod.uid == self.deciding:
            return
        if pod.deleted:
            self.queue.delete(pod.uid)
            return
        self._use(pod)
        waiting = self.queue.update(pod)
        if waiting is None or waiting.held:
            self._admit(pod)
        elif old is not None and pod.differs(PodInfo(old)):
            self.queue.move(hints.pod_changed(pod))

    def _admit(self, pod: PodInfo) -> None:
        """Queue a pod unless it is known beforehand that it cannot be scheduled.

        As those that PreEnqueue rejects, a held pod waits without an event or a condition.
        """
        plugin = SCHEDULING_GATES if pod.gates else self._rejecting_plugin(pod)
        if plugin is not None:
            self.queue.hold(pod, [plugin])
        elif pod.uid in self.queue.entries:
            self.queue.activate(pod.uid)
        else:
            self.queue.add(pod)

    def _rejecting_plugin(self, pod: PodInfo) -> str | None:
        try:
            pod_claims.find(pod, self.claims.get)
        except pod_claims.ClaimsNotReady as reason:
            log.debug("pod %s is not tried: %s", pod, reason)
            return DYNAMIC_RESOURCES
        return None

    def _claims_of(self, pod: PodInfo) -> list[ResourceClaim]:
        try:
            return pod_claims.find(pod, self.claims.get)
        except pod_claims.ClaimsNotReady:
            return []

    def _use(self, pod: PodInfo) -> None:
        for key in _claim_keys(pod):
            self._users.setdefault(key, set()).add(pod.uid)

    def _unuse(self, pod: PodInfo) -> None:
        for key in _claim_keys(pod):
            users = self._users.get(key, set())
            users.discard(pod.uid)
            if not users:
                self._users.pop(key, None)

    def _released(self, claim: ResourceClaim) -> None:
        self.searches.released(claim)
        self.queue.move(hints.devices_changed())


def _claim_keys(pod: PodInfo) -> list[claim_store.Key]:
    if not pod.spec.get("resourceClaims"):
        return []
    try:
        return [(pod.namespace, name) for name, _ in pod_claims.names(pod)]
    except pod_claims.ClaimsNotReady:
        return []


def _same_for_scheduling(old: Object, new: Object) -> bool:
    """Tell whether a node changed only in what scheduling ignores, as with each heartbeat."""
    before, after = old.get("status") or {}, new.get("status") or {}
    return bool(
        old.get("spec") == new.get("spec")
        and old["metadata"].get("labels") == new["metadata"].get("labels")
        and before.get("allocatable") == after.get("allocatable")
        and before.get("declaredFeatures") == after.get("declaredFeatures")
    )
