"""No two items of a set, and no two of a map in the form of a list, are alike."""

from typing import Any

import pytest

from drakit_api.structural.lists import Uniqueness
from drakit_api.structural.schema import structural

_SET = {"type": "array", "x-kubernetes-list-type": "set"}


def _map(*keys: str) -> dict[str, Any]:
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys), "items": {}}


def _duplicate(value: str) -> str:
    return f"Duplicate value: {value}"


# schema of the field "a", value, errors (cases of validation_test.go)
_CASES: dict[str, tuple[Any, Any, list[tuple[str, str]]]] = {
    "no list type": ({"type": "array"}, [1, 1], []),
    "set": (_SET, [1, 2, 1, 1, "x", "x"], [("a[2]", _duplicate("1")), ("a[5]", _duplicate('"x"'))]),
    "types differ": (_SET, [1, True, 1.0, None], []),
    "set of objects": (_SET, [{"x": 1, "y": 2}, {"y": 2, "x": 1}], [("a[1]", _duplicate('{"x":1,"y":2}'))]),
    "map": (_map("k"), [{"k": 1}, {"k": 1, "v": 2}], [("a[1]", _duplicate('{"k":1}'))]),
    "without key": (_map("k"), [{}, {"v": 2}, None], [("a[1]", _duplicate("{}"))]),
    "two keys": (
        _map("k", "l"),
        [{"k": 1, "l": 2}, {"k": 1}, {"l": 2, "k": 1}],
        [("a[2]", _duplicate('{"k":1,"l":2}'))],
    ),
    "scalar in a map": (
        _map("k"),
        [{}, 5],
        [("a[1]", "Invalid value: 5: must be an object for an array of list-type map")],
    ),
    "in a map of lists": (
        {"type": "object", "additionalProperties": _SET},
        {"x": [1, 1]},
        [("a[x][1]", _duplicate("1"))],
    ),
    "in a list": ({"type": "array", "items": _SET}, [[], [1, 1]], [("a[1][1]", _duplicate("1"))]),
}


@pytest.mark.parametrize("case", _CASES)
def test_what_is_repeated_is_reported_once(case: str) -> None:
    schema, value, errors = _CASES[case]
    found = Uniqueness(structural({"properties": {"a": schema}})).faults({"a": value})
    assert [(error.field, error.message) for error in found] == errors


def test_an_object_that_had_repeated_items_may_have_others() -> None:
    unique = Uniqueness(structural({"properties": {"a": _SET}}))
    assert unique.update_faults({"a": [1, 1, 2, 2]}, {"a": [3, 3]}) == []
    assert [error.field for error in unique.update_faults({"a": [1, 1]}, {"a": [3]})] == ["a[1]"]
