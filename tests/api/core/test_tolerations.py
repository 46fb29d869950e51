"""Tolerations: which taints they cover, of nodes and of devices alike."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.core.tolerations import is_tolerated, tolerates

TAINT = {"key": "example.com/broken", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Exists", "key": "example.com/broken"}, True),
        ({"operator": "Exists", "key": "example.com/other"}, False),
        ({"key": "example.com/broken", "value": "yes"}, True),
        ({"key": "example.com/broken", "operator": "Equal", "value": "yes"}, True),
        ({"key": "example.com/broken", "operator": "Equal", "value": "no"}, False),
        ({"key": "example.com/broken", "operator": "Equal"}, False),
        ({"operator": "", "value": "yes"}, True),
        ({"key": "example.com/broken", "operator": "Gt", "value": "1"}, False),
        ({"key": "example.com/broken", "operator": "Unknown", "value": "yes"}, False),
    ],
)
def test_which_taint_a_toleration_covers(toleration: dict[str, Any], expected: bool) -> None:
    assert tolerates(toleration, TAINT) is expected


def test_a_taint_without_a_value_is_covered_by_a_toleration_without_one() -> None:
    assert tolerates({"key": "example.com/broken"}, {"key": "example.com/broken", "effect": "NoExecute"})


def test_one_of_several_tolerations_suffices() -> None:
    assert is_tolerated(TAINT, [{}, {"operator": "Exists"}])
    assert not is_tolerated(TAINT, [{}])
