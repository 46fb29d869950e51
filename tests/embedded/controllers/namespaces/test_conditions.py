"""What the status of a namespace says while it is emptied."""

from __future__ import annotations

from collections import Counter

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.controllers.namespaces.conditions import Findings, changed

WELL = {
    "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "False",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


def said(status: Object | None) -> dict[str, tuple[str, str, str]]:
    assert status is not None
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in status["conditions"]}


@pytest.mark.parametrize(
    ("findings", "kind", "reason", "message"),
    [
        (
            Findings(stale=("b.example.com/v1", "a.example.com/v2")),
            "NamespaceDeletionDiscoveryFailure",
            "DiscoveryFailed",
            "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: "
            "a.example.com/v2: stale GroupVersion discovery: a.example.com/v2, "
            "b.example.com/v1: stale GroupVersion discovery: b.example.com/v1",
        ),
        (
            Findings(errors=["b failed", "a failed"]),
            "NamespaceDeletionContentFailure",
            "ContentDeletionFailed",
            "Failed to delete all resource types, 2 remaining: a failed, b failed",
        ),
        (
            Findings(remaining=Counter({"widgets.example.com": 12, "configmaps.": 1})),
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances, "
            "widgets.example.com has 12 resource instances",
        ),
        (
            Findings(finalizers=Counter({"example.com/b": 2, "example.com/a": 1})),
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances, "
            "example.com/b in 2 resource instances",
        ),
    ],
)
def test_what_keeps_a_namespace_is_a_condition(findings: Findings, kind: str, reason: str, message: str) -> None:
    assert said(changed({}, findings)) == {**WELL, kind: ("True", reason, message)}


def test_conditions_come_in_upstream_s_order_after_those_of_others() -> None:
    status = changed({"phase": "Terminating", "conditions": [{"type": "Mine", "status": "True"}]}, Findings())
    assert status is not None
    assert [each["type"] for each in status["conditions"]] == ["Mine", *WELL]
    assert status["phase"] == "Terminating"
    assert status["conditions"][0] == {"type": "Mine", "status": "True"}


def test_conditions_change_when_something_else_is_to_be_said() -> None:
    remaining = Findings(remaining=Counter({"pods.": 2}))
    first = changed({}, remaining)
    assert first is not None
    for condition in first["conditions"]:
        condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    assert changed(first, remaining) is None
    fewer = changed(first, Findings(remaining=Counter({"pods.": 1})))
    assert fewer is not None
    assert {each["lastTransitionTime"] for each in fewer["conditions"]} == {"2026-01-01T00:00:00Z"}
    none = changed(fewer, Findings())
    assert said(none) == WELL
    assert none is not None
    since = {each["type"]: each["lastTransitionTime"] for each in none["conditions"]}
    assert since.pop("NamespaceContentRemaining") != "2026-01-01T00:00:00Z"
    assert set(since.values()) == {"2026-01-01T00:00:00Z"}
