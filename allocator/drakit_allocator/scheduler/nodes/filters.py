"""The filters that look at one node alone: may the pod run there, and does it fit?

Kubernetes runs its filter plugins in a fixed order and reports the first that rejects a node, in words that users grep
for. Both are kept: ``reject`` returns the same reasons that kube-scheduler 1.37 would give for the same node.

Sources: kubernetes ``pkg/scheduler/apis/config/v1/default_plugins.go`` (order) and
``pkg/scheduler/framework/plugins/{nodename,nodeunschedulable,tainttoleration,nodeaffinity,nodeports,noderesources}``.
"""

from __future__ import annotations

from dataclasses import dataclass

from drakit_allocator.scheduler.nodes import node_taints, resources
from drakit_allocator.scheduler.nodes.cluster import NodeInfo
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.core.tolerations import is_tolerated

NODE_NAME = "NodeName"
NODE_UNSCHEDULABLE = "NodeUnschedulable"
TAINT_TOLERATION = "TaintToleration"
NODE_AFFINITY = "NodeAffinity"
NODE_PORTS = "NodePorts"
NODE_RESOURCES = "NodeResourcesFit"
TOPOLOGY_SPREAD = "PodTopologySpread"
INTER_POD_AFFINITY = "InterPodAffinity"
DYNAMIC_RESOURCES = "DynamicResources"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one node does not suit a pod: the plugin of kube-scheduler that says so, and its reasons."""

    plugin: str
    reasons: tuple[str, ...]


_NATIVE = {resources.CPU: 0, resources.MEMORY: 1, resources.STORAGE: 2}

_NAME = Rejection(NODE_NAME, ("node(s) didn't match the requested node name",))
_UNSCHEDULABLE = Rejection(NODE_UNSCHEDULABLE, ("node(s) were unschedulable",))
_TAINTS = Rejection(TAINT_TOLERATION, ("node(s) had untolerated taint(s)",))
_AFFINITY = Rejection(NODE_AFFINITY, ("node(s) didn't match Pod's node affinity/selector",))
_PORTS = Rejection(NODE_PORTS, ("node(s) didn't have free ports for the requested pod ports",))


def reject(pod: PodInfo, node: NodeInfo) -> Rejection | None:
    """Return the first objection to running the pod on the node; None if there is none."""
    if pod.node and pod.node != node.name:
        return _NAME
    if node.unschedulable and not is_tolerated(node_taints.UNSCHEDULABLE, pod.tolerations):
        return _UNSCHEDULABLE
    if node.hard_taints and node_taints.untolerated(node.hard_taints, pod.tolerations):
        return _TAINTS
    if not matches_node_affinity(pod, node):
        return _AFFINITY
    if pod.ports and not _ports_free(pod, node):
        return _PORTS
    if lacking := insufficient(pod, node):
        return Rejection(NODE_RESOURCES, tuple(lacking))
    return None


def matches_node_affinity(pod: PodInfo, node: NodeInfo) -> bool:
    """Tell whether node selector and required node affinity both accept the node."""
    if pod.node_labels is not None and not pod.node_labels(node.labels):
        return False
    return pod.node_affinity is None or pod.node_affinity.matches(node.name, node.labels)


def insufficient(pod: PodInfo, node: NodeInfo) -> list[str]:
    """List a reason for each resource of which the node has too little left."""
    reasons = ["Too many pods"] if len(node.pods) + 1 > node.allowed_pods else []
    lacking = [
        resource
        for resource, value in pod.requests.items()
        if value > node.allocatable.get(resource, 0) - node.requested.get(resource, 0)
    ]
    # Native resources first, as upstream; the order of the others is that of the pod.
    lacking.sort(key=lambda resource: _NATIVE.get(resource, len(_NATIVE)))
    return reasons + [f"Insufficient {resource}" for resource in lacking]


def _ports_free(pod: PodInfo, node: NodeInfo) -> bool:
    everywhere = "0.0.0.0"  # noqa: S104
    for address, protocol, port in pod.ports:
        for taken_address, taken_protocol, taken_port in node.ports:
            if (protocol, port) == (taken_protocol, taken_port) and (
                address == taken_address or everywhere in (address, taken_address)
            ):
                return False
    return True
