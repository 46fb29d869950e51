"""Node selectors: which nodes they match, what is broken in them, and which nodes they name.

Each answer is one of Kubernetes: of ``NewNodeSelector`` and ``NewLazyErrorNodeSelector`` of
``k8s.io/component-helpers`` v0.37.1 ``scheduling/corev1/nodeaffinity``, called with this node.
"""

from __future__ import annotations

import pytest

from drakit_api.core.node_selectors import first_problem, listed_nodes, selects
from drakit_api.kubernetes_objects import Object

NAME = "n1"
LABELS = {
    "zone": "a",
    "cores": "8",
    "under": "1_000",
    "long": "99999999999999999999",
    "max": "9223372036854775807",
    "min": "-9223372036854775808",
    "zeros": "0008",
    "words": "many",
    "empty": "",
    "example.com/x": "a",
}
# An error where the selector is parsed first; where it is not, it selects no node.
BROKEN = None


def _requirement(key: str, operator: str, values: list[str] | None) -> Object:
    return {"key": key, "operator": operator} | ({} if values is None else {"values": values})


def _check(selector: Object, expected: bool | None) -> None:
    assert (first_problem(selector) is not None) == (expected is BROKEN)
    assert selects(selector, NAME, LABELS) is bool(expected)


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("zone", "In", ["a", "b"], True),
        ("zone", "In", ["b"], False),
        ("zone", "In", [], BROKEN),
        ("zone", "NotIn", ["a"], False),
        ("other", "NotIn", ["a"], True),
        ("zone", "NotIn", [], BROKEN),
        ("zone", "Exists", None, True),
        ("other", "Exists", None, False),
        ("zone", "Exists", ["a"], BROKEN),
        ("other", "DoesNotExist", None, True),
        ("zone", "DoesNotExist", None, False),
        ("cores", "Gt", ["7"], True),
        ("cores", "Gt", ["8"], False),
        ("cores", "Lt", ["9"], True),
        ("cores", "Lt", ["8"], False),
        ("cores", "Gt", ["+7"], BROKEN),
        ("cores", "Gt", ["-1"], BROKEN),
        ("cores", "Gt", ["0x7"], BROKEN),
        ("cores", "Gt", ["7", "6"], BROKEN),
        ("cores", "Gt", [], BROKEN),
        ("cores", "Gt", ["1_0"], BROKEN),
        ("cores", "Gt", [" 7"], BROKEN),
        ("under", "Gt", ["5"], False),
        ("under", "Lt", ["5"], False),
        ("long", "Gt", ["5"], False),
        ("long", "Lt", ["5"], False),
        ("max", "Gt", ["5"], True),
        ("max", "Gt", ["9223372036854775806"], True),
        ("max", "Gt", ["9223372036854775807"], False),
        ("cores", "Lt", ["99999999999999999999"], BROKEN),
        ("cores", "Lt", ["9223372036854775808"], BROKEN),
        ("min", "Lt", ["-9223372036854775807"], BROKEN),
        ("zeros", "Gt", ["7"], True),
        ("words", "Gt", ["1"], False),
        ("other", "Gt", ["-5"], BROKEN),
        ("empty", "Gt", ["-5"], BROKEN),
        ("zone", "Unknown", ["a"], BROKEN),
        ("zone", "", ["a"], BROKEN),
        ("", "In", ["a"], BROKEN),
        ("a b", "In", ["a"], BROKEN),
        ("UP.example/x", "In", ["a"], BROKEN),
        ("example.com/x", "In", ["a"], True),
        ("a/b/c", "Exists", None, BROKEN),
        ("zone", "In", ["not a value"], BROKEN),
        ("zone", "In", ["-a"], BROKEN),
        ("empty", "In", [""], True),
        ("other", "In", [""], False),
        ("zone", "NotIn", ["not a value"], BROKEN),
    ],
)
def test_a_requirement_on_labels(key: str, operator: str, values: list[str] | None, expected: bool | None) -> None:
    _check({"nodeSelectorTerms": [{"matchExpressions": [_requirement(key, operator, values)]}]}, expected)


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("metadata.name", "In", ["n1"], True),
        ("metadata.name", "In", ["n2"], False),
        ("metadata.name", "NotIn", ["n1"], False),
        ("metadata.name", "NotIn", ["n2"], True),
        ("metadata.name", "In", ["n1", "n2"], BROKEN),
        ("metadata.name", "In", [], BROKEN),
        ("metadata.name", "Exists", None, BROKEN),
        ("metadata.name", "Gt", ["1"], BROKEN),
        ("metadata.namespace", "In", ["x"], False),
        ("metadata.namespace", "In", [""], True),
        ("metadata.namespace", "NotIn", ["x"], True),
        ("", "In", [""], True),
    ],
)
def test_a_requirement_on_fields(key: str, operator: str, values: list[str] | None, expected: bool | None) -> None:
    _check({"nodeSelectorTerms": [{"matchFields": [_requirement(key, operator, values)]}]}, expected)


_HERE: Object = {"matchExpressions": [_requirement("zone", "In", ["a"])]}
_ELSEWHERE: Object = {"matchExpressions": [_requirement("zone", "In", ["x"])]}
_BROKEN_TERM: Object = {"matchExpressions": [_requirement("zone", "In", [])]}


def _name(operator: str, name: str) -> Object:
    return _requirement("metadata.name", operator, [name])


@pytest.mark.parametrize(
    ("terms", "is_broken", "selected"),
    [
        ([], False, False),
        ([{}], False, False),
        ([{}, _HERE], False, True),
        ([_BROKEN_TERM, _HERE], True, True),
        ([_HERE, _BROKEN_TERM], True, True),
        ([_BROKEN_TERM], True, False),
        ([_ELSEWHERE, _HERE], False, True),
        ([_ELSEWHERE, _ELSEWHERE], False, False),
        ([_HERE | {"matchFields": [_name("In", "n2")]}], False, False),
        ([_HERE | {"matchFields": [_name("In", "n1"), _name("NotIn", "n2")]}], False, True),
        ([{"matchFields": [_name("In", "n1"), _name("In", "n2")]}], False, False),
    ],
)
def test_terms_are_alternatives(terms: list[Object], is_broken: bool, selected: bool) -> None:
    selector = {"nodeSelectorTerms": terms}
    assert (first_problem(selector) is not None) == is_broken
    assert selects(selector, NAME, LABELS) is selected


def test_no_selector_restricts_nothing() -> None:
    assert selects(None, NAME, LABELS)


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ({}, []),
        ({"matchFields": [_requirement("metadata.name", "In", ["b", "a"])]}, ["b", "a"]),
        ({"matchFields": [_name("NotIn", "a")]}, []),
        (
            {"matchExpressions": [
                _requirement("zone", "Exists", None), _requirement("kubernetes.io/hostname", "In", ["c", "b"])
            ]},
            ["c", "b"],
        ),
        (_HERE, []),
    ],
    ids=["none", "name", "not", "host-names-in-order", "by-label"],
)  # fmt: skip
def test_named_nodes(term: Object, names: list[str]) -> None:
    assert listed_nodes(term) == names
