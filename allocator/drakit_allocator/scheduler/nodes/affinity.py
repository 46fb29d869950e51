"""Required affinity and anti-affinity between pods.

Three rules, in this order: all affinity terms of the pod are met in the node's topology (or the pod is the first of a
group that wants to be together); none of its anti-affinity terms is; and no pod that is already there has an
anti-affinity term that means this pod.

Source: kubernetes ``pkg/scheduler/framework/plugins/interpodaffinity/filtering.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from drakit_allocator.scheduler.nodes.cluster import Cluster, NodeInfo
from drakit_allocator.scheduler.nodes.filters import INTER_POD_AFFINITY, Rejection
from drakit_allocator.scheduler.nodes.pods import AffinityTerm, PodInfo

# How many matching pods there are in a topology, by (topology key, value).
_Counts = Counter[tuple[str, str]]

_AFFINITY = Rejection(INTER_POD_AFFINITY, ("node(s) didn't match pod affinity rules",))
_ANTI_AFFINITY = Rejection(INTER_POD_AFFINITY, ("node(s) didn't match pod anti-affinity rules",))
_EXISTING = Rejection(INTER_POD_AFFINITY, ("node(s) didn't satisfy existing pods anti-affinity rules",))


class PodAffinity:
    """The counts that decide for one pod; made for one scheduling cycle."""

    def __init__(self, pod: PodInfo, cluster: Cluster) -> None:
        self._cluster = cluster
        self._affinity = pod.required_affinity
        self._anti_affinity = pod.required_anti_affinity
        self._existing = self._existing_terms(pod)
        self._meeting: _Counts = Counter()
        self._conflicting: _Counts = Counter()
        for other in self._others([*self._affinity, *self._anti_affinity]):
            self._count(other)
        own_labels = cluster.namespace_labels.get(pod.namespace, {})
        self._first_of_group = not self._meeting and all(term.selects(pod, own_labels) for term in self._affinity)

    @staticmethod
    def of(pod: PodInfo, cluster: Cluster) -> PodAffinity | None:
        """Make the rules for a pod; None where there are none."""
        if not cluster.with_anti_affinity and not pod.required_affinity and not pod.required_anti_affinity:
            return None
        return PodAffinity(pod, cluster)

    def reject(self, node: NodeInfo) -> Rejection | None:
        """Return the rule that keeps the pod off the node; None if none does."""
        if self._affinity and not self._meets_affinity(node):
            return _AFFINITY
        for term in self._anti_affinity:
            value = node.labels.get(term.topology_key)
            if value is not None and self._conflicting[term.topology_key, value]:
                return _ANTI_AFFINITY
        if self._existing and any(pair in self._existing for pair in node.labels.items()):
            return _EXISTING
        return None

    def _meets_affinity(self, node: NodeInfo) -> bool:
        met = True
        for term in self._affinity:
            value = node.labels.get(term.topology_key)
            if value is None:
                return False
            met = met and self._meeting[term.topology_key, value] > 0
        return met or self._first_of_group

    def _others(self, terms: list[AffinityTerm]) -> Iterator[PodInfo]:
        if not terms:
            return
        namespaces: Iterable[str] = self._cluster.by_namespace
        if all(term.namespace_matcher is None for term in terms):
            namespaces = set().union(*(term.namespaces for term in terms))
        for namespace in namespaces:
            yield from self._cluster.by_namespace.get(namespace, {}).values()

    def _count(self, other: PodInfo) -> None:
        node = self._cluster.get(other.node)
        if node is None:
            return
        namespace = self._cluster.namespace_labels.get(other.namespace, {})
        if self._affinity and all(term.selects(other, namespace) for term in self._affinity):
            for term in self._affinity:
                _add(self._meeting, term, node)
        for term in self._anti_affinity:
            if term.selects(other, namespace):
                _add(self._conflicting, term, node)

    def _existing_terms(self, pod: PodInfo) -> _Counts:
        counts: _Counts = Counter()
        namespace = self._cluster.namespace_labels.get(pod.namespace, {})
        for other in self._cluster.with_anti_affinity.values():
            node = self._cluster.get(other.node)
            if node is None:
                continue
            for term in other.required_anti_affinity:
                if term.selects(pod, namespace):
                    _add(counts, term, node)
        return counts


def _add(counts: _Counts, term: AffinityTerm, node: NodeInfo) -> None:
    value = node.labels.get(term.topology_key)
    if value is not None:
        counts[term.topology_key, value] += 1
