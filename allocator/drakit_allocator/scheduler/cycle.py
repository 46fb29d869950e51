"""One scheduling decision: from a pod and the state of the cluster to a node and its devices, or to the reason why not.

A decision is made in one go, so that the state cannot change under it. Only one that takes long gives way to other work
(``pace``); it is made again if what it rests on is no longer so when it is found.

The node is the one that kube-scheduler would choose after asking all nodes, without asking all of them: the scores
that do not depend on devices are known beforehand (``rankings``), so nodes are asked best first. The first that has
devices wins, unless a claim has alternatives; then a node can still be overtaken by one that offers a better
alternative, and the search goes on only as long as that is possible.

Source: kubernetes ``pkg/scheduler/schedule_one.go`` (schedulePod, findNodesThatFitPod, prioritizeNodes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from drakit_allocator.explanation.report import DefectEffect
from drakit_allocator.scheduler.binding import Decision
from drakit_allocator.scheduler.device_search import Allocated, DeviceSearch, DeviceSearches
from drakit_allocator.scheduler.diagnosis import Diagnosis, SchedulingFailed, Unschedulable, before_filters
from drakit_allocator.scheduler.hints import NO_NODES
from drakit_allocator.scheduler.nodes.affinity import PodAffinity
from drakit_allocator.scheduler.nodes.cluster import Cluster, NodeInfo
from drakit_allocator.scheduler.nodes.filters import NODE_AFFINITY, NODE_NAME, Rejection, reject
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.nodes.rankings import Rankings
from drakit_allocator.scheduler.nodes.scores import DEVICES_WEIGHT, MAX_SCORE, Scorer
from drakit_allocator.scheduler.nodes.spread import TopologySpread
from drakit_allocator.scheduler.pace import Pace
from drakit_allocator.scheduler.pod_claims import PodClaims, Requirements

# An event of a failed pod says for at most so many nodes why its claims did not fit.
_EXPLAINED_NODES = 8
# A decision that does not hold any more when it is found is made again, so many times at most.
_ATTEMPTS = 5


@dataclass(slots=True)
class _Choice:
    score: int
    node: NodeInfo
    devices: Allocated


class Cycle:
    """Decides where pods go."""

    def __init__(
        self, cluster: Cluster, rankings: Rankings, requirements: Requirements, searches: DeviceSearches
    ) -> None:
        self._cluster = cluster
        self._rankings = rankings
        self._requirements = requirements
        self._searches = searches

    async def decide(self, pod: PodInfo, pace: Pace) -> Decision:
        """Decide where the pod goes. Raises ``Unschedulable`` or ``SchedulingFailed``."""
        for _ in range(_ATTEMPTS):
            decision = await self._decide(pod, pace)
            if decision is not None:
                return decision
        raise SchedulingFailed("nodes, claims or devices changed each time that a decision was found")

    async def _decide(self, pod: PodInfo, pace: Pace) -> Decision | None:
        if not self._cluster:
            raise Unschedulable("no nodes available to schedule pods", [NO_NODES])
        _check_named_nodes(pod, len(self._cluster))
        pod_claims = self._check(pod)
        attempt = _Attempt(pod, self._cluster, self._searches.search(pod_claims, pace) if pod_claims else None, pace)
        choice = await attempt.run(self._nodes(pod, attempt))
        if pace.gave_way and not self._still_holds(pod, pod_claims, choice):
            return None
        return _decision(pod, choice, pod_claims, attempt.defects(choice.node))

    def _check(self, pod: PodInfo) -> PodClaims | None:
        try:
            return self._requirements.check(pod)
        except Unschedulable as verdict:
            message = before_filters(len(self._cluster), verdict.message)
            raise Unschedulable(message, verdict.rejectors, silently=verdict.silently) from None

    def _still_holds(self, pod: PodInfo, pod_claims: PodClaims | None, choice: _Choice) -> bool:
        """Tell whether a decision during which other things happened could be made like this now."""
        claims = self._check(pod)
        before, now = ([] if one is None else one.all for one in (pod_claims, claims))
        if len(before) != len(now) or any(old is not new for old, new in zip(before, now, strict=True)):
            return False
        node = choice.node
        if self._cluster.get(node.name) is not node or not self._searches.holds(choice.devices.basis, node):
            return False
        return _Attempt(pod, self._cluster, None, Pace()).reject(node) is None

    def _nodes(self, pod: PodInfo, attempt: _Attempt) -> Iterator[tuple[int, NodeInfo]]:
        """Yield (score, node) of all nodes that pass the filters on one node, best first."""
        named = _named_nodes(pod)
        if named is None:
            ranking = self._rankings.ranking(pod)
            attempt.rejections = ranking.rejections.copy
            return iter(ranking)
        names, plugin = named
        return attempt.restricted(names, plugin)


class _Attempt:
    """What is known of one pod during one decision."""

    def __init__(self, pod: PodInfo, cluster: Cluster, search: DeviceSearch | None, pace: Pace) -> None:
        self._pace = pace
        self._pod = pod
        self._cluster = cluster
        self._search = search
        self._affinity = PodAffinity.of(pod, cluster)
        self._spread = TopologySpread.of(pod, cluster)
        self._late: dict[str, Rejection] = {}
        # Returns the verdicts of the filters that were not asked here; called only if no node is found.
        self.rejections: Callable[[], dict[str, Rejection]] = dict

    def restricted(self, names: frozenset[str], plugin: str) -> Iterator[tuple[int, NodeInfo]]:
        """Yield (score, node) for a pod that names its nodes: no other node is looked at."""
        scorer, found = Scorer(self._pod), []
        others = Rejection(plugin, (f"node(s) didn't satisfy plugin(s) [{plugin}]",))
        self.rejections = lambda: {node.name: others for node in self._cluster}
        for name in names:
            node = self._cluster.get(name)
            if node is None:
                continue
            rejection = reject(self._pod, node)
            if rejection is None:
                found.append((scorer.score(node), node))
            else:
                self._late[name] = rejection
        return iter(sorted(found, key=lambda scored: (-scored[0], scored[1].order)))

    async def run(self, nodes: Iterator[tuple[int, NodeInfo]]) -> _Choice:
        """Find the best node. Raises ``Unschedulable`` or ``SchedulingFailed``."""
        search = self._search
        if search is None:
            return await self._first(nodes)
        found: list[_Choice] = []
        suspects = await search.suspects(self._cluster)
        for score, node in nodes:
            # No node that follows scores better without devices, and none can with them; but one may be in error.
            is_decided = bool(found) and found[-1].devices.score == search.best_score
            if is_decided and not suspects:
                break
            if (is_decided and node.name not in suspects) or not await self._passes(node):
                continue
            outcome = await search.allocate(node)
            if isinstance(outcome, Rejection):
                self._late[node.name] = outcome
            elif not is_decided:
                found.append(_Choice(score, node, outcome))
        if not found:
            raise await self._unschedulable()
        return _best(found)

    async def _first(self, nodes: Iterator[tuple[int, NodeInfo]]) -> _Choice:
        """Find the best node for a pod without claims."""
        for score, node in nodes:
            if await self._passes(node):
                return _Choice(score, node, Allocated(0, [], []))
        raise await self._unschedulable()

    async def _passes(self, node: NodeInfo) -> bool:
        await self._pace.step()
        rejection = self._reject_late(node)
        if rejection is not None:
            self._late[node.name] = rejection
        return rejection is None

    def defects(self, node: NodeInfo) -> tuple[DefectEffect, ...]:
        """Name Kubernetes' defects that change what happens on this node; only if this scheduler has none of them."""
        return () if self._search is None else self._search.defects(node)

    def reject(self, node: NodeInfo) -> Rejection | None:
        """Return the first objection of any filter to this node, apart from its devices; None if there is none."""
        return reject(self._pod, node) or self._reject_late(node)

    def _reject_late(self, node: NodeInfo) -> Rejection | None:
        """Ask the filters that look at other nodes, too."""
        if self._spread is not None and (rejection := self._spread.reject(node)) is not None:
            return rejection
        return self._affinity.reject(node) if self._affinity is not None else None

    async def _unschedulable(self) -> Unschedulable:
        diagnosis = Diagnosis(len(self._cluster), self.rejections() | self._late)
        if self._search is not None:
            lacking = [name for name, rejection in self._late.items() if self._search.is_lack_of_devices(rejection)]
            for name in lacking[:_EXPLAINED_NODES]:
                await self._pace.step()
                node = self._cluster.get(name)
                if node is not None and (why := self._search.explain(node)):
                    diagnosis.explanations[name] = why
        verdict = diagnosis.unschedulable()
        if self._search is not None:
            verdict.unusable_claims = self._search.unusable_claims()
        return verdict


def _named_nodes(pod: PodInfo) -> tuple[frozenset[str], str] | None:
    if pod.node:
        return frozenset((pod.node,)), NODE_NAME
    names = pod.node_affinity.names if pod.node_affinity is not None else None
    return None if names is None else (names, NODE_AFFINITY)


def _check_named_nodes(pod: PodInfo, nodes: int) -> None:
    """Refuse a pod that requires two names of its node, before any node is looked at."""
    if pod.node_affinity is not None and pod.node_affinity.names == frozenset():
        raise Unschedulable(before_filters(nodes, "pod affinity terms conflict"), [NODE_AFFINITY])


def _best(found: list[_Choice]) -> _Choice:
    best = max(choice.devices.score for choice in found)
    # max keeps the first of equals, which is the first in scheduling order.
    return max(found, key=lambda choice: _total(choice, best))


def _total(choice: _Choice, best: int) -> int:
    """Add the scores; those of devices are normalized to the best node, as upstream does."""
    return choice.score + (DEVICES_WEIGHT * (MAX_SCORE * choice.devices.score // best) if best else 0)


def _decision(
    pod: PodInfo, choice: _Choice, pod_claims: PodClaims | None, defects: tuple[DefectEffect, ...]
) -> Decision:
    if pod_claims is None:
        return Decision(pod, choice.node.name, [], {})
    uids = [claim["metadata"]["uid"] for claim in pod_claims.to_allocate]
    allocations = dict(zip(uids, choice.devices.allocations, strict=True))
    return Decision(pod, choice.node.name, pod_claims.all, allocations, defects)
