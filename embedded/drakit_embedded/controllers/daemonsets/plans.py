"""Which pods of a daemon set are made and which are deleted: pure functions over what is there.

Follows podsShouldBeOnNode (daemon_controller.go) and rollingUpdate (update.go) of k8s.io/kubernetes/pkg/controller/
daemon: ``upkeep`` gives every node its pod, ``rolling_update`` replaces pods of old templates, a few at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.controllers.daemonsets import node_fit
from drakit_embedded.controllers.daemonsets.node_fit import Fit
from drakit_embedded.controllers.pods import is_going, is_ready, seconds_to_available

PodsByNode = Mapping[str, Sequence[Object]]


@dataclass(slots=True)
class Plan:
    """Nodes to create a pod for, and pods to delete."""

    create: list[str] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)
    # Those of the deleted pods that have ended, for which events are written.
    ended: list[Object] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.create or self.delete)


class DaemonSetView:
    """A daemon set with the hash of its template, its nodes and its pods by node, as of one moment."""

    def __init__(self, daemon_set: Object, revision_hash: str, nodes: Iterable[Object], pods: PodsByNode) -> None:
        self.daemon_set = daemon_set
        self.hash = revision_hash
        self.fits: dict[str, Fit] = {node["metadata"]["name"]: node_fit.fit(daemon_set, node) for node in nodes}
        self.pods = pods
        self._generation = node_fit.template_generation(daemon_set)
        self._minimum: int = daemon_set["spec"].get("minReadySeconds") or 0

    @property
    def desired(self) -> list[str]:
        """Nodes that should have a pod."""
        return [name for name, fit in self.fits.items() if fit.should_run]

    def is_updated(self, pod: Object) -> bool:
        """Check whether the pod was made from the current template."""
        labels = pod["metadata"].get("labels") or {}
        by_generation = bool(self._generation) and labels.get(node_fit.GENERATION_LABEL) == self._generation
        return by_generation or labels.get(node_fit.HASH_LABEL) == self.hash

    def is_available(self, pod: Object) -> bool:
        """Check whether the pod has been ready long enough."""
        return seconds_to_available(pod, self._minimum) == 0

    def surge_and_unavailable(self) -> tuple[int, int]:
        """Compute (max surge, max unavailable) in nodes; never both zero, or nothing could ever move."""
        strategy = self.daemon_set["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return 0, 0
        rolling, desired = strategy.get("rollingUpdate") or {}, len(self.desired)
        surge = _rounded_up(rolling.get("maxSurge", 0), desired)
        unavailable = _rounded_up(rolling.get("maxUnavailable", 1), desired)
        return surge, 1 if desired and not surge and not unavailable else unavailable

    def new_and_old(self, node: str) -> tuple[Object | None, Object | None] | None:
        """Find the pod of the current template and that of an older one; None if there are several of either."""
        living = [pod for pod in self.pods.get(node, ()) if not is_going(pod)]
        new = [pod for pod in living if self.is_updated(pod)]
        old = [pod for pod in living if not self.is_updated(pod)]
        if len(new) > 1 or len(old) > 1:
            return None
        return (new[0] if new else None), (old[0] if old else None)


def upkeep(view: DaemonSetView, may_delete_failed: Callable[[str], bool]) -> Plan:
    """Plan one pod for each node. ``may_delete_failed(node)``: whether its last failed pod is long enough ago."""
    plan = Plan()
    surges = bool(view.surge_and_unavailable()[0])
    for node, fit in view.fits.items():
        pods = view.pods.get(node, ())
        if fit.should_run and not pods:
            plan.create.append(node)
        elif fit.may_stay:
            running = _without_ended(plan, node, pods, may_delete_failed)
            if surges:
                _keep_two(plan, view, node, running)
            else:
                plan.delete += by_age(running)[1:]
        else:
            plan.delete += [pod for pod in pods if not is_going(pod)]
    for node, pods in view.pods.items():
        if node not in view.fits:
            # The scheduler will never place new pods there; the pod garbage collector removes the old ones.
            plan.delete += [pod for pod in pods if not pod["spec"].get("nodeName") and not is_going(pod)]
    return plan


def _without_ended(
    plan: Plan, node: str, pods: Iterable[Object], may_delete_failed: Callable[[str], bool]
) -> list[Object]:
    running = []
    for pod in pods:
        if is_going(pod):
            continue
        phase = pod.get("status", {}).get("phase")
        if phase not in ("Failed", "Succeeded"):
            running.append(pod)
        elif phase == "Succeeded" or may_delete_failed(node):
            plan.delete.append(pod)
            plan.ended.append(pod)
    return running


def _keep_two(plan: Plan, view: DaemonSetView, node: str, running: list[Object]) -> None:
    """Plan a node for surge, which may have an old pod beside a new one that is not available yet."""
    if not running:
        if view.fits[node].should_run:
            plan.create.append(node)
        return
    if len(running) == 1:
        return
    # As in upstream, only the hash is compared here, not the template generation.
    ordered = by_age(running)
    new = [pod for pod in ordered if (pod["metadata"].get("labels") or {}).get(node_fit.HASH_LABEL) == view.hash]
    old = [pod for pod in ordered if pod not in new]
    plan.delete += [*new[1:], *old[1:]]
    if new and old and (not is_ready(old[0]) or view.is_available(new[0])):
        plan.delete.append(old[0])


def rolling_update(view: DaemonSetView) -> Plan:
    """Replace pods of older templates."""
    surge, unavailable = view.surge_and_unavailable()
    return _surging(view, surge) if surge else _replacing(view, unavailable)


def _replacing(view: DaemonSetView, unavailable: int) -> Plan:
    """Delete as many as may be missing; pods that are not available anyway go at once."""
    missing = 0
    replaced: list[Object] = []
    candidates: list[Object] = []
    for node in _nodes(view):
        found = view.new_and_old(node)
        new, old = found if found is not None else (None, None)
        if found is None or (new is None) == (old is None):
            missing += 1
        elif new is not None:
            missing += not view.is_available(new)
        elif old is not None and not view.is_available(old):
            replaced.append(old)
            missing += 1
        elif old is not None:
            candidates.append(old)
    return Plan(delete=[*replaced, *candidates[: max(0, unavailable - missing)]])


def _surging(view: DaemonSetView, surge: int) -> Plan:
    """Create the new pod beside the old one, which is deleted when the new one is available."""
    plan = Plan()
    candidates: list[str] = []
    misplaced: list[Object] = []
    surging = available = 0
    for node in _nodes(view):
        found = view.new_and_old(node)
        if found is None:
            surging += 1
            continue
        new, old = found
        counted = old if old is not None else new
        available += counted is not None and view.is_available(counted)
        if old is None:
            continue
        if new is not None:
            if view.is_available(new):
                plan.delete.append(old)
            else:
                surging += 1
        elif view.fits.get(node, Fit(False, False)).should_run:
            (candidates if view.is_available(old) else plan.create).append(node)
        else:
            (misplaced if view.is_available(old) else plan.delete).append(old)
    plan.delete += misplaced[: max(0, available - len(view.desired))]
    plan.create += candidates[: max(0, surge - surging)]
    return plan


def _nodes(view: DaemonSetView) -> list[str]:
    """List the nodes that have pods, or should have one."""
    return list(dict.fromkeys([*view.pods, *view.desired]))


def status(view: DaemonSetView) -> Object:
    """Compute ``status``: how many pods are scheduled, ready, updated and available, and on how many nodes."""
    counts = dict.fromkeys(("current", "misscheduled", "ready", "updated", "available"), 0)
    for node, fit in view.fits.items():
        pods = view.pods.get(node, ())
        if not fit.should_run:
            counts["misscheduled"] += bool(pods)
        elif pods:
            oldest = by_age(pods)[0]
            counts["current"] += 1
            counts["ready"] += is_ready(oldest)
            counts["available"] += is_ready(oldest) and view.is_available(oldest)
            counts["updated"] += view.is_updated(oldest)
    desired = len(view.desired)
    optional = {
        "updatedNumberScheduled": counts["updated"],
        "numberAvailable": counts["available"],
        "numberUnavailable": desired - counts["available"],
    }
    return {
        "currentNumberScheduled": counts["current"],
        "numberMisscheduled": counts["misscheduled"],
        "desiredNumberScheduled": desired,
        "numberReady": counts["ready"],
        **{key: value for key, value in optional.items() if value},
    }


def by_age(pods: Iterable[Object]) -> list[Object]:
    """Sort pods: those on a node first, then the oldest first."""
    return sorted(
        pods,
        key=lambda pod: (
            not pod["spec"].get("nodeName"),
            str(pod["metadata"].get("creationTimestamp", "")),
            pod["metadata"]["name"],
        ),
    )


def _rounded_up(value: Any, total: int) -> int:
    if isinstance(value, str):
        return math.ceil(int(value.removesuffix("%")) * total / 100)
    return int(value)
