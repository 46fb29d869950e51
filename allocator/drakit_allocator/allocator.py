"""The entry point: a pod's claims, nodes and the state of the cluster in; an allocation per claim, or why not, out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.candidates import Situation
from drakit_allocator.defects import Defect
from drakit_allocator.devices.request_kinds import RequestKind
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.views import PoolView
from drakit_allocator.requests import MAX_RESULTS, ClaimRequests, Request, expand
from drakit_allocator.results.alike_nodes import alike_key, criteria_of
from drakit_allocator.results.answers import UNKNOWN, Unknown, signature_of
from drakit_allocator.results.claim_status import allocation_result
from drakit_allocator.results.placements import placements
from drakit_allocator.search import NO_LIMITS, Choice, Limits, Search
from drakit_allocator.snapshot import Snapshot
from drakit_api.typed_objects import AllocationResult


@dataclass(slots=True)  # frozen, making one would take as long as finding it among known answers
class Solution:
    """What was decided for all claims of a pod on one node; ``steps`` it took, none if a node like it was asked."""

    node: Node
    pools: Sequence[PoolView]
    claims: Sequence[ClaimRequests]
    features: Features
    choice: Choice
    steps: int = 0

    def results(self) -> list[AllocationResult]:
        """Make one v1 AllocationResult per claim, with fresh share ids. Raises ``AllocationError``."""
        chosen, results = iter(self.choice), []
        for claim, placed in zip(self.claims, placements(self.claims, self.choice, self.pools), strict=True):
            requests = [alternatives[next(chosen)[0]] for alternatives in claim.requests]
            results.append(allocation_result(claim, requests, placed, self.node, self.features))
        return results

    def score(self) -> int:
        """Compute kube-scheduler's score of the node: 8 minus the index of the subrequest taken, over all requests."""
        requests = (alternatives for claim in self.claims for alternatives in claim.requests)
        return sum(
            8 - number
            for alternatives, (number, _) in zip(requests, self.choice, strict=True)
            if alternatives[0].parent is not None
        )


class PodAllocation:
    """The unallocated claims of one pod, expanded once and then tried on any number of nodes."""

    def __init__(self, claims: Sequence[Mapping[str, Any]], snapshot: Snapshot, allocated: AllocatedState) -> None:
        """Expand the claims. Raises ``AllocationError`` for claims that no node can satisfy, if seen at once."""
        self.snapshot = snapshot
        self.allocated = allocated
        self._objects = claims
        self.claims = expand(claims, snapshot.classes, snapshot.features)
        self._asked = signature_of(self.claims)
        self._criteria = criteria_of(self.claims)
        self._least = least_needs(self.claims)
        self._fault = next((claim.fault for claim in self.claims if claim.fault is not None), None)

    def under(self, defects: frozenset[Defect]) -> PodAllocation:
        """Ask for the same claims of an allocator with these defects."""
        return PodAllocation(self._objects, self.snapshot.under(defects), self.allocated)

    def refuse(self) -> None:
        """Raise now what no node can change, for those to whom it does not matter what upstream tells first."""
        if self._fault is not None:
            raise self._fault

    def situation(self, node: Node) -> Situation:
        """Describe the node as the search will see it. Raises ``AllocationError``."""
        return Situation(node, self.snapshot.pools(node), self.allocated, self.snapshot.features)

    def known_answer(self, node: Node) -> Solution | Unknown | None:
        """Return what ``on`` would if that needs no search, ``UNKNOWN`` if it does. Raises as ``on``.

        There is no need if devices are too few, or if a node like this one was searched.
        """
        if self._fault is not None:
            return UNKNOWN
        pools = self.snapshot.pools(node)
        if self._least is not None and self._lacks(self._least, pools, node):
            return self._concluded(node, pools, None)
        alike = alike_key(pools, self._criteria, self.allocated, node)
        if alike is None:
            return UNKNOWN
        choice = self.snapshot.answers.get(self._asked, alike)
        return UNKNOWN if isinstance(choice, Unknown) else self._concluded(node, pools, choice)

    def _lacks(self, least: LeastNeeds, pools: Sequence[PoolView], node: Node) -> bool:
        """Tell whether some request has too few devices, and no device may be fatal to those who visit it."""
        lacks = False
        for kind, count in least:
            for pool in pools:
                fitting = pool.fitting(kind, self.allocated, node)
                if fitting is None:
                    return False
                count -= fitting.bit_count()
            lacks = lacks or count > 0
        return lacks

    def may_end_on(self, node: Node) -> bool:
        """Tell whether trying this node may raise an error that ends the attempt of the pod, whatever other nodes have.

        It may be true where no such error is raised, but is not false where one is; errors of the claims themselves,
        which are the same on all nodes, do not count. Whether devices are allocated makes no difference.
        """
        try:
            pools = self.snapshot.pools(node)
        except AllocationError as error:
            return not error.on_node
        return any(self._may_end(one, pools, node) for one in self._requests)

    def _may_end(self, request: Request, pools: Sequence[PoolView], node: Node) -> bool:
        if request.derived or any(pool.may_fail(request.kind, node) for pool in pools):
            return True
        if not request.wants_all:
            return False
        if any(pool.problem is not None for pool in pools):
            return True
        everything = sum(pool.selection(request.kind.expressions).mask.bit_count() for pool in pools)
        return everything > self._room_for_all

    @cached_property
    def _requests(self) -> list[Request]:
        """Of all claims, every alternative of a prioritized list by itself."""
        return [one for claim in self.claims for alternatives in claim.requests for one in alternatives]

    @cached_property
    def _room_for_all(self) -> int:
        """How many devices a request for all of them may get without being too many for a claim, at least."""
        if sum(one.wants_all for one in self._requests) > 1:
            return 0
        return MAX_RESULTS - sum(one.count for one in self._requests if not one.wants_all)

    def search(self, node: Node, limits: Limits = NO_LIMITS) -> Search:
        """Begin a search on the node, to be run in pieces; ``conclude`` makes a solution of it. Raises as ``on``."""
        situation = self.situation(node)
        return Search(situation, self.claims, situation.candidates(self.claims), limits)

    def conclude(self, search: Search, found: bool) -> Solution | None:
        """Make a solution of a search that has ended, and remember the answer for other nodes. Raises as ``on``.

        For the same state of the cluster in which the search was begun.
        """
        choice = search.choice() if found else None
        node, pools = search.situation.node, search.situation.pools
        alike = alike_key(pools, self._criteria, self.allocated, node)
        if alike is not None:
            self.snapshot.answers.put(self._asked, alike, choice)
        return self._concluded(node, pools, choice, search.steps)

    def _concluded(
        self, node: Node, pools: Sequence[PoolView], choice: Choice | None, steps: int = 0
    ) -> Solution | None:
        if choice is not None:
            return Solution(node, pools, self.claims, self.snapshot.features, choice, steps)
        if any(pool.problem == "invalid" for pool in pools):
            raise AllocationError("invalid resource pools were encountered", on_node=True)
        return None

    def on(self, node: Node, limits: Limits = NO_LIMITS) -> Solution | None:
        """Find the first solution in upstream's order; None when the claims do not fit on the node.

        Raises ``AllocationError``; with its ``on_node`` other nodes may still be tried. ``AllocationAborted`` when the
        limits are reached.
        """
        known = self.known_answer(node)
        if not isinstance(known, Unknown):
            return known
        search = self.search(node, limits)
        return self.conclude(search, search.run())

    def on_each(self, nodes: Iterable[Node], limits: Limits = NO_LIMITS) -> Iterator[Solution]:
        """Yield the solutions on all nodes that have one, in their order; nodes in error are left out.

        Raises ``AllocationError`` for an error that ends the attempt of the pod, on whichever node it comes up.
        """
        for node in nodes:
            try:
                solution = self.on(node, limits)
            except AllocationError as error:
                if not error.on_node:
                    raise
                continue
            if solution is not None:
                yield solution


LeastNeeds = Sequence[tuple[RequestKind, int]]


def least_needs(claims: Sequence[ClaimRequests]) -> LeastNeeds | None:
    """Return for kinds of requests the devices without which the claims cannot be satisfied.

    None for claims for which having too few devices is not all that counts: with mode All, too many devices for a
    claim, or attributes that may fail to be derived, some error may come first.
    """
    least: dict[RequestKind, int] = {}
    for claim in claims:
        requests = [one for alternatives in claim.requests for one in alternatives]
        if any(one.wants_all or one.derived for one in requests):
            return None
        if sum(min(one.count for one in alternatives) for alternatives in claim.requests) > MAX_RESULTS:
            return None
        for alternatives in claim.requests:
            if alternatives[0].parent is None:
                (request,) = alternatives
                least[request.kind] = max(least.get(request.kind, 0), request.count)
            else:  # whether one of their devices is fatal is to be known all the same
                for one in alternatives:
                    least.setdefault(one.kind, 0)
    return list(least.items())


def allocate(
    node: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]],
    snapshot: Snapshot,
    allocated: AllocatedState,
    *,
    timeout: float | None = None,
    max_steps: int | None = None,
    patches: Sequence[Mapping[str, Any]] = (),
) -> list[AllocationResult] | None:
    """Allocate devices for all claims of a pod on one node.

    ``node`` and ``claims`` are v1 objects, the claims already defaulted. ``patches``: ResourceSlicePatches that hold
    for this call, besides those of the snapshot; what an API server would refuse of them is an error, though kind and
    apiVersion may be missing. Who allocates often makes a snapshot with them (``snapshot.patched``).

    Returns one AllocationResult per claim, or None when they do not fit. Raises ``AllocationError`` for broken input,
    and ``AllocationAborted`` after ``timeout`` seconds or ``max_steps`` steps of the search. Nothing is changed: the
    caller stores the results and then counts them in ``allocated``.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    seen = snapshot.patched(map(_valid, patches)) if patches else snapshot
    solution = PodAllocation(claims, seen, allocated).on(Node.of(node), Limits(deadline, max_steps))
    return None if solution is None else solution.results()


def _valid(patch: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a patch as an API server would store it. Raises ``AllocationError`` for one that it would refuse."""
    # What judges patches takes longer to load than a scheduler, which meets judged ones only, has time for.
    from drakit_api.slice_patches import definition

    stored, faults = definition.read({"apiVersion": definition.API_VERSION, "kind": definition.KIND, **patch})
    if faults:
        name = (stored.get("metadata") or {}).get("name", "")
        raise AllocationError(f"ResourceSlicePatch {name}: {'; '.join(faults)}")
    return stored
