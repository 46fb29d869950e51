"""Topology spread constraints that forbid scheduling (``whenUnsatisfiable: DoNotSchedule``).

A node is out when putting the pod there would leave its topology with more than ``maxSkew`` matching pods above the
emptiest eligible topology.

Source: kubernetes ``pkg/scheduler/framework/plugins/podtopologyspread/filtering.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drakit_allocator.scheduler.nodes import node_taints
from drakit_allocator.scheduler.nodes.cluster import Cluster, NodeInfo
from drakit_allocator.scheduler.nodes.filters import TOPOLOGY_SPREAD, Rejection, matches_node_affinity
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.core.label_selectors import Matcher, all_of, equality, everything, label_selector

_MISMATCH = "node(s) didn't match pod topology spread constraints"
_SKEW = Rejection(TOPOLOGY_SPREAD, (_MISMATCH,))
_NO_LABEL = Rejection(TOPOLOGY_SPREAD, (f"{_MISMATCH} (missing required label)",))


@dataclass(slots=True)
class _Constraint:
    topology_key: str
    max_skew: int
    min_domains: int
    honor_affinity: bool
    honor_taints: bool
    matcher: Matcher
    counts: dict[str, int] = field(default_factory=dict)

    def counts_node(self, pod: PodInfo, node: NodeInfo) -> bool:
        """Tell whether the node is one over which the pods are spread."""
        if self.honor_affinity and not matches_node_affinity(pod, node):
            return False
        return not (self.honor_taints and node_taints.untolerated(node.hard_taints, pod.tolerations))

    def least(self) -> int:
        """Count the matching pods in the emptiest topology; 0 while there are fewer topologies than ``minDomains``."""
        if len(self.counts) < self.min_domains:
            return 0
        return min(self.counts.values(), default=0)


class TopologySpread:
    """The counts that decide for one pod; made for one scheduling cycle."""

    def __init__(self, pod: PodInfo, constraints: list[_Constraint], cluster: Cluster) -> None:
        self._pod = pod
        self._constraints = constraints
        for node in cluster:
            if all(constraint.topology_key in node.labels for constraint in constraints):
                self._count(node)
        self._own = [int(constraint.matcher(pod.labels)) for constraint in constraints]
        self._least = [constraint.least() for constraint in constraints]

    @staticmethod
    def of(pod: PodInfo, cluster: Cluster) -> TopologySpread | None:
        """Make the constraints of a pod; None where there are none."""
        constraints = [
            _constraint(constraint, pod)
            for constraint in pod.spec.get("topologySpreadConstraints") or []
            if constraint.get("whenUnsatisfiable") == "DoNotSchedule"
        ]
        return TopologySpread(pod, constraints, cluster) if constraints else None

    def reject(self, node: NodeInfo) -> Rejection | None:
        """Return the constraint that keeps the pod off the node; None if none does."""
        for constraint, own, least in zip(self._constraints, self._own, self._least, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                return _NO_LABEL
            if constraint.counts.get(value, 0) + own - least > constraint.max_skew:
                return _SKEW
        return None

    def _count(self, node: NodeInfo) -> None:
        for constraint in self._constraints:
            if not constraint.counts_node(self._pod, node):
                continue
            value = node.labels[constraint.topology_key]
            constraint.counts[value] = constraint.counts.get(value, 0) + self._matching(constraint.matcher, node)

    def _matching(self, matcher: Matcher, node: NodeInfo) -> int:
        if matcher is everything:
            # Upstream counts no pods for the empty selector.
            return 0
        namespace = self._pod.namespace
        return sum(pod.namespace == namespace and not pod.deleted and matcher(pod.labels) for pod in node.pods.values())


def _constraint(constraint: Mapping[str, Any], pod: PodInfo) -> _Constraint:
    matcher = label_selector(constraint.get("labelSelector"))
    keys = {key: pod.labels[key] for key in constraint.get("matchLabelKeys") or [] if key in pod.labels}
    if keys:
        matcher = all_of([equality(keys), matcher])
    return _Constraint(
        topology_key=constraint.get("topologyKey") or "",
        max_skew=constraint.get("maxSkew") or 1,
        min_domains=constraint.get("minDomains") or 1,
        honor_affinity=constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
        honor_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        matcher=matcher,
    )
