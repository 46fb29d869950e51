"""Asking the allocator: do the claims of this pod get devices on this node?

It keeps the allocator's view of slices, patches, classes, taint rules and allocated devices current, and remembers
answers. A node on which claims did not fit is not searched again for equal claims until one of its pools or an
allocation in them has changed, so that a crowd of pods that wait for devices costs one search, not one for each pod.

Source: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (Filter, Score).
"""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation, Solution
from drakit_allocator.defects import SAFE, Compat
from drakit_allocator.devices.turns import TurnOver, turn
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.explanation.defect_effects import defect_effects
from drakit_allocator.explanation.report import DefectEffect
from drakit_allocator.explanation.summary import summary
from drakit_allocator.explanation.trials import Clock
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.overlays.statements import Failed
from drakit_allocator.pools.pools import PoolView
from drakit_allocator.results.answers import Unknown
from drakit_allocator.scheduler import claims, readiness
from drakit_allocator.scheduler.diagnosis import SchedulingFailed
from drakit_allocator.scheduler.nodes.cluster import Cluster, NodeInfo
from drakit_allocator.scheduler.nodes.filters import DYNAMIC_RESOURCES, Rejection
from drakit_allocator.scheduler.pace import Pace
from drakit_allocator.scheduler.pod_claims import PodClaims
from drakit_allocator.scheduler.suspects import Suspects
from drakit_allocator.search import Limits, Search
from drakit_allocator.snapshot import Snapshot
from drakit_api.cel import CelCompileError, compile_selector
from drakit_api.features import FeatureGates
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import AllocationResult, ResourceClaim

_NO_DEVICES = Rejection(DYNAMIC_RESOURCES, ("cannot allocate all claims",))
_ELSEWHERE = Rejection(DYNAMIC_RESOURCES, ("resourceclaim not available on the node",))
# Failures are remembered for so many different sets of claims.
_REMEMBERED = 256
# What the best alternative of a request with firstAvailable scores (FirstAvailableDeviceRequestMaxSize).
_BEST_ALTERNATIVE = 8
# How long everything may stand still to find out whether a defect would have made a difference.
_SECONDS_FOR_DEFECTS = 0.2
# A search looks at the clock after so many steps.
_STEPS = 256

# What the result of a search depends on: the pools of the node, and what is allocated in each.
_Basis = list[tuple[PoolView, object]]


def _nobody() -> None:
    """Tell nobody."""


@dataclass(slots=True)
class _Failure:
    """Claims did not fit on a node, on this basis; ``why`` is worked out when somebody asks."""

    basis: _Basis
    rejection: Rejection
    why: str | None = None


@dataclass(slots=True)
class _Known:
    """What has been found out about claims that ask for the same: failures by node, and which nodes are suspect."""

    failures: dict[str, _Failure] = field(default_factory=dict)
    suspects: Suspects = field(default_factory=Suspects)


@dataclass(frozen=True, slots=True)
class Allocated:
    """Devices for all unallocated claims of a pod, the score of the alternatives taken, and what this is based on."""

    score: int
    allocations: list[AllocationResult]
    basis: _Basis


class DeviceSearches:
    """The state of all devices, shared by the searches of all pods."""

    def __init__(
        self,
        gates: FeatureGates,
        filter_timeout: float,
        compat: Compat = "upstream",
        *,
        changed: Callable[[], None] = _nobody,
        failed: Failed | None = None,
    ) -> None:
        """Begin without devices. ``changed`` is called when a search may see other ones; ``failed`` is told faults."""
        self.features = Features.from_gates(gates).compatible(compat)
        self.snapshot = Snapshot(self.features, changed=self._devices_changed, failed=failed)
        self._tell = changed
        self.taken = AllocatedState(self.features)
        self.filter_timeout = filter_timeout
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._nodes: dict[str, Node] = {}
        # Nodes whose devices nobody has looked at since they changed.
        self._cold: dict[str, None] = {}

    @property
    def classes(self) -> Mapping[str, Mapping[str, Any]]:
        """Device classes by name."""
        return self.snapshot.classes

    def node(self, node: NodeInfo) -> Node:
        """Return the node as the allocator sees it."""
        known = self._nodes.get(node.name)
        if known is None:
            known = self._nodes[node.name] = Node.of(node.obj)
        return known

    def node_changed(self, name: str) -> None:
        """Forget what is known of a node that was added, changed or deleted."""
        self._nodes.pop(name, None)
        for known in self._known.values():
            known.failures.pop(name, None)
            known.suspects.nodes_changed((name,))

    def slice_changed(self, old: Object | None, new: Object | None) -> None:
        """Update the snapshot after a slice was added, changed or deleted."""
        if new is not None:
            self.snapshot.put_slice(new)
        elif old is not None:
            self.snapshot.remove_slice(old["metadata"]["name"])

    def class_changed(self, old: Object | None, new: Object | None) -> None:
        """Update the snapshot after a class was added, changed or deleted."""
        self._known.clear()
        if new is not None:
            self.snapshot.put_class(new)
            _compile(new)
        elif old is not None:
            self.snapshot.remove_class(old["metadata"]["name"])

    def taint_rule_changed(self, old: Object | None, new: Object | None) -> None:
        """Update the snapshot after a taint rule was added, changed or deleted."""
        if new is not None:
            self.snapshot.put_taint_rule(new)
        elif old is not None:
            self.snapshot.remove_taint_rule(old["metadata"]["name"])

    def patch_changed(self, old: Object | None, new: Object | None) -> None:
        """Update the snapshot after a patch was added, changed or deleted."""
        if new is not None:
            self.snapshot.put_patch(new)
        elif old is not None:
            self.snapshot.remove_patch(old["metadata"]["name"])

    def _devices_changed(self, nodes: Collection[str]) -> None:
        """Look again at devices of these nodes; "" stands for any node."""
        for known in self._known.values():
            known.suspects.nodes_changed(nodes)
        self._cold |= dict.fromkeys(nodes)
        self._tell()

    def look_ahead(self) -> bool:
        """Evaluate patches on a pool that has changed, for one turn; False when there is none left."""
        try:
            with turn():
                return self.snapshot.slices.look_ahead()
        except TurnOver:
            return True

    def warm_up(self, cluster: Cluster) -> bool:
        """Look ahead at the devices of one node that has changed; False when there is none left.

        The first search on a node takes apart its slices and evaluates the selectors of classes on each device. Done
        while there is nothing else to do, it is not in the way of the first pod.
        """
        if not self._cold:
            return False
        name = next(iter(self._cold))
        del self._cold[name]
        node = cluster.get(name)
        if node is not None:
            with contextlib.suppress(AllocationError):
                self.snapshot.warm_up([self.node(node)], self.taken)
        return True

    def allocated(self, claim: ResourceClaim) -> None:
        """Count the devices of a claim as taken."""
        self.taken.add_claim(claim)

    def released(self, claim: ResourceClaim) -> None:
        """Count the devices of a claim as free again; it is the same object as was given to ``allocated``."""
        self.taken.remove_claim(claim)

    def basis(self, node: NodeInfo) -> _Basis:
        """Return what a search on this node depends on now."""
        pools = self.snapshot.slices.pools(self.node(node))
        return [(pool, self.taken.token(pool.id)) for pool in pools]

    def holds(self, basis: _Basis, node: NodeInfo) -> bool:
        """Tell whether a search on this node still depends on the same; not if it takes longer than a turn to know."""
        try:
            with turn():
                return _is_same(basis, self.basis(node))
        except TurnOver:
            return False

    def search(self, pod_claims: PodClaims, pace: Pace) -> DeviceSearch:
        """Begin a search for one pod. Raises ``SchedulingFailed`` for claims that no node can satisfy."""
        return DeviceSearch(self, pod_claims, pace)

    def known_of(self, to_allocate: list[ResourceClaim]) -> _Known:
        """Return what is known about claims with the same specs."""
        signature = msgspec.json.encode([claim["spec"] for claim in to_allocate])
        found = self._known.setdefault(signature, _Known())
        self._known.move_to_end(signature)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found


class DeviceSearch:
    """The claims of one pod against any number of nodes."""

    def __init__(self, shared: DeviceSearches, pod_claims: PodClaims, pace: Pace) -> None:
        self._shared = shared
        self._pace = pace
        with_conditions = shared.features.device_binding_and_status
        self._allocated = [
            (claim, selector, with_conditions and readiness.is_unusable(claim))
            for claim, selector in pod_claims.allocated
        ]
        self._unusable: dict[str, ResourceClaim] = {}
        self._pod: PodAllocation | None = None
        self._known = _Known()
        if pod_claims.to_allocate:
            self._known = shared.known_of(pod_claims.to_allocate)
            try:
                self._pod = PodAllocation(pod_claims.to_allocate, shared.snapshot, shared.taken)
            except AllocationError as error:
                raise _failed(error.message) from error
        self.best_score = _BEST_ALTERNATIVE * sum(
            "firstAvailable" in request
            for claim in pod_claims.to_allocate
            for request in claim["spec"].get("devices", {}).get("requests") or []
        )

    async def allocate(self, node: NodeInfo) -> Allocated | Rejection:
        """Allocate devices on this node, or say why there are none. Raises ``SchedulingFailed``."""
        reachable = self._reachable(node)
        outcome = Allocated(0, [], []) if self._pod is None else await self._allocate(self._pod, node)
        # Asked first although it cannot help: what the allocator objects to is told before an allocation elsewhere.
        return _ELSEWHERE if not reachable and isinstance(outcome, Allocated) else outcome

    async def _allocate(self, pod: PodAllocation, node: NodeInfo) -> Allocated | Rejection:
        deadline = time.monotonic() + self._shared.filter_timeout
        basis: _Basis = []
        outcome = None
        while outcome is None:
            try:
                with turn():
                    basis = self._shared.basis(node)
                    known = self._known.failures.get(node.name)
                    if known is not None and _is_same(known.basis, basis):
                        return known.rejection
                    outcome = self._outcome(pod.known_answer(self._shared.node(node)), basis)
                if outcome is None:
                    outcome = await self._search(pod, node, basis, deadline)
            except TurnOver:
                await self._after_turn(node.name, deadline)
            except AllocationAborted:
                raise _timed_out(node.name) from None
            except AllocationError as error:
                outcome = _objection(error)
        if isinstance(outcome, Rejection):
            self._known.failures[node.name] = _Failure(basis, outcome)
        return outcome

    async def suspects(self, cluster: Cluster) -> set[str]:
        """Name the nodes on which the attempt may end with an error, so that they are asked even if others fit."""
        if self._pod is None:
            return set()
        suspects = self._known.suspects
        while (name := suspects.next_unjudged(cluster)) is not None:
            await self._judge(self._pod, name, cluster)
            await self._pace.step()
        return suspects.names

    async def _judge(self, pod: PodAllocation, name: str, cluster: Cluster) -> None:
        deadline = time.monotonic() + self._shared.filter_timeout
        while True:
            node = cluster.get(name)
            try:
                with turn():
                    return self._known.suspects.judge(pod, name, None if node is None else self._shared.node(node))
            except TurnOver:
                await self._after_turn(name, deadline)

    async def _after_turn(self, node: str, deadline: float) -> None:
        """Let other tasks have their turn. Raises ``SchedulingFailed`` after the deadline."""
        if time.monotonic() > deadline:
            raise _timed_out(node)
        await self._pace.step()

    def defects(self, node: NodeInfo) -> tuple[DefectEffect, ...]:
        """Name the defects that make Kubernetes do something else on this node; for a scheduler without them."""
        if self._pod is None or self._shared.features.defects != SAFE:
            return ()
        return defect_effects(self._pod, self._shared.node(node), Clock(_SECONDS_FOR_DEFECTS))

    def unusable_claims(self) -> list[ResourceClaim]:
        """List the allocated claims that kept the pod off some node."""
        return list(self._unusable.values())

    def is_lack_of_devices(self, rejection: Rejection) -> bool:
        """Tell whether the allocator rejected the node, so that it can be explained."""
        return rejection is _NO_DEVICES

    def explain(self, node: NodeInfo) -> str:
        """Explain why the claims got no devices on this node; empty if something has changed there since."""
        failure = self._known.failures.get(node.name)
        if self._pod is None or failure is None or not self._shared.holds(failure.basis, node):
            return ""
        if failure.why is None or len(self._pod.claims) > 1:
            # An explanation of several claims names them, so that it is only true for this pod.
            failure.why = summary(self._pod, self._shared.node(node))
        return failure.why

    def _reachable(self, node: NodeInfo) -> bool:
        reachable = True
        for claim, selector, unusable in self._allocated:
            if unusable or (selector is not None and not selector.matches(node.name, node.labels)):
                self._unusable[claims.uid_of(claim)] = claim
                reachable = False
        return reachable

    async def _search(
        self, pod: PodAllocation, node: NodeInfo, basis: _Basis, deadline: float
    ) -> Allocated | Rejection | None:
        """Ask the allocator, and raise what it raises; None when the devices changed while it was looking."""
        with turn():
            search = pod.search(self._shared.node(node), Limits(deadline=deadline))
        while (found := _walked(search)) is None:
            await self._pace.step()
            if self._pace.gave_way and not self._shared.holds(basis, node):
                return None
        return self._outcome(pod.conclude(search, found), basis)

    def _outcome(self, solution: Solution | Unknown | None, basis: _Basis) -> Allocated | Rejection | None:
        """Return what a solution means for the node; None for one that a search has to find out."""
        if isinstance(solution, Unknown):
            return None
        if solution is None:
            return _NO_DEVICES
        return Allocated(solution.score(), [self._stamped(result) for result in solution.results()], basis)

    def _stamped(self, allocation: AllocationResult) -> AllocationResult:
        """Add the time from which the timeout of binding conditions counts."""
        if not self._shared.features.device_binding_and_status:
            return allocation
        return {**allocation, "allocationTimestamp": gotime.now()}


def _failed(message: str) -> SchedulingFailed:
    """Word an error as kube-scheduler does (``RunFilterPlugins`` in ``pkg/scheduler/framework/runtime``)."""
    return SchedulingFailed(f'running "{DYNAMIC_RESOURCES}" filter plugin: {message}')


def _objection(error: AllocationError) -> Rejection:
    """Return what an error says against its node. Raises ``SchedulingFailed`` if it ends the attempt of the pod."""
    if error.on_node:
        return Rejection(DYNAMIC_RESOURCES, (error.message,))
    raise _failed(error.message) from error


def _timed_out(node: str) -> SchedulingFailed:
    return _failed(f"node {node}: timed out trying to allocate devices")


def _walked(search: Search) -> bool | None:
    with turn():
        return search.walk(_STEPS)


def _compile(device_class: Object) -> None:
    """Compile selectors ahead, so that the first pod does not wait for the parser to be built."""
    for selector in device_class["spec"].get("selectors") or []:
        with contextlib.suppress(CelCompileError):
            # An error in the expression is reported when a claim uses it.
            compile_selector((selector.get("cel") or {}).get("expression", ""))


def _is_same(one: _Basis, other: _Basis) -> bool:
    return len(one) == len(other) and all(
        a_pool is b_pool and a_token is b_token for (a_pool, a_token), (b_pool, b_token) in zip(one, other, strict=True)
    )
