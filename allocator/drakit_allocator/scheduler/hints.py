"""Which event can make which unschedulable pod schedulable.

Each function describes one event as a map from the plugins that it concerns to a test of a pod that such a plugin
rejected. A plugin that is not in the map would reject the pod again for the same reason.

Source: ``EventsToRegister`` and the queueing hints of the plugins in kubernetes ``pkg/scheduler/framework/plugins``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from drakit_allocator.scheduler.nodes import filters, node_taints
from drakit_allocator.scheduler.nodes.cluster import NodeInfo
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.queue import Hint
from drakit_api.kubernetes_objects import Object

# Not a plugin of kube-scheduler: pods wait for it while there is no node at all.
NO_NODES = "NoNodes"

Hints = Mapping[str, Hint]


def always(pod: PodInfo) -> bool:
    """Hint that the event may help any pod that the plugin rejected."""
    return True


def _never(pod: PodInfo) -> bool:
    return False


def node_set(old: Object | None, new: Object) -> Hints:
    """Give the hints for a node that was added (``old`` is None) or changed."""
    after = _node(new)
    before = _node(old) if old is not None else None
    hints: dict[str, Hint] = {
        filters.NODE_UNSCHEDULABLE: _became(before, after, _is_schedulable),
        filters.TAINT_TOLERATION: _became(before, after, _is_tolerated),
        filters.NODE_AFFINITY: _became(before, after, filters.matches_node_affinity),
    }
    if before is None or before.allocatable != after.allocatable:
        hints[filters.NODE_RESOURCES] = lambda pod: not filters.insufficient(pod, after)
    if before is None or before.labels != after.labels or before.hard_taints != after.hard_taints:
        hints[filters.TOPOLOGY_SPREAD] = always
    if before is None or before.labels != after.labels:
        hints[filters.INTER_POD_AFFINITY] = always
    if before is None or before.labels != after.labels or before.allocatable != after.allocatable:
        hints[filters.DYNAMIC_RESOURCES] = always
    if before is None:
        hints |= {NO_NODES: always, filters.NODE_PORTS: always, filters.NODE_NAME: lambda pod: pod.node == after.name}
    return hints


def node_deleted() -> Hints:
    """Give the hints for a node that is gone: the emptiest topology may have gone with it."""
    return {filters.TOPOLOGY_SPREAD: always}


def pod_placed(placed: PodInfo) -> Hints:
    """Give the hints for a pod that was bound, or a bound pod whose labels changed."""
    return {
        filters.INTER_POD_AFFINITY: always,
        filters.TOPOLOGY_SPREAD: lambda pod: pod.namespace == placed.namespace,
    }


def pod_removed(removed: PodInfo) -> Hints:
    """Give the hints for a pod that no longer uses its node."""
    return {
        filters.NODE_RESOURCES: always,
        filters.NODE_PORTS: always if removed.ports else _never,
        filters.INTER_POD_AFFINITY: always,
        filters.TOPOLOGY_SPREAD: lambda pod: pod.namespace == removed.namespace,
    }


def pod_changed(changed: PodInfo) -> Hints:
    """Give the hints for a waiting pod that got other labels, tolerations or claims itself."""

    def itself(pod: PodInfo) -> bool:
        return pod.uid == changed.uid

    plugins = (
        filters.NODE_UNSCHEDULABLE,
        filters.TAINT_TOLERATION,
        filters.NODE_AFFINITY,
        filters.NODE_RESOURCES,
        filters.INTER_POD_AFFINITY,
        filters.TOPOLOGY_SPREAD,
        filters.DYNAMIC_RESOURCES,
    )
    return dict.fromkeys(plugins, itself)


def devices_changed() -> Hints:
    """Give the hints for changed slices, device classes or device taint rules, and for devices that were given back."""
    return {filters.DYNAMIC_RESOURCES: always}


def namespace_changed() -> Hints:
    """Give the hints for changed labels of a namespace, which change what namespace selectors mean."""
    return {filters.INTER_POD_AFFINITY: always}


def _became(
    before: NodeInfo | None, after: NodeInfo, accepts: Callable[[PodInfo, NodeInfo], bool]
) -> Callable[[PodInfo], bool]:
    return lambda pod: accepts(pod, after) and (before is None or not accepts(pod, before))


def _is_schedulable(pod: PodInfo, node: NodeInfo) -> bool:
    return not node.unschedulable


def _is_tolerated(pod: PodInfo, node: NodeInfo) -> bool:
    return not node_taints.untolerated(node.hard_taints, pod.tolerations)


def _node(obj: Object) -> NodeInfo:
    node = NodeInfo(obj["metadata"]["name"])
    node.set_object(obj)
    return node
