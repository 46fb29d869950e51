"""Nodes and the pods on them: what is free where, including pods whose binding is still on its way.

A pod is *assumed* on its node as soon as the scheduler has decided, so that the next decision sees it. The assumption
ends when the watch shows the pod bound, or when the binding failed.

Source: kubernetes ``pkg/scheduler/backend/cache/{cache,node_tree}.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from drakit_allocator.scheduler.nodes import node_taints, resources
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.kubernetes_objects import Object

# Called with the name of a node whose free resources or properties changed; with None if nodes came or went.
Observer = Callable[[str | None], None]

_ZONE_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


class NodeInfo:
    """One node: its properties, the pods on it, and what they request."""

    __slots__ = (
        "allocatable",
        "allowed_pods",
        "hard_taints",
        "labels",
        "name",
        "nonzero_cpu",
        "nonzero_memory",
        "obj",
        "order",
        "pods",
        "ports",
        "requested",
        "soft_taints",
        "unschedulable",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.order = 0
        self.pods: dict[str, PodInfo] = {}
        self.requested: resources.Amounts = {}
        self.nonzero_cpu = 0
        self.nonzero_memory = 0
        self.ports: dict[tuple[str, str, int], int] = {}
        self.set_object({"metadata": {"name": name}})

    def set_object(self, obj: Object) -> None:
        """Take over the properties of the Node object."""
        spec: Mapping[str, Any] = obj.get("spec") or {}
        all_taints = spec.get("taints") or []
        self.obj = obj
        self.labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
        self.unschedulable = bool(spec.get("unschedulable"))
        self.hard_taints = node_taints.keeping_away(all_taints)
        self.soft_taints = [taint for taint in all_taints if taint.get("effect") == "PreferNoSchedule"]
        self.allocatable = resources.amounts((obj.get("status") or {}).get("allocatable"))
        self.allowed_pods = self.allocatable.get(resources.PODS, 0)

    def add(self, pod: PodInfo) -> None:
        """Count a pod in."""
        self.pods[pod.uid] = pod
        self._count(pod, 1)

    def remove(self, pod: PodInfo) -> None:
        """Count a pod out."""
        del self.pods[pod.uid]
        self._count(pod, -1)

    def _count(self, pod: PodInfo, sign: int) -> None:
        for resource, value in pod.requests.items():
            self.requested[resource] = self.requested.get(resource, 0) + sign * value
        cpu, memory = pod.nonzero
        self.nonzero_cpu += sign * cpu
        self.nonzero_memory += sign * memory
        for port in pod.ports:
            if (left := self.ports.get(port, 0) + sign) > 0:
                self.ports[port] = left
            else:
                self.ports.pop(port, None)


class Cluster:
    """All nodes in scheduling order, all pods that are placed, and namespace labels."""

    def __init__(self) -> None:
        self.pods: dict[str, PodInfo] = {}
        self.by_namespace: dict[str, dict[str, PodInfo]] = {}
        self.with_anti_affinity: dict[str, PodInfo] = {}
        self.namespace_labels: dict[str, Mapping[str, str]] = {}
        self.assumed: dict[str, PodInfo] = {}
        self.observers: list[Observer] = []
        self._nodes: dict[str, NodeInfo] = {}
        # Pods can be seen before their node, and outlive it.
        self._homeless: dict[str, NodeInfo] = {}
        self._order: list[NodeInfo] | None = None

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[NodeInfo]:
        """Yield nodes in scheduling order: one of each zone in turn, within a zone as they were added."""
        if self._order is None:
            self._order = _in_zone_order(self._nodes)
            for position, node in enumerate(self._order):
                node.order = position
        return iter(self._order)

    def get(self, name: str) -> NodeInfo | None:
        """Return the node of a name; None if it does not exist."""
        return self._nodes.get(name)

    def set_node(self, obj: Object) -> None:
        """Take in a Node object that was added or changed."""
        name = obj["metadata"]["name"]
        node = self._nodes.get(name)
        if node is not None:
            moved = _zone(node.labels) != _zone(obj["metadata"].get("labels") or {})
            node.set_object(obj)
            self._changed(None if moved else name)
            return
        node = self._nodes[name] = self._homeless.pop(name) if name in self._homeless else NodeInfo(name)
        node.set_object(obj)
        self._changed(None)

    def remove_node(self, name: str) -> None:
        """Remove a deleted Node; its pods are still counted until they are deleted, too."""
        node = self._nodes.pop(name, None)
        if node is not None:
            if node.pods:
                self._homeless[name] = node
            self._changed(None)

    def place(self, pod: PodInfo) -> None:
        """Count a bound pod on ``pod.node``, in place of what was assumed or known of it before."""
        known = self.pods.get(pod.uid)
        self.assumed.pop(pod.uid, None)
        if known is not None:
            if _same_place(known, pod):
                return
            self._drop(known)
        self._put(pod)

    def assume(self, pod: PodInfo, node: str) -> PodInfo:
        """Count a pod in before its binding is known, and return the assumed pod."""
        assumed = PodInfo(pod.obj)
        # Requests and terms were computed for the waiting pod already.
        assumed.__dict__.update({key: value for key, value in pod.__dict__.items() if key != "node"})
        assumed.node = node
        self.assumed[pod.uid] = assumed
        self._put(assumed)
        return assumed

    def forget(self, uid: str) -> None:
        """Drop an assumed pod whose binding failed."""
        assumed = self.assumed.pop(uid, None)
        if assumed is not None:
            self._drop(assumed)

    def remove(self, uid: str) -> None:
        """Drop a pod that was deleted or finished."""
        self.assumed.pop(uid, None)
        pod = self.pods.get(uid)
        if pod is not None:
            self._drop(pod)

    def _put(self, pod: PodInfo) -> None:
        self.pods[pod.uid] = pod
        self.by_namespace.setdefault(pod.namespace, {})[pod.uid] = pod
        if pod.required_anti_affinity:
            self.with_anti_affinity[pod.uid] = pod
        node = self._nodes.get(pod.node) or self._homeless.get(pod.node)
        if node is None:
            node = self._homeless[pod.node] = NodeInfo(pod.node)
        node.add(pod)
        self._changed(pod.node)

    def _drop(self, pod: PodInfo) -> None:
        del self.pods[pod.uid]
        del self.by_namespace[pod.namespace][pod.uid]
        self.with_anti_affinity.pop(pod.uid, None)
        node = self._nodes.get(pod.node) or self._homeless[pod.node]
        node.remove(pod)
        if not node.pods:
            self._homeless.pop(pod.node, None)
        self._changed(pod.node)

    def _changed(self, name: str | None) -> None:
        if name is None:
            self._order = None
        for observer in self.observers:
            observer(name)


def _same_place(known: PodInfo, pod: PodInfo) -> bool:
    """Tell whether an update, of the status most of the time, changes nothing that is counted."""
    if known.node != pod.node or known.labels != pod.labels or known.deleted != pod.deleted:
        return False
    return known.spec == pod.spec or known.requests == pod.requests


def _zone(labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(labels.get(label, "") for label in _ZONE_LABELS)


def _in_zone_order(nodes: Mapping[str, NodeInfo]) -> list[NodeInfo]:
    zones: dict[tuple[str, ...], list[NodeInfo]] = {}
    for node in nodes.values():
        zones.setdefault(_zone(node.labels), []).append(node)
    if len(zones) <= 1:
        return list(nodes.values())
    rounds = max(len(zone) for zone in zones.values())
    return [zone[turn] for turn in range(rounds) for zone in zones.values() if turn < len(zone)]
