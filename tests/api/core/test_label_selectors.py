"""Label selectors: which labels they select.

Each answer is one of Kubernetes: of ``LabelSelectorAsSelector`` of ``k8s.io/apimachinery`` v0.37.1
``pkg/apis/meta/v1``; a selector that it refuses selects nothing here.
"""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.core.label_selectors import selects

LABELS = {"zone": "a", "cores": "8", "empty": "", "example.com/x": "a"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"zone": "a"}}, True),
        ({"matchLabels": {"zone": "b"}}, False),
        ({"matchLabels": {"zone": "a", "cores": "8"}}, True),
        ({"matchLabels": {"other": ""}}, False),
        ({"matchLabels": {"empty": ""}}, True),
        ({"matchLabels": {"a b": "x"}}, False),  # refused
        ({"matchLabels": {"zone": "not a value"}}, False),  # refused
        ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "In", "values": []}]}, False),  # refused
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": []}]}, False),  # refused
        ({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "other", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "Exists", "values": ["a"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "other", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "Unknown", "values": ["a"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "zone", "operator": "", "values": ["a"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "", "operator": "In", "values": ["a"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "a b", "operator": "In", "values": ["a"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "UP.example/x", "operator": "In", "values": ["a"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "example.com/x", "operator": "In", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "a/b/c", "operator": "Exists"}]}, False),  # refused
        ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["not a value"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["-a"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "empty", "operator": "In", "values": [""]}]}, True),
        ({"matchExpressions": [{"key": "other", "operator": "In", "values": [""]}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["not a value"]}]}, False),  # refused
        ({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["7"]}]}, False),  # refused
        (
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["a"]},
                    {"key": "other", "operator": "Exists"},
                ]
            },
            False,
        ),
        ({"matchLabels": {"zone": "a"}, "matchExpressions": [{"key": "zone", "operator": "Exists"}]}, True),
    ],
)
def test_what_a_selector_selects(selector: dict[str, Any] | None, expected: bool) -> None:
    assert selects(selector, LABELS) is expected


def test_objects_without_labels_are_selected_by_what_asks_for_none() -> None:
    assert selects({}, None)
    assert not selects({"matchLabels": {"zone": "a"}}, None)
