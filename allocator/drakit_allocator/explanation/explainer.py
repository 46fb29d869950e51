"""From claims and an inventory to an explanation, node by node, in a bounded time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec

from drakit_allocator.allocator import PodAllocation, Solution
from drakit_allocator.candidates import Situation
from drakit_allocator.devices.devices import Device, PoolID
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.explanation.conflicts import Conflicts, Member
from drakit_allocator.explanation.defect_effects import defect_effects
from drakit_allocator.explanation.inventory import Inventory
from drakit_allocator.explanation.pools import pool_reasons
from drakit_allocator.explanation.provenance import Provenance, patches_applied
from drakit_allocator.explanation.reasons import ClaimReason, Failure, MissingClass, ResultLimit, Tainted
from drakit_allocator.explanation.remedies import remedies
from drakit_allocator.explanation.report import (
    ChangePatches,
    ClaimExplanation,
    Conflict,
    ExcludedNode,
    Explanation,
    FaultyPatch,
    GivenClaim,
    GivenDevice,
    NodeExplanation,
    Outcome,
    ReleaseClaims,
    SilencedPatch,
)
from drakit_allocator.explanation.requests import RequestStudy, network_devices, unreachable
from drakit_allocator.explanation.trials import Bench, Clock, Trial
from drakit_allocator.explanation.verdicts import Verdicts
from drakit_allocator.nodes import Node
from drakit_allocator.requests import MAX_RESULTS, ClaimRequests, Request
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects.gated_fields import claim_features
from drakit_api.slice_patches.patch import SlicePatch

# Called with the number of nodes that are done, and of all nodes.
Progress = Callable[[int, int], None]

_Attempt = tuple[Node, Outcome, str]  # with the message of an error

DEFAULT_SECONDS = 20.0
# Outcomes on one node that end a scheduler's attempt, whatever the other nodes have.
_FATAL = ("error", "timeout")
_SECONDS_PER_ATTEMPT = 10.0  # kube-scheduler's filter timeout
# Each of the first nodes gets at least this much time, however many nodes there are.
_LEAST_SECONDS_PER_NODE = 1.0


def explain(
    claims: Sequence[ReadOnlyObject],
    nodes: Sequence[ReadOnlyObject],
    inventory: Inventory,
    *,
    excluded: Mapping[str, str] | None = None,
    seconds: float = DEFAULT_SECONDS,
    progress: Progress | None = None,
) -> Explanation:
    """Explain why a pod's claims, v1 objects with defaults, get no devices on any node; or that they do on one.

    An error on one node ends the attempt, as it does in a scheduler, even if the claims fit on others.

    Claims that have an allocation must not be among ``claims``; those of ``inventory`` count. ``excluded`` are nodes
    that are out of the question for other reasons, with the reason. Asking the allocator, and finding the reasons, take
    about ``seconds`` at most each; what is left out then is said in ``unfinished``. Nothing is changed.
    """
    snapshot, names = inventory.snapshot(), tuple(_claim_name(claim) for claim in claims)
    elsewhere = tuple(ExcludedNode(*item) for item in (excluded or {}).items())
    try:
        pod = PodAllocation(claims, snapshot, inventory.allocated())
        pod.refuse()
    except AllocationError as error:
        return Explanation(names, False, errors=_hopeless(claims, inventory, snapshot, error), excluded=elsewhere)
    if not nodes:
        nothing = Failure("there are no nodes" if not excluded else "no node may be used, whatever its devices")
        return Explanation(names, False, errors=(nothing,), excluded=elsewhere)
    attempts = _attempts(pod, nodes, Clock(seconds))
    if isinstance(attempts, Solution):
        defects = defect_effects(pod, attempts.node, Clock(seconds))
        return Explanation(names, True, attempts.node.name, _given(pod.claims, attempts), defects)
    study = _Study(pod, inventory, Clock(seconds), network_devices(inventory, snapshot.slices))
    explained = study.nodes(attempts, progress)
    pools = _pools(snapshot, [node for node, *_ in attempts])
    faulty = map(FaultyPatch.of, (one for one in snapshot.overlay.faults if _may_concern(one.patch, pools)))
    silenced = SilencedPatch.of(one for one in snapshot.overlay.patches if _may_concern(one, pools))
    explanation = Explanation(
        names, False, nodes=explained, excluded=elsewhere, faulty_patches=tuple(faulty), silenced_patches=silenced
    )
    return _with_best(explanation)


def _attempts(pod: PodAllocation, nodes: Sequence[ReadOnlyObject], clock: Clock) -> Solution | list[_Attempt]:
    """Return the first solution; if there is none, or a node ends a scheduler's attempt, the outcome on each node."""
    attempts: list[_Attempt] = []
    is_over = False
    known = [Node.of(node) for node in nodes]
    for number, node in enumerate(known):
        attempt = _attempt(pod, node, clock)
        if not isinstance(attempt, Solution):
            is_over = is_over or attempt[0] in _FATAL
            attempts.append((node, *attempt))
            continue
        is_over = is_over or _end_with_error(pod, known[number + 1 :], clock)
        if not is_over:
            return attempt
        attempts.append((node, "fits", ""))
    return attempts


def _end_with_error(pod: PodAllocation, nodes: Sequence[Node], clock: Clock) -> bool:
    """Tell whether a scheduler, which asks all nodes before it takes one, meets an error on any of these."""
    for node in nodes:
        if pod.may_end_on(node):
            attempt = _attempt(pod, node, clock)
            if not isinstance(attempt, Solution) and attempt[0] == "error":
                return True
    return False


def _attempt(pod: PodAllocation, node: Node, clock: Clock) -> Solution | tuple[Outcome, str]:
    try:
        solution = pod.on(node, clock.limits(_SECONDS_PER_ATTEMPT))
    except AllocationAborted as error:
        return "timeout", error.message
    except AllocationError as error:
        return "nodeError" if error.on_node else "error", error.message
    return ("doesNotFit", "") if solution is None else solution


def _with_best(explanation: Explanation) -> Explanation:
    helpful = [node for node in explanation.nodes if node.remedies]
    if not helpful:
        return explanation
    best = min(helpful, key=lambda node: min(map(_effort, node.remedies)))
    return msgspec.structs.replace(explanation, best_node=best.node, best=(min(best.remedies, key=_effort),))


def _effort(remedy: object) -> int:
    match remedy:
        case ReleaseClaims():
            return len(remedy.claims)
        case ChangePatches():
            return len(remedy.patches)
    return 1


def _pools(snapshot: Snapshot, nodes: Iterable[Node]) -> Collection[PoolID]:
    """Name the pools that the nodes see."""
    pools: dict[PoolID, None] = {}
    for node in nodes:
        with suppress(AllocationError):  # which is told with the node
            pools |= dict.fromkeys(view.id for view in snapshot.pools(node))
    return pools


def _may_concern(patch: SlicePatch, pools: Iterable[PoolID]) -> bool:
    return any(patch.filter.may_concern(*pool) for pool in pools)


@dataclass(frozen=True, slots=True)
class _Study:
    """One pod's claims, to be explained on any number of nodes; ``network`` as ``network_devices``."""

    pod: PodAllocation
    inventory: Inventory
    clock: Clock
    network: list[Device]

    def nodes(self, attempts: Sequence[_Attempt], progress: Progress | None) -> tuple[NodeExplanation, ...]:
        explained = []
        for number, attempt in enumerate(attempts):
            explained.append(self.node(*attempt, len(attempts) - number))
            if progress is not None:
                progress(number + 1, len(attempts))
        return tuple(explained)

    def node(self, node: Node, outcome: Outcome, message: str, left: int) -> NodeExplanation:
        """Explain why it does not fit on the node, which is one of ``left`` that share the time."""
        if outcome == "fits":
            return NodeExplanation(node.name, outcome)
        remaining = max(0.0, self.clock.remaining)
        if not remaining:
            return NodeExplanation(node.name, outcome, message, unfinished=("everything about this node",))
        clock = Clock(max(remaining / left, min(remaining, _LEAST_SECONDS_PER_NODE)))
        try:
            situation = self.pod.situation(node)
        except AllocationError as error:
            return NodeExplanation(node.name, outcome, error.message)
        studies = self._studies(situation, clock)
        pools = pool_reasons(situation, self.pod.snapshot.slices, self.inventory)
        hidden = (pool_id for pool_id, _ in self.pod.snapshot.slices.hidden(node))
        bench = Bench.of(node, self.inventory, (*(pool.id for pool in situation.pools), *hidden), clock)
        tainted = [reason for study in studies.values() for reason in study.ruled_out if isinstance(reason, Tainted)]
        taints = [taint for reason in tainted for taint in (reason, *reason.others)]
        conflicts = () if outcome == "timeout" else self._conflicts(studies, bench)
        defects = () if outcome == "timeout" else defect_effects(self.pod, node, clock)
        patches = patches_applied(one for pool in situation.pools for one in pool.table.slices)
        helpful = remedies([claim.claim for claim in self.pod.claims], bench, taints, pools, patches)
        return NodeExplanation(
            node.name,
            outcome,
            message,
            pools=tuple(pools),
            claims=tuple(_claim(claim, studies) for claim in self.pod.claims),
            limits=tuple(limit for claim in self.pod.claims if (limit := _limit(claim, studies)) is not None),
            conflicts=conflicts,
            remedies=tuple(helpful),
            defects=defects,
            unfinished=_unfinished(studies, clock),
        )

    def _studies(self, situation: Situation, clock: Clock) -> dict[Request, RequestStudy]:
        verdicts = Verdicts(situation, Provenance(self.pod.snapshot))
        elsewhere = unreachable(self.network, situation)
        return {
            request: RequestStudy(request, situation, verdicts, elsewhere=elsewhere, clock=clock)
            for claim in self.pod.claims
            for alternatives in claim.requests
            for request in alternatives
        }

    def _conflicts(self, studies: Mapping[Request, RequestStudy], bench: Bench) -> tuple[Conflict, ...]:
        trial = Trial(bench.node, self.pod.snapshot, self.pod.allocated, bench.clock)
        conflicts = Conflicts(self.pod.claims, trial, lambda request: studies[request].usable)

        def has_enough(member: Member) -> bool:
            alternatives = self.pod.claims[member.claim].requests[member.position] if member.is_request else []
            return not alternatives or any(studies[request].has_enough for request in alternatives)

        return tuple(
            # A request that finds too few devices by itself has said what it lacks.
            conflicts.described(one, bench if all(map(has_enough, one)) else None)
            for one in conflicts.find()
        )


def _unfinished(studies: Mapping[Request, RequestStudy], clock: Clock) -> tuple[str, ...]:
    found = ("the other devices",) if any(study.is_cut_short for study in studies.values()) else ()
    return (*found, "smaller conflicts and other remedies") if clock.ran_out else found


def _claim(claim: ClaimRequests, studies: Mapping[Request, RequestStudy]) -> ClaimExplanation:
    requests = tuple(studies[request].report() for alternatives in claim.requests for request in alternatives)
    return ClaimExplanation(claim.name, requests)


def _limit(claim: ClaimRequests, studies: Mapping[Request, RequestStudy]) -> ResultLimit | None:
    total = sum(
        min(len(studies[one].wanted) if one.wants_all else one.count for one in alternatives)
        for alternatives in claim.requests
    )
    return ResultLimit(claim.name, total, MAX_RESULTS) if total > MAX_RESULTS else None


def _hopeless(
    claims: Sequence[ReadOnlyObject], inventory: Inventory, snapshot: Snapshot, error: AllocationError
) -> tuple[ClaimReason, ...]:
    """Return the reasons for which the allocator refuses claims before it looks at any node."""
    missing = [
        MissingClass(_claim_name(claim), name, wanted, tuple(sorted(snapshot.classes)))
        for claim in claims
        for name, wanted in _classes(claim)
        if wanted and wanted not in snapshot.classes
    ]
    return tuple(missing) if missing else (Failure(error.message, _gates_missing(claims, inventory, error)),)


def _gates_missing(claims: Sequence[ReadOnlyObject], inventory: Inventory, error: AllocationError) -> tuple[str, ...]:
    """Name the feature gates that are off, and without which the allocator refuses the claims with this error."""
    used = {gates for claim in claims for gates in claim_features(claim["spec"])}
    for gates in inventory.features.off:
        if gates in used and _refusal(claims, replace(inventory, features=inventory.features.with_gates(gates))) != (
            error.message
        ):
            return gates
    return ()


def _refusal(claims: Sequence[ReadOnlyObject], inventory: Inventory) -> str:
    """Return the error for which the allocator refuses the claims on any node; empty if there is none."""
    try:
        PodAllocation(claims, inventory.snapshot(), inventory.allocated()).refuse()
    except AllocationError as error:
        return error.message
    return ""


def _classes(claim: ReadOnlyObject) -> list[tuple[str, str]]:
    """List (request, class) of a claim's requests and subrequests."""
    found = []
    for request in (claim["spec"].get("devices") or {}).get("requests") or ():
        if (exactly := request.get("exactly")) is not None:
            found.append((request["name"], exactly.get("deviceClassName") or ""))
        found += [
            (f"{request['name']}/{one['name']}", one.get("deviceClassName") or "")
            for one in request.get("firstAvailable") or ()
        ]
    return found


def _claim_name(claim: ReadOnlyObject) -> str:
    """Name a claim as the allocator does."""
    metadata = claim.get("metadata") or {}
    namespace, name = metadata.get("namespace"), metadata.get("name", "")
    return f"{namespace}/{name}" if namespace else str(name)


def _given(claims: Sequence[ClaimRequests], solution: Solution) -> tuple[GivenClaim, ...]:
    return tuple(
        GivenClaim(
            claim.name,
            tuple(
                GivenDevice(one["request"], f"{one['driver']}/{one['pool']}/{one['device']}")
                for one in result["devices"].get("results") or ()
            ),
        )
        for claim, result in zip(claims, solution.results(), strict=True)
    )
