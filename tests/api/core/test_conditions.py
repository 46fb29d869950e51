"""Conditions: what they say, and what becomes of them when one changes.

The rules are those of k8s.io/kubernetes 1.37.1: ``GetPodCondition`` and ``IsPodReady`` of ``pkg/api/v1/pod/util.go``,
``SetDeploymentCondition`` of ``pkg/controller/deployment/util/deployment_util.go``.
"""

from __future__ import annotations

import pytest

from drakit_api.core import conditions
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object

NOW, BEFORE = "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"


def condition(kind: str, status: str = "True", reason: str = "R", **more: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, **more}


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gotime, "now", lambda: NOW)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"conditions": [condition("Ready")]}, True),
        ({"conditions": [condition("Other", "False"), condition("Ready")]}, True),
        ({"conditions": [condition("Ready", "False")]}, False),
        ({"conditions": [condition("Ready", "Unknown")]}, False),
        ({"conditions": [condition("Ready", "False"), condition("Ready")]}, False),  # the first of a type counts
        ({"conditions": [condition("Other")]}, False),
        ({"conditions": []}, False),
        ({"conditions": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_what_is_ready(status: Object | None, expected: bool) -> None:
    assert conditions.is_ready({"metadata": {"name": "p"}, "status": status}) is expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([condition("PodScheduled", "False", "Unschedulable")], True),
        ([condition("PodScheduled", "False", "SchedulerError")], False),
        ([condition("PodScheduled", "False", "SchedulingGated")], False),
        ([condition("Other", "False", "Unschedulable")], False),
        ([], False),
    ],
)
def test_what_a_scheduler_found_no_node_for(listed: list[Object], expected: bool) -> None:
    assert conditions.is_unschedulable({"status": {"conditions": listed}}) is expected


OTHER = condition("Other", lastTransitionTime=BEFORE)
OLD = condition("Ready", "True", "R", message="old", lastTransitionTime=BEFORE)


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        (None, condition("Ready"), [condition("Ready", lastTransitionTime=NOW)]),
        ([OTHER], condition("Ready"), [OTHER, condition("Ready", lastTransitionTime=NOW)]),
        # Another message alone changes nothing.
        ([OLD, OTHER], condition("Ready", "True", "R", message="new"), [OLD, OTHER]),
        # Another reason is written, and the status has been so since it was.
        (
            [OLD, OTHER],
            condition("Ready", "True", "S"),
            [OTHER, condition("Ready", reason="S", lastTransitionTime=BEFORE)],
        ),
        ([OLD, OTHER], condition("Ready", "False", "R"), [OTHER, condition("Ready", "False", lastTransitionTime=NOW)]),
    ],
    ids=["first", "another-type", "message", "reason", "status"],
)
def test_a_condition_that_is_set(before: list[Object] | None, new: Object, after: list[Object]) -> None:
    assert conditions.with_condition(before, new) == after


def test_a_deployment_keeps_when_a_condition_was_written() -> None:
    new = condition("Ready", "True", "S")
    (written,) = conditions.with_condition([OLD], new, update_time=True)
    assert written == {**new, "lastTransitionTime": BEFORE, "lastUpdateTime": NOW}


def test_a_condition_that_is_taken_away() -> None:
    assert conditions.without([OLD, OTHER], "Ready") == [OTHER]
    assert conditions.without(None, "Ready") == []
