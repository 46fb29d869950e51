"""Defaults are set where something lacks, and nulls go where they may not be."""

import json
from typing import Any

import pytest

from drakit_api.structural.defaulting import Defaults, drop_nulls
from drakit_api.structural.schema import structural

# schema, object, object with defaults (cases of algorithm_test.go)
_DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    "none": ({"properties": {"a": {}}}, {"a": {}}, {"a": {}}),
    "of a field": ({"properties": {"a": {"default": 1}, "b": {"default": 2}}}, {"a": 3}, {"a": 3, "b": 2}),
    "below a default": (
        {"properties": {"o": {"default": {"a": 1}, "properties": {"b": {"default": [2]}}}}},
        {},
        {"o": {"a": 1, "b": [2]}},
    ),
    "not below what lacks": ({"properties": {"o": {"properties": {"b": {"default": 2}}}}}, {}, {}),
    "of items": (
        {"items": {"properties": {"b": {"default": 2}}}},
        [{}, {"b": 3}, None],
        [{"b": 2}, {"b": 3}, None],
    ),
    "of a map's values": (
        {"additionalProperties": {"properties": {"b": {"default": 2}}}},
        {"x": {}, "y": 1},
        {"x": {"b": 2}, "y": 1},
    ),
    "for nulls that may not be": (
        {"properties": {"a": {"default": 1}, "b": {"default": 2, "nullable": True}}},
        {"a": None, "b": None},
        {"a": 1, "b": None},
    ),
    "for null items": ({"items": {"default": 1}}, [None, 2], [1, 2]),
    "for null values of a map": ({"additionalProperties": {"default": 1}}, {"x": None}, {"x": 1}),
    "null is no default": ({"properties": {"a": {"default": None, "nullable": True}}}, {}, {}),
}


@pytest.mark.parametrize("case", _DEFAULTS)
def test_defaults_are_set(case: str) -> None:
    schema, obj, expected = _DEFAULTS[case]
    obj = json.loads(json.dumps(obj))
    Defaults(structural(schema)).fill(obj)
    assert obj == expected


def test_a_default_is_not_shared() -> None:
    defaults = Defaults(structural({"properties": {"a": {"default": {"list": []}}}}))
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    defaults.fill(first)
    first["a"]["list"].append(1)
    defaults.fill(second)
    assert second == {"a": {"list": []}}


# schema, object, object without misplaced nulls (cases of prunenulls_test.go)
_NULLS: dict[str, tuple[Any, Any, Any]] = {
    "unknown": ({}, {"a": None}, {"a": None}),
    "field": ({"properties": {"a": {}, "b": {"nullable": True}}}, {"a": None, "b": None}, {"b": None}),
    "with a default": ({"properties": {"a": {"default": 1}}}, {"a": None}, {"a": None}),
    "value of a map": ({"additionalProperties": {}}, {"a": None, "b": 1}, {"b": 1}),
    "item": ({"items": {"properties": {"a": {}}}}, [None, {"a": None}], [None, {}]),
}


@pytest.mark.parametrize("case", _NULLS)
def test_nulls_are_dropped(case: str) -> None:
    schema, obj, expected = _NULLS[case]
    obj = json.loads(json.dumps(obj))
    drop_nulls(obj, structural(schema))
    assert obj == expected
