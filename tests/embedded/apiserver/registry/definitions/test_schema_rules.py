"""What may stand in a schema, and where."""

from __future__ import annotations

import time
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.definitions.object_rules import non_structural_violations, on_create
from drakit_embedded.apiserver.registry.definitions.schema_reading import DEEPEST
from drakit_embedded.apiserver.registry.definitions.schema_warnings import warnings
from tests.embedded.apiserver.registry.definitions.samples import definition, field

_ROOT = "spec.validation.openAPIV3Schema"
_A = f"{_ROOT}.properties[a]"
_EMBEDDED, _PRESERVES = "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"
_LIST, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"


def _errors(schema: Object) -> list[str]:
    return [str(error) for error in on_create(definition(schema))]


# schema of the field "a" -> errors below its path
_FIELDS: dict[str, tuple[Any, list[str]]] = {
    "no type": ({}, [".type: Required value: must not be empty for specified object fields"]),
    "no items": ({"type": "array"}, [".items: Required value: must be specified"]),
    "int or string": ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, []),
    "int or string in another order": (
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "string"}, {"type": "integer"}]},
        [f".anyOf[{place}].type: Forbidden: must be empty to be structural" for place in (0, 1)],
    ),
    "preserving": ({_PRESERVES: True}, []),
    "type in a combination": (
        {"type": "string", "anyOf": [{"type": "string"}]},
        [".anyOf[0].type: Forbidden: must be empty to be structural"],
    ),
    "false default in a combination": (
        {"type": "boolean", "not": {"default": False}},
        [".not.default: Forbidden: must be undefined to be structural"],
    ),
    "pattern": (
        {"type": "string", "pattern": "("},
        [
            '.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ): `(`"
        ],
    ),
    "embedded without properties": (
        {"type": "object", _EMBEDDED: True},
        [f".properties: Required value: must not be empty if {_EMBEDDED} is true without {_PRESERVES}"],
    ),
    "unsupported": ({"type": "string", "id": "x"}, [".id: Forbidden: id is not supported"]),
    "schema URL": ({"type": "string", "$schema": "x"}, []),  # told of at the root
    "both kinds of fields": (
        {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        [".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    "list map": (
        {
            "type": "array",
            _LIST: "map",
            _KEYS: ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
        [
            f".items.properties[k].default: Required value: this property is in {_KEYS}, so it must have a default or "
            "be a required property"
        ],
    ),
    "list map without keys": (
        {"type": "array", _LIST: "map", "items": {"type": "object"}},
        [f".{_KEYS}: Required value: must not be empty if {_LIST} is map"],
    ),
    "set of objects": (
        {"type": "array", _LIST: "set", "items": {"type": "object"}},
        [
            ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
            "x-kubernetes-list-type=set"
        ],
    ),
    "default of what may be an integer or a string": ({"x-kubernetes-int-or-string": True, "default": [1]}, []),
    "default that breaks a rule, as a new value and an old one": (
        {
            "type": "integer",
            "default": 1,
            "x-kubernetes-validations": [{"rule": "self > 5"}, {"rule": "self > oldSelf", "message": "grows"}],
        },
        [".default: Invalid value: 1: failed rule: self > 5", ".default: Invalid value: 1: grows"],
    ),
    "default": (
        {"type": "integer", "default": "x"},
        [
            '.default: Invalid value: "string":  in body must be of type integer: "string"',
        ],
    ),
    "default with unknown fields": (
        {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1, "b": "x"}},
        ['.default: Invalid value: {"b":"x","c":1}: must not have unknown fields'],
    ),
    "default that breaks a rule": (
        {"type": "string", "default": "x", "x-kubernetes-validations": [{"rule": "self == 'y'"}]},
        [".default: Invalid value: \"x\": failed rule: self == 'y'"],
    ),
    "rule": (
        {"type": "string", "x-kubernetes-validations": [{"rule": " "}]},
        [".x-kubernetes-validations[0].rule: Required value: rule is not specified"],
    ),
}


@pytest.mark.parametrize("case", _FIELDS)
def test_a_field_is_checked(case: str) -> None:
    schema, errors = _FIELDS[case]
    if case == "schema URL":
        assert _errors(field(schema)) == [f"{_ROOT}: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"]
    else:
        assert _errors(field(schema)) == [_A + error for error in errors]


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({"type": "string"}, [f'{_ROOT}.type: Invalid value: "string": must be object at the root']),
        ({"type": "object", "nullable": True}, [f"{_ROOT}.nullable: Forbidden: nullable cannot be true at the root"]),
        (
            {"type": "object", "additionalProperties": True},
            [f"{_ROOT}.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "minProperties": 1}}},
            [
                f"{_ROOT}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
                "but metadata is implicitly specified"
            ],
        ),
        (
            {"type": "object", "properties": {"kind": {"type": "string", "default": "X"}}},
            [f"{_ROOT}.properties[kind].default: Forbidden: must not be set in top-level kind"],
        ),
        (
            {"type": "object", "anyOf": [{"properties": {"b": {}}}]},
            [f"{_ROOT}.properties[b]: Required value: because it is defined in {_ROOT}.anyOf[0].properties[b]"],
        ),
    ],
)
def test_the_root_is_checked(schema: Object, errors: list[str]) -> None:
    assert _errors(schema) == errors


def test_the_root_of_a_schema_with_status_is_checked_for_what_would_be_lost() -> None:
    crd = definition({"type": "object", "maxProperties": 1})
    crd["spec"]["versions"][0]["subresources"] = {"status": {}}
    (error,) = on_create(crd)
    assert error.field == _ROOT
    assert error.message.startswith('Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"object",')
    assert error.message.endswith("if the status subresource is enabled")


def test_a_schema_with_errors_is_not_asked_for_its_rules() -> None:
    rules = [{"rule": "self.nothing"}]
    schema = {"type": "object", "properties": {"a": {"type": "string", "uniqueItems": True}}}
    assert len(_errors({**schema, "x-kubernetes-validations": rules})) == 1


def test_warnings_are_about_what_is_new() -> None:
    odd = definition(field({"type": "string", "format": "shoe-size"}))
    sets = definition(field({"type": "array", _LIST: "set", "items": {"type": "array", "items": {"type": "string"}}}))
    assert warnings(odd) == ['unrecognized format "shoe-size"']
    assert warnings(odd, odd) == []
    (warning,) = warnings(sets, odd)
    assert warning.startswith('x-kubernetes-list-type: set for items of type "array" is not supported')


def test_what_is_not_structural_is_told_of_in_a_condition() -> None:
    assert non_structural_violations(definition()) is None
    assert non_structural_violations(definition({"type": "object", "properties": {"a": {}}})) == (
        "Violations",
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified "
        "object fields",
    )
    assert non_structural_violations(definition({"type": "object", "id": "x"})) == (
        "StructuralError",
        "failed to check validation schema for version v1: OpenAPIV3Schema 'id' is not supported",
    )


@pytest.mark.parametrize("step", ["items", "additionalProperties", "properties"])
def test_the_deepest_schema_is_checked(step: str) -> None:
    schema: Object = {
        "type": "string",
        "default": "x",
        "pattern": "^x",
        "x-kubernetes-validations": [{"rule": "self != 'y'"}],
    }
    for _ in range(DEEPEST - 3):
        if step == "items":
            schema = {"type": "array", "items": schema}
        elif step == "properties":
            schema = {"type": "object", "properties": {"p": schema}}
        else:
            schema = {"type": "object", "additionalProperties": schema}
    start = time.process_time()
    on_create(definition(field(schema)))
    assert time.process_time() - start < 5
