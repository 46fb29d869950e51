"""The short form of an explanation: what fits into an event, for one node.

Computed only after a failure and only for nodes that are reported. It looks at each device once more, but asks the
allocator further questions only for a moment: a scheduler has other things to do.
"""

from __future__ import annotations

from drakit_allocator.allocator import PodAllocation
from drakit_allocator.devices.devices import Device
from drakit_allocator.explanation.conflicts import Conflicts, members_of
from drakit_allocator.explanation.defect_effects import defect_effects
from drakit_allocator.explanation.distances import distance
from drakit_allocator.explanation.phrases import (
    UNSELECTED,
    category,
    conflict_text,
    needs_gates,
    particulars,
    short_effect_text,
)
from drakit_allocator.explanation.provenance import Provenance
from drakit_allocator.explanation.reasons import (
    CounterOverdrawn,
    DeviceReason,
    InUse,
    SelectorFalse,
    Tainted,
    WrongNode,
)
from drakit_allocator.explanation.requests import RequestStudy
from drakit_allocator.explanation.trials import Clock, Trial
from drakit_allocator.explanation.verdicts import Verdicts
from drakit_allocator.nodes import Node
from drakit_allocator.requests import Request
from drakit_client.processes.counts import counted

_SECONDS_FOR_CONFLICTS = 0.02
_SECONDS_FOR_DEFECTS = 0.05
# Reasons that many devices share, so that no device is named.
_NAMELESS = (SelectorFalse, Tainted, WrongNode, CounterOverdrawn)


def summary(pod: PodAllocation, node: Node) -> str:
    """Write a clause for each request that cannot get its devices on the node, joined by "; ".

    Before them, what is wrong with pools. If every request could get devices alone, instead which of them do not go
    together; at last, the defect of Kubernetes that is to blame, if one is. Never empty. Only for nodes on which the
    allocation failed without ``AllocationError``.
    """
    situation = pod.situation(node)
    verdicts = Verdicts(situation, Provenance(pod.snapshot))
    studies = {
        request: RequestStudy(request, situation, verdicts)
        for claim in pod.claims
        for alternatives in claim.requests
        for request in alternatives
    }
    reasons = [f"pool {pool.name} is {pool.problem}: {pool.reason}" for pool in situation.pools if pool.problem]
    reasons += [
        f"pool {'/'.join(pool_id)} is not seen: {needs_gates(gates)}"
        for pool_id, gates in pod.snapshot.slices.hidden(node)
    ]
    short = [
        _request(studies[request], names_claim=len(pod.claims) > 1)
        for claim in pod.claims
        for alternatives in claim.requests
        if not any(studies[request].has_enough for request in alternatives)
        for request in alternatives
    ]
    defects = map(short_effect_text, defect_effects(pod, node, Clock(_SECONDS_FOR_DEFECTS)))
    return "; ".join([*reasons, *(short or _conflicts(pod, node, studies)), *defects])


def _conflicts(pod: PodAllocation, node: Node, studies: dict[Request, RequestStudy]) -> list[str]:
    trial = Trial(node, pod.snapshot, pod.allocated, Clock(_SECONDS_FOR_CONFLICTS))
    conflicts = Conflicts(pod.claims, trial, lambda request: studies[request].usable)
    found = conflicts.find() or [members_of(pod.claims)]
    return [conflict_text(conflicts.described(one), with_claims=len(pod.claims) > 1) for one in found]


def _request(study: RequestStudy, *, names_claim: bool) -> str:
    request, usable = study.request, len(study.usable)
    groups: dict[str, list[tuple[DeviceReason, Device]]] = {}
    for reason, devices in study.ruled_out.items():
        groups.setdefault(category(reason), []).extend((reason, device) for device in devices)
    parts = [f"{len(group)} {what}{_example(what, group, study)}" for what, group in groups.items()]
    if usable:
        parts.append(f"{usable} can be used" + ("" if request.wants_all else f", {request.count} are wanted"))
    text = f"request {request.result_name}: {counted(study.total, 'device')}{': ' if parts else ''}{', '.join(parts)}"
    return f"claim {request.claim_name}, {text}" if names_claim else text


def _example(what: str, group: list[tuple[DeviceReason, Device]], study: RequestStudy) -> str:
    """Give the details of one device as an example; of selectors only if no device passes them."""
    if what == UNSELECTED and len(group) < study.total:
        return ""
    reason, device = group[0] if what != UNSELECTED else _nearest(group)
    text = particulars(reason)
    if not text:
        return ""
    if isinstance(reason, _NAMELESS):
        return f" ({text})"
    return f" ({device.id[2]}{'' if isinstance(reason, InUse) else ':'} {text})"


def _nearest(group: list[tuple[DeviceReason, Device]]) -> tuple[DeviceReason, Device]:
    """Return the device that satisfies most of the selectors, in their order; of several the first."""
    return min(group, key=lambda one: distance(one[0]))
