"""Nodes ranked for all pods that look alike, kept current instead of computed again for each pod.

A deployment's pods ask the same of a node, and between two of them only the node that got the last one has changed. So
the verdict on each node is kept per signature, and only changed nodes are looked at again: scheduling a pod costs the
same on 10 nodes and on 1,000. Every node is ranked (kube-scheduler samples from 100 nodes on, because it does not keep
them), so the best node is always found.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator

from drakit_allocator.scheduler.nodes.cluster import Cluster, NodeInfo
from drakit_allocator.scheduler.nodes.filters import NODE_NAME, Rejection, reject
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.nodes.scores import Scorer

log = logging.getLogger(__name__)

# So many signatures are remembered; each costs one set insertion for each change of a node.
_REMEMBERED = 64

_ODD = Rejection(NODE_NAME, ("node(s) cannot be judged, see the scheduler's log",))

# (-score, position in scheduling order, name): sorts best first.
_Rank = tuple[int, int, str]


class Ranking:
    """Verdicts on all nodes for one signature."""

    def __init__(self, pod: PodInfo, cluster: Cluster) -> None:
        self.rejections: dict[str, Rejection] = {}
        self._pod = pod
        self._cluster = cluster
        self._scorer = Scorer(pod)
        self._ranked: list[_Rank] = []
        self._rank_of: dict[str, _Rank] = {}
        self._changed: set[str] | None = None  # names of nodes; None stands for all

    def node_changed(self, name: str | None) -> None:
        """Look at this node again before the next use; at all of them for None."""
        if name is None:
            self._changed = None
        elif self._changed is not None:
            self._changed.add(name)

    def refresh(self) -> None:
        """Bring all verdicts up to date."""
        if self._changed is None:
            self.rejections.clear()
            self._rank_of.clear()
            for node in self._cluster:
                self._judge(node)
            self._ranked = sorted(self._rank_of.values())
        else:
            for name in self._changed:
                self._move(name)
        self._changed = set()

    def __iter__(self) -> Iterator[tuple[int, NodeInfo]]:
        """Yield (score, node) of the nodes that fit, best first."""
        for negative, _, name in self._ranked:
            node = self._cluster.get(name)
            if node is not None:
                yield -negative, node

    def _judge(self, node: NodeInfo) -> _Rank | None:
        try:
            rejection = reject(self._pod, node)
            rank = None if rejection is not None else (-self._scorer.score(node), node.order, node.name)
        except Exception as error:
            # One odd node must not keep pods from the others.
            log.error("node %s is left out for pods like %s", node.name, self._pod, exc_info=error)
            rejection, rank = _ODD, None
        if rejection is not None:
            self.rejections[node.name] = rejection
        if rank is not None:
            self._rank_of[node.name] = rank
        return rank

    def _move(self, name: str) -> None:
        self.rejections.pop(name, None)
        old = self._rank_of.pop(name, None)
        if old is not None:
            del self._ranked[bisect_left(self._ranked, old)]
        node = self._cluster.get(name)
        if node is not None and (rank := self._judge(node)) is not None:
            insort(self._ranked, rank)


class Rankings:
    """The rankings of the signatures seen last."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._rankings: OrderedDict[bytes, Ranking] = OrderedDict()
        cluster.observers.append(self._node_changed)

    def ranking(self, pod: PodInfo) -> Ranking:
        """Return an up-to-date ranking for the pod."""
        ranking = self._rankings.get(pod.signature)
        if ranking is None:
            ranking = self._rankings[pod.signature] = Ranking(pod, self._cluster)
            if len(self._rankings) > _REMEMBERED:
                self._rankings.popitem(last=False)
        else:
            self._rankings.move_to_end(pod.signature)
        ranking.refresh()
        return ranking

    def _node_changed(self, name: str | None) -> None:
        for ranking in self._rankings.values():
            ranking.node_changed(name)
