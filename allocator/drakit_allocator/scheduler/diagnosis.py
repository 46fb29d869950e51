"""Why a pod was not scheduled, in the words of kube-scheduler, and what comes after them.

``0/4 nodes are available: 1 cannot allocate all claims, 3 Insufficient cpu.`` is what users and their tools search for,
so it comes first and unchanged. Kubernetes ends with a sentence on preemption; there is none here, and the room is used
for what users miss instead: why the claims could not be allocated, node by node.

Source: kubernetes ``pkg/scheduler/framework/types.go`` (FitError).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from drakit_allocator.scheduler.nodes.filters import Rejection
from drakit_api.typed_objects import ResourceClaim

# core/v1 Event: message; the condition gets the same text.
MESSAGE_BYTES = 1024


class Unschedulable(Exception):
    """The pod cannot be scheduled as things are; ``rejectors`` are the plugins that said so.

    With ``silently`` nobody is told, because the wait is short and normal. ``unusable_claims`` are allocated claims
    that did not suit some node: giving one back may help, if nobody else uses it.
    """

    def __init__(self, message: str, rejectors: Iterable[str], *, silently: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.rejectors = frozenset(rejectors)
        self.silently = silently
        self.unusable_claims: list[ResourceClaim] = []


class SchedulingFailed(Exception):
    """The attempt failed with an error, e.g. of a CEL expression; it is repeated after a while."""


@dataclass(slots=True)
class Diagnosis:
    """What the filters said of each node."""

    nodes: int
    rejections: dict[str, Rejection] = field(default_factory=dict)
    # By node: why the devices that are left there do not satisfy the claims.
    explanations: dict[str, str] = field(default_factory=dict)

    def unschedulable(self) -> Unschedulable:
        """Make the error that says that the pod is unschedulable, and which plugins rejected it."""
        plugins = {rejection.plugin for rejection in self.rejections.values()}
        return Unschedulable(self.message(), plugins)

    def message(self) -> str:
        """Return the whole text, cut to what an event can hold."""
        counts = Counter(reason for rejection in self.rejections.values() for reason in rejection.reasons)
        # Upstream sorts the finished phrases, so that "10 ..." comes before "2 ...".
        reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        verdict = before_filters(self.nodes, reasons)
        message = verdict
        for sentence in explained(self.explanations):
            longer = f"{message} {sentence}"
            if len(longer.encode()) > MESSAGE_BYTES:
                # The beginning of the only explanation is better than none; of others there is enough already.
                return cut(longer) if message is verdict else message
            message = longer
        return message


def before_filters(nodes: int, reason: str) -> str:
    """Return the message for a reason that holds on all nodes."""
    return f"0/{nodes} nodes are available: {reason}."


def explained(explanations: Mapping[str, str]) -> list[str]:
    """Write a sentence for each different explanation, that of most nodes first."""
    nodes: dict[str, list[str]] = {}
    for node, explanation in explanations.items():
        nodes.setdefault(explanation, []).append(node)
    ordered = sorted(nodes.items(), key=lambda item: (-len(item[1]), item[1]))
    return [f"{_named(names)}: {explanation.rstrip('.')}." for explanation, names in ordered]


def cut(message: str, size: int = MESSAGE_BYTES) -> str:
    """Cut a message to so many bytes; if it is not said, to what an event can hold."""
    end = " ..."
    if len(message.encode()) <= size:
        return message
    return message.encode()[: size - len(end)].decode(errors="ignore") + end


def _named(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {len(names) - 1} more"
