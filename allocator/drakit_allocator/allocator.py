"""The entry point: a pod's claims, a node and the state of the cluster in; an allocation per claim, or why not, out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.candidates import Situation
from drakit_allocator.errors import AllocationError
from drakit_allocator.nodes import Node
from drakit_allocator.requests import ClaimRequests, expand
from drakit_allocator.results import Json, allocation_result
from drakit_allocator.search import NO_LIMITS, Limits, Search
from drakit_allocator.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Solution:
    """What was decided for all claims of a pod on one node."""

    node: Node
    claims: list[ClaimRequests]
    search: Search

    def results(self) -> list[Json]:
        """One v1 AllocationResult per claim, with fresh share ids. Raises ``AllocationError``."""
        features = self.search.situation.features
        results = []
        for number, claim in enumerate(self.claims):
            chosen = [
                alternatives[self.search.alternative(number, position)]
                for position, alternatives in enumerate(claim.requests)
            ]
            results.append(allocation_result(claim, chosen, self.search.placements(number), self.node, features))
        return results

    def score(self) -> int:
        """How good kube-scheduler finds the node: 8 minus the index of the subrequest taken, over all requests."""
        return sum(
            8 - self.search.alternative(number, position)
            for number, claim in enumerate(self.claims)
            for position, alternatives in enumerate(claim.requests)
            if alternatives[0].parent is not None
        )


class PodAllocation:
    """The unallocated claims of one pod, expanded once and then tried on any number of nodes."""

    def __init__(self, claims: Sequence[Mapping[str, Any]], snapshot: Snapshot, allocated: AllocatedState) -> None:
        """Claims that no node can satisfy are refused on the first one."""
        self.snapshot = snapshot
        self.allocated = allocated
        self.claims = expand(claims, snapshot.classes, snapshot.features)

    def situation(self, node: Node) -> Situation:
        """The node as the search will see it. Raises ``AllocationError``."""
        return Situation(node, self.snapshot.slices.pools(node), self.allocated, self.snapshot.features)

    def search(self, node: Node, limits: Limits = NO_LIMITS) -> Search:
        """A search on the node, to be walked in pieces; ``conclude`` makes a solution of it. Raises as ``on``."""
        situation = self.situation(node)
        return Search(situation, self.claims, situation.candidates(self.claims), limits)

    def conclude(self, search: Search, found: bool) -> Solution | None:
        """What a search that has ended means. Raises as ``on``."""
        if found:
            return Solution(search.situation.node, self.claims, search)
        if any(pool.problem == "invalid" for pool in search.situation.pools):
            raise AllocationError("invalid resource pools were encountered", on_node=True)
        return None

    def on(self, node: Node, limits: Limits = NO_LIMITS) -> Solution | None:
        """The first solution in upstream's order, None when the claims do not fit on the node.

        Raises ``AllocationError``; with its ``on_node`` other nodes may still be tried. ``AllocationAborted`` when the
        limits are reached.
        """
        search = self.search(node, limits)
        return self.conclude(search, search.run())


def allocate(
    node: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]],
    snapshot: Snapshot,
    allocated: AllocatedState,
    *,
    timeout: float | None = None,
    max_steps: int | None = None,
) -> list[Json] | None:
    """Allocate devices for all claims of a pod on one node.

    ``node`` and ``claims`` are v1 objects, the claims already defaulted. Returns one AllocationResult per claim, or
    None when they do not fit. Raises ``AllocationError`` for broken input and ``AllocationAborted`` after ``timeout``
    seconds or ``max_steps`` steps of the search. Nothing is changed: the caller stores the results and then counts
    them in ``allocated``.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    solution = PodAllocation(claims, snapshot, allocated).on(Node.of(node), Limits(deadline, max_steps))
    return None if solution is None else solution.results()
