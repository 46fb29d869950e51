"""A value that does not fit its schema is refused in kube-apiserver's words."""

import time
from typing import Any

import pytest

from drakit_api.structural.schema import structural
from drakit_api.structural.values import Validator

_TYPE, _INVALID, _MISSING = "FieldValueTypeInvalid", "FieldValueInvalid", "FieldValueRequired"
Error = tuple[str, str, str]


def _in_a(detail: str, value: str, reason: str = _INVALID) -> list[Error]:
    return [(reason, "a", f"Invalid value: {value}: a in body {detail}")]


_BROKEN: list[Error] = [
    *_in_a('must be of type integer: "number"', '"number"', _TYPE),
    (_INVALID, "<nil>", 'Invalid value: "": Checked value must be of type integer (default format) in a'),
]

# schema of the field "a", value, errors
_CASES: dict[str, tuple[Any, Any, list[Error]]] = {
    "type": ({"type": "integer"}, "x", _in_a('must be of type integer: "string"', '"string"', _TYPE)),
    "null": ({"type": "string"}, None, _in_a('must be of type string: "null"', '"null"', _TYPE)),
    "nullable": ({"type": "string", "nullable": True}, None, []),
    "whole float": ({"type": "integer"}, 3.0, []),
    "broken integer": ({"type": "integer"}, 1.5, _BROKEN),
    "integer as number": ({"type": "number"}, 3, []),
    "bool is no integer": ({"type": "integer"}, True, _in_a('must be of type integer: "boolean"', '"boolean"', _TYPE)),
    "int or string": (
        {"x-kubernetes-int-or-string": True},
        True,
        _in_a('must be of type integer,string: "boolean"', '"boolean"', _TYPE),
    ),
    "format": (
        {"type": "string", "format": "ipv4"},
        "x",
        _in_a('must be of type ipv4: "x"', '"x"', _TYPE),
    ),
    "a number where a format is": (
        {"type": "string", "format": "ipv4"},
        1,
        _in_a('must be of type ipv4: "int64"', '"int64"', _TYPE),
    ),
    "a list where a format is": ({"type": "string", "format": "ipv4"}, [1], []),
    "unknown format": ({"type": "string", "format": "shoe-size"}, "x", []),
    "int32": (
        {"type": "integer", "format": "int32"},
        2**31,
        [(_INVALID, "<nil>", 'Invalid value: "": Checked value must be of type integer with format int32 in a')],
    ),
    "more than 64 bits": ({"type": "integer"}, 2**64, _BROKEN),
    "length": ({"type": "string", "minLength": 2}, "é", _in_a("should be at least 2 chars long", '"é"')),
    "long": (
        {"type": "string", "maxLength": 1},
        "ab",
        [("FieldValueTooLong", "a", "Too long: may not be more than 1 byte")],
    ),
    "pattern": ({"type": "string", "pattern": "^x+$"}, "y", _in_a("should match '^x+$'", '"y"')),
    "enumeration": (
        {"type": "string", "enum": ["x", "y"]},
        "z",
        [("FieldValueNotSupported", "a", 'Unsupported value: "z": supported values: "x", "y"')],
    ),
    "null is in no enumeration": (
        {"type": "string", "nullable": True, "enum": ["x", None]},
        None,
        [("FieldValueNotSupported", "a", 'Unsupported value: null: supported values: "x", "null"')],
    ),
    "a number converts to a character": ({"x-kubernetes-int-or-string": True, "enum": ["a"]}, 97, []),
    "1 is not true": (
        {"enum": [1]},
        True,
        [("FieldValueNotSupported", "a", 'Unsupported value: true: supported values: "1"')],
    ),
    "minimum": ({"type": "integer", "minimum": 2}, 1, _in_a("should be greater than or equal to 2", "1")),
    "exclusive": (
        {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
        1.5,
        _in_a("should be less than 1.5", "1.5"),
    ),
    "large number": (
        {"type": "number", "maximum": 1000000},
        1e7,
        _in_a("should be less than or equal to 1e+06", "1e+07"),
    ),
    "factor": ({"type": "integer", "multipleOf": 3}, 4, _in_a("should be a multiple of 3", "4")),
    "broken factor": ({"type": "number", "multipleOf": 0.1}, 0.3, []),
    "few items": ({"type": "array", "minItems": 1}, [], _in_a("should have at least 1 items", "0")),
    "many items": (
        {"type": "array", "maxItems": 1},
        [1, 2],
        [("FieldValueTooMany", "a", "Too many: 2: must have at most 1 item")],
    ),
    "items": (
        {"type": "array", "items": {"type": "string"}},
        ["x", 1],
        [(_TYPE, "a[1]", 'Invalid value: "integer": a[1] in body must be of type string: "integer"')],
    ),
    "required": ({"type": "object", "required": ["b"]}, {}, [(_MISSING, "a.b", "Required value")]),
    "values of a map": (
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"b.c": 1},
        [(_TYPE, "a.b.c", 'Invalid value: "integer": a.b.c in body must be of type string: "integer"')],
    ),
    "all of": (
        {"allOf": [{"minLength": 3}, {"maxLength": 4}]},
        "ab",
        [
            (_INVALID, "a", 'Invalid value: "ab": a in body should be at least 3 chars long'),
            (_INVALID, "<nil>", 'Invalid value: "": "a" must validate all the schemas (allOf)'),
        ],
    ),
    "any of": (
        {"anyOf": [{"required": ["x"]}, {"required": ["y"], "properties": {"z": {"minimum": 0}}}]},
        {"z": 1},
        [
            (_INVALID, "<nil>", 'Invalid value: "": "a" must validate at least one schema (anyOf)'),
            (_MISSING, "a.y", "Required value"),  # of the schema of which more is right
        ],
    ),
    "one of": (
        {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
        3,
        [
            (
                _INVALID,
                "<nil>",
                'Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
            )
        ],
    ),
    "not": (
        {"not": {"minimum": 1}},
        3,
        [(_INVALID, "<nil>", 'Invalid value: "": "a" must not validate the schema (not)')],
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_a_value_is_checked(case: str) -> None:
    schema, value, errors = _CASES[case]
    validator = Validator(structural({"type": "object", "properties": {"a": schema}}))
    assert [(error.reason, error.field, error.message) for error in validator.faults({"a": value})] == errors


def test_a_part_of_an_object_has_its_place_in_the_field_only() -> None:
    validator = Validator(structural({"type": "object", "required": ["b"], "properties": {"a": {"type": "string"}}}))
    assert [(error.field, error.message) for error in validator.faults({"a": 1}, "status")] == [
        ("status.a", 'Invalid value: "integer": a in body must be of type string: "integer"'),
        ("status.b", "Required value"),
    ]


_RATCHETED = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 1},
        "b": {"type": "string"},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 1}},
            },
        },
        "list": {"type": "array", "items": {"type": "integer", "maximum": 1}},
    },
}


@pytest.mark.parametrize(
    ("new", "old", "fields"),
    [
        ({"a": "xx", "b": "y"}, {"a": "xx"}, []),
        ({"a": "xy"}, {"a": "xx"}, ["a"]),
        ({"map": [{"k": "1"}, {"k": "2", "v": 5}]}, {"map": [{"k": "2", "v": 5}]}, []),
        ({"map": [{"k": "2", "v": 6}]}, {"map": [{"k": "2", "v": 5}]}, ["map[0].v"]),
        ({"map": [{"k": "3", "v": 5}]}, {"map": [{"k": "2", "v": 5}]}, ["map[0].v"]),
        ({"list": [5]}, {"list": [5]}, []),
        ({"list": [5, 0]}, {"list": [5]}, ["list[0]"]),
        ({"list": [5]}, {}, ["list[0]"]),
    ],
)
def test_what_has_not_changed_may_stay_invalid(new: Any, old: Any, fields: list[str]) -> None:
    assert [error.field for error in Validator(structural(_RATCHETED)).update_faults(new, old)] == fields


def test_an_object_of_forty_fields_is_checked_quickly() -> None:
    fields = {f"f{number}": {"type": "string", "maxLength": 40} for number in range(20)}
    fields |= {f"g{number}": {"type": "integer", "minimum": 0} for number in range(20)}
    validator = Validator(
        structural({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}})
    )
    obj = {"spec": {name: "text" if name.startswith("f") else 7 for name in fields}}
    start = time.perf_counter()
    for _ in range(100):
        assert validator.faults(obj) == []
    # It takes about 30 microseconds; the machine may be busy.
    assert (time.perf_counter() - start) / 100 < 0.002


def test_values_are_shown_as_go_prints_them() -> None:
    validator = Validator(structural({"enum": [{"b": 1e21, "a": 2.0}]}))
    assert [error.message for error in validator.faults({"d": 1e6, "c": [0.5]})] == [
        'Unsupported value: {"c":[0.5],"d":1000000}: supported values: "{\\"a\\":2,\\"b\\":1e+21}"'
    ]
