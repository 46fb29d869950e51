"""Allocation problems as JSON lines, and answers in the form in which upstream's were recorded.

One problem is a whole cluster and the claims to allocate; ``drakit allocate --problems`` answers them, so that any
other implementation, and the test vectors, can be compared with this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.defects import Compat
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.defect_effects import defect_effects
from drakit_allocator.explanation.report import explanation_json
from drakit_allocator.explanation.trials import Clock
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.search import NO_LIMITS, Limits
from drakit_allocator.snapshot import Snapshot
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import AllocationResult


def features_of(problem: Mapping[str, Any]) -> Features:
    """Read the ``features`` of a problem (structured.Features' names, ``all``, or ``default137``), and its ``variant``.

    Without a variant the most complete one answers. Where features agree the variants differ only in oddities, and
    upstream's recorded answers come from that one.
    """
    names = {name for name, enabled in problem["features"].items() if enabled}
    if "all" in names:
        features = Features.all()
    elif "default137" in names:
        features = Features.from_gates(FeatureGates(min_compatibility_version="1.37"))
    else:
        features = Features.from_names(names)
    return features.forced(problem.get("variant") or "experimental")


def answer(problem: Mapping[str, Any], limits: Limits = NO_LIMITS, *, compat: Compat = "upstream") -> Object:
    """Answer a problem: ``allocation`` (one AllocationResult a claim, or null), or ``error`` and perhaps ``onNode``.

    With ``compat="safe"`` also ``defects``: those of Kubernetes' defects for which its answer is another one.
    """
    features = features_of(problem).compatible(compat)
    result: Object = {"name": problem["name"], "allocation": None, "channel": features.variant}
    try:
        pod = _prepare(problem, features)
    except AllocationError as error:
        return result | _refusal(error)
    node = Node.of(problem["node"])
    result |= _answered(pod, node, limits)
    if compat == "safe":
        result["defects"] = [explanation_json(effect) for effect in defect_effects(pod, node, Clock.of(limits))]
    return result


def _answered(pod: PodAllocation, node: Node, limits: Limits) -> Object:
    try:
        solution = pod.on(node, limits)
        if solution is None:
            return {}
        return {"allocation": _with_plain_shares(solution.results()), "steps": solution.steps}
    except AllocationError as error:
        return _refusal(error)


def _refusal(error: AllocationError) -> Object:
    return {"error": error.message, **({"onNode": True} if error.on_node else {})}


def _prepare(problem: Mapping[str, Any], features: Features) -> PodAllocation:
    snapshot = Snapshot(
        features,
        slices=problem.get("slices") or (),
        classes=problem.get("classes") or (),
        taint_rules=problem.get("taintRules") or (),
    )
    if "allocatedState" in problem:
        allocated = AllocatedState.of_raw(problem["allocatedState"], features)
    else:
        allocated = AllocatedState.of(problem.get("allocated") or (), features)
    return PodAllocation(problem["claims"] or (), snapshot, allocated)


def _with_plain_shares(results: list[AllocationResult]) -> list[AllocationResult]:
    """Replace share ids, which are random, by numbers in the order of the results."""
    shares = 0
    for result in results:
        for device in result["devices"].get("results", ()):
            if "shareID" in device:
                device["shareID"] = f"share-{shares}"
                shares += 1
    return results
