"""Which of the nodes that fit is best: a small, deterministic part of kube-scheduler's scoring.

Kept are the scores that users rely on: free cpu and memory, preferred node affinity, PreferNoSchedule taints; that of
dynamic resources is known only after the search for devices and added in ``cycle``. Each is between 0 and 100 and
weighted as upstream. Two differences: a score is normalized against what the pod asks for rather than against the best
node, so that it can be kept while other nodes change, and equal nodes are taken in scheduling order rather than at
random.

Sources: kubernetes ``pkg/scheduler/framework/plugins/noderesources/least_allocated.go``, ``nodeaffinity``,
``tainttoleration``, weights in ``apis/config/v1/default_plugins.go``.
"""

from __future__ import annotations

from drakit_allocator.scheduler.nodes import resources
from drakit_allocator.scheduler.nodes.cluster import NodeInfo
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.core.node_selectors import NodeTerm, node_term
from drakit_api.core.tolerations import is_tolerated

TAINT_WEIGHT, AFFINITY_WEIGHT, RESOURCES_WEIGHT, DEVICES_WEIGHT = 3, 2, 1, 2
MAX_SCORE = 100


class Scorer:
    """Scores nodes for one pod, or for any pod of the same signature."""

    def __init__(self, pod: PodInfo) -> None:
        self._cpu, self._memory = pod.nonzero
        self._tolerations = [t for t in pod.tolerations if t.get("effect") in (None, "", "PreferNoSchedule")]
        self._preferred = _preferred_terms(pod)
        self._most = sum(weight for weight, _ in self._preferred)

    def score(self, node: NodeInfo) -> int:
        """Compute the weighted sum; higher is better."""
        total = RESOURCES_WEIGHT * self._resources(node) + TAINT_WEIGHT * self._taints(node)
        if self._most > 0:
            total += AFFINITY_WEIGHT * self._affinity(node)
        return total

    def _resources(self, node: NodeInfo) -> int:
        cpu, memory = node.allocatable.get(resources.CPU, 0), node.allocatable.get(resources.MEMORY, 0)
        shares = [
            _free_share(self._cpu + node.nonzero_cpu, cpu) if cpu else None,
            _free_share(self._memory + node.nonzero_memory, memory) if memory else None,
        ]
        known = [share for share in shares if share is not None]
        return sum(known) // len(known) if known else 0

    def _taints(self, node: NodeInfo) -> int:
        if not node.soft_taints:
            return MAX_SCORE
        disliked = sum(not is_tolerated(taint, self._tolerations) for taint in node.soft_taints)
        return MAX_SCORE // (1 + disliked)

    def _affinity(self, node: NodeInfo) -> int:
        met = sum(weight for weight, term in self._preferred if term.matches(node.name, node.labels))
        return MAX_SCORE * met // self._most


def _free_share(requested: int, capacity: int) -> int:
    return (capacity - requested) * MAX_SCORE // capacity if requested <= capacity else 0


def _preferred_terms(pod: PodInfo) -> list[tuple[int, NodeTerm]]:
    affinity = pod.affinity.get("nodeAffinity") or {}
    compiled = (
        (preference.get("weight") or 0, node_term(preference.get("preference") or {}))
        for preference in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    )
    return [(weight, term) for weight, term in compiled if weight and term is not None]
