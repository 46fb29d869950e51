"""What the status of a terminating namespace says about its end.

k8s.io/kubernetes/pkg/controller/namespace/deletion/status_condition_utils.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object

_DISCOVERY = "NamespaceDeletionDiscoveryFailure"
_CONTENT = "NamespaceDeletionContentFailure"
_REMAINING = "NamespaceContentRemaining"
_FINALIZERS = "NamespaceFinalizersRemaining"
# Each condition in this order, with reason and message while all is well.
_ALL_IS_WELL = {
    _DISCOVERY: ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    _CONTENT: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    _REMAINING: ("ContentRemoved", "All content successfully removed"),
    _FINALIZERS: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(slots=True)
class Findings:
    """What was found in a namespace that is being emptied."""

    # Versions of groups whose kinds are not known now.
    stale: tuple[str, ...] = ()
    # How many objects remain of a kind (``pods.``, ``deployments.apps``).
    remaining: Counter[str] = field(default_factory=Counter)
    # In how many objects a finalizer is.
    finalizers: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


def changed(status: Object, findings: Findings) -> Object | None:
    """Return the status with conditions that say this; None if it says so already."""
    failing = dict(_failing(findings))
    old = status.get("conditions") or []
    new = old
    for kind, well in _ALL_IS_WELL.items():
        reason, message = failing.get(kind, well)
        wanted = {"type": kind, "status": str(kind in failing), "reason": reason, "message": message}
        new = conditions.updated(new, wanted)
    return {**status, "conditions": new} if new != old else None


def _failing(findings: Findings) -> Iterable[tuple[str, tuple[str, str]]]:
    if findings.stale:
        groups = ", ".join(f"{each}: stale GroupVersion discovery: {each}" for each in sorted(findings.stale))
        text = f"unable to retrieve the complete list of server APIs: {groups}"
        failed = f"Discovery failed for some groups, {len(findings.stale)} failing: {text}"
        yield _DISCOVERY, ("DiscoveryFailed", failed)
    if findings.errors:
        listed = ", ".join(sorted(findings.errors))
        failed = f"Failed to delete all resource types, {len(findings.errors)} remaining: {listed}"
        yield _CONTENT, ("ContentDeletionFailed", failed)
    if findings.remaining:
        listed = _listed(findings.remaining, "{} has {} resource instances")
        yield _REMAINING, ("SomeResourcesRemain", f"Some resources are remaining: {listed}")
    if findings.finalizers:
        listed = _listed(findings.finalizers, "{} in {} resource instances")
        text = f"Some content in the namespace has finalizers remaining: {listed}"
        yield _FINALIZERS, ("SomeFinalizersRemain", text)


def _listed(counts: Mapping[str, int], form: str) -> str:
    return ", ".join(sorted(form.format(name, count) for name, count in counts.items()))
