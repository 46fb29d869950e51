"""What became of workloads, as a table, or as ResourceClaims with their status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from drakit_allocator.cli.structured_output import Form, printed
from drakit_allocator.explanation import Explanation, explanation_json
from drakit_allocator.explanation.phrases import effect_text, some_of
from drakit_allocator.inputs.placement import Placed
from drakit_client.manifests.files import Manifests
from drakit_client.processes.text_columns import aligned

_HEADER = ("CLAIM", "NODE", "REQUEST", "DEVICE")


def table(placed: Sequence[Placed], *, tells_why: bool = True) -> str:
    """Print a row for each device; with ``tells_why`` also a paragraph for each workload that does not fit.

    At the end come the defects of Kubernetes that make a difference, if any do.
    """
    rows = [
        (f"{claim['metadata']['namespace']}/{claim['metadata']['name']}", one.node, result["request"], _device(result))
        for one in placed
        for claim in one.allocated
        for result in claim["status"]["allocation"]["devices"].get("results") or ()
    ]
    lines = aligned([_HEADER, *rows]) if rows else []
    for one in placed:
        if not one.node and tells_why:
            lines += ["", *_refused(one)] if lines else _refused(one)
    avoided = [
        f"{one.workload.name} on {effect.node}: {effect_text(effect)}" for one in placed for effect in one.defects
    ]
    if avoided:
        lines += ["", "Defects of Kubernetes that make a difference:", *(f"  {text}" for text in avoided)]
    return "".join(f"{line}\n" for line in lines)


def _device(result: dict[str, Any]) -> str:
    return f"{result['driver']}/{result['pool']}/{result['device']}"


def _refused(one: Placed) -> list[str]:
    """List the different reasons, a line each."""
    if "" in one.refusals:
        return [f"{one.workload.name} does not fit anywhere: {one.refusals['']}"]
    by_reason: dict[str, list[str]] = {}
    for node, reason in one.refusals.items():
        by_reason.setdefault(reason, []).append(node)
    where = "any node" if len(one.refusals) != 1 else next(iter(one.refusals))
    lines = [f"  {some_of(nodes, 1)}: {reason}" for reason, nodes in by_reason.items()]
    return [f"{one.workload.name} does not fit on {where}", *lines]


def listed(
    manifests: Manifests,
    explanations: Iterable[Explanation] | None,
    avoided: Iterable[Placed] | None,
    form: Form,
) -> str:
    """Print a List of all ResourceClaims, which can be read again.

    Beside them the explanations, and the defects that were avoided for these workloads, where these are given.
    """
    claims = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **claim}
        for claim in manifests.of("ResourceClaim")
    ]
    content: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": claims}
    if explanations is not None:
        content["explanations"] = [explanation_json(one) for one in explanations]
    if avoided is not None:
        told = ((one.workload.name, effect) for one in avoided for effect in one.defects)
        content["defects"] = [{"workload": name, **explanation_json(effect)} for name, effect in told]
    return printed(content, form)
