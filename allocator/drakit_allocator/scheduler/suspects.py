"""Nodes on which an attempt may end with an error, found without asking every node for every pod.

kube-scheduler filters all nodes (of more than a hundred, as many as it takes to find enough that fit) before it chooses
one. So a selector that fails on the devices of any of them ends the attempt although the pod would fit on another: the
pod stays pending and shows the error, which would be hidden otherwise. Here nodes are asked best first, and the rest is
not asked once the best is known. Suspects are the exception: few or none, remembered for claims that ask for the same,
and judged again only when slices of theirs change. All of them are asked, also of more than a hundred nodes.

Source: kubernetes ``pkg/scheduler/schedule_one.go`` (findNodesThatPassFilters) and
``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (Filter).
"""

from __future__ import annotations

from collections.abc import Collection

from drakit_allocator.allocator import PodAllocation
from drakit_allocator.nodes import Node
from drakit_allocator.scheduler.nodes.cluster import Cluster


class Suspects:
    """The nodes that have to be asked whatever is found elsewhere, for claims that ask for the same.

    To be used as: while there is a ``next_unjudged`` node, ``judge`` it; then ``names`` holds.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        # None means all nodes.
        self._unjudged: set[str] | None = None

    def nodes_changed(self, names: Collection[str]) -> None:
        """Note that nodes or slices of theirs have changed; "" stands for slices of any node."""
        if "" in names:
            self._unjudged = None
        elif self._unjudged is not None:
            self._unjudged.update(names)

    def next_unjudged(self, cluster: Cluster) -> str | None:
        """Return the name of a node that is to be judged, which may be gone; None when all are."""
        if self._unjudged is None:
            self.names.clear()
            self._unjudged = {node.name for node in cluster}
        if not self._unjudged:
            return None
        # It stays until it is judged. `pop` goes on from where it was; iterating would begin at all that are gone.
        name = self._unjudged.pop()
        self._unjudged.add(name)
        return name

    def judge(self, pod: PodAllocation, name: str, node: Node | None) -> None:
        """Find out about one node. Raises ``TurnOver`` if that takes too long: then it is still to be judged."""
        if node is not None and pod.may_end_on(node):
            self.names.add(name)
        else:
            self.names.discard(name)
        if self._unjudged is not None:
            self._unjudged.discard(name)
