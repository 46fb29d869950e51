"""Node selectors: which nodes they match, and which they name."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_driver.preparing.placement import node_names, selects

Object = dict[str, Any]
LABELS = {"kubernetes.io/hostname": "n1", "zone": "a", "cores": "8"}


def expressions(*requirements: Object) -> Object:
    return {"nodeSelectorTerms": [{"matchExpressions": list(requirements)}]}


def fields(operator: str, *values: str) -> Object:
    requirement = {"key": "metadata.name", "operator": operator, "values": list(values)}
    return {"nodeSelectorTerms": [{"matchFields": [requirement]}]}


def label(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, True),
        ({"nodeSelectorTerms": []}, False),
        ({"nodeSelectorTerms": [{}]}, False),
        (fields("In", "n1"), True),
        (fields("NotIn", "n1"), False),
        (expressions(label("zone", "In", "a", "b")), True),
        (expressions(label("zone", "NotIn", "a")), False),
        (expressions(label("other", "NotIn", "a")), True),
        (expressions(label("other", "Exists")), False),
        (expressions(label("other", "DoesNotExist")), True),
        (expressions(label("cores", "Gt", "7")), True),
        (expressions(label("cores", "Lt", "8")), False),
        (expressions(label("zone", "Gt", "1")), False),
        (expressions(label("zone", "In", "a"), label("cores", "In", "9")), False),
        (expressions(label("zone", "Unknown", "a")), False),
        ({"nodeSelectorTerms": [each for n in ("n2", "n1") for each in fields("In", n)["nodeSelectorTerms"]]}, True),
    ],
    ids=[
        "none", "no-terms", "empty-term", "name", "not-name", "in", "not-in", "absent-is-not-in", "exists",
        "does-not-exist", "greater", "less", "no-number", "all-of-a-term", "unknown-operator", "any-term",
    ],
)  # fmt: skip
def test_selector(selector: Object | None, matches: bool) -> None:
    assert selects(selector, "n1", LABELS) is matches


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (None, []),
        (fields("In", "b", "a"), ["b", "a"]),
        (fields("NotIn", "a"), []),
        (expressions(label("zone", "Exists"), label("kubernetes.io/hostname", "In", "c", "b")), ["c", "b"]),
        (expressions(label("zone", "In", "a")), []),
    ],
    ids=["none", "name", "not", "host-names-in-order", "by-label"],
)
def test_named_nodes(selector: Object | None, names: list[str]) -> None:
    assert node_names(selector) == names
