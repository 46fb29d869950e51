"""Pruning removes what a schema does not name, and says where it was."""

import json
from typing import Any

import pytest

from drakit_api.structural.pruning import prune
from drakit_api.structural.schema import structural

_PRESERVING = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_OF_A_AND_C: Any = {"properties": {"a": {}, "c": {}}}
_WITH_TYPE = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x", "odd": 1}}

# schema, object, what is left, paths (cases of algorithm_test.go)
_CASES: dict[str, tuple[Any, Any, Any, list[str]]] = {
    "scalar": ({}, 4, 4, []),
    "list of scalars": ({"items": {}}, [1, 2], [1, 2], []),
    "list of objects": (
        {"items": _OF_A_AND_C},
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 2, "c": 3}],
        [{"a": 1}, {}, {"a": 1, "c": 3}],
        ["[1].b", "[2].b"],
    ),
    "list without items": ({}, [{"a": 1}, [{"b": [2]}]], [{}, [{}]], ["[0].a", "[1][0].b"]),
    "sorted": ({"properties": {"o": _OF_A_AND_C}}, {"z": 1, "o": {"b": 2}}, {"o": {}}, ["o.b", "z"]),
    "map": (
        {"properties": {"c": {"additionalProperties": {"type": "integer"}}}},
        {"c": {"a": 1, "c": {"a": 1}}},
        {"c": {"a": 1, "c": {}}},
        ["c.c.a"],
    ),
    "map of anything": (
        {"properties": {"c": {"additionalProperties": True}}},
        {"c": {"a": 1, "c": {"kind": 1}}},
        {"c": {"a": 1, "c": {}}},
        ["c.c.kind"],
    ),
    "type and metadata of what is no resource": ({}, {"kind": 1, "metadata": {}, "x": 1}, {}, ["x"]),
    "type in a field": ({"properties": {"o": {}}}, {"o": {"kind": 1}}, {"o": {}}, ["o.kind"]),
    "preserving": (
        {_PRESERVING: True, "properties": {"o": {"properties": {"p": {_PRESERVING: True}}}}},
        {"x": {"y": 1}, "o": {"x": 1, "p": {"x": 1}}},
        {"x": {"y": 1}, "o": {"p": {"x": 1}}},
        ["o.x"],
    ),
    "preserving map": (
        {_PRESERVING: True, "additionalProperties": {"properties": {"a": {}}}},
        {"o": {"a": {"b": 1}, "c": 1}},
        {"o": {"a": {}}},
        ["o.a.b", "o.c"],
    ),
    "preserving list": (
        {_PRESERVING: True, "items": _OF_A_AND_C},
        [{"b": 1, "a": {"x": 1}}],
        [{"b": 1, "a": {}}],
        ["[0].a.x"],
    ),
    "preserving list without items": ({_PRESERVING: True}, [{"b": {"c": 1}}], [{"b": {"c": 1}}], []),
    "embedded resource": (
        {"properties": {"o": {_EMBEDDED: True, "properties": {"spec": {}}}}},
        {"o": {**_WITH_TYPE, "spec": {"x": 1}, "y": 1}},
        {"o": {**_WITH_TYPE, "spec": {}}},
        ["o.spec.x", "o.y"],
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_unknown_fields_are_removed(case: str) -> None:
    schema, obj, left, paths = _CASES[case]
    obj = json.loads(json.dumps(obj))
    assert prune(obj, structural(schema), is_root=False) == paths
    assert obj == left


def test_a_resource_keeps_its_type_and_metadata() -> None:
    obj = {**_WITH_TYPE, "spec": {"a": 1}}
    assert prune(obj, structural({"properties": {}}), is_root=True) == ["spec"]
    assert obj == _WITH_TYPE


def test_depth_is_the_client_s() -> None:
    deep: Any = [{"x": 1}]
    for _ in range(5000):
        deep = [deep]
    assert len(prune({"deep": deep}, structural({"properties": {"deep": {"type": "array"}}}), is_root=True)) == 1
