"""Schemas are read as Go reads them, which is stricter in some places than in others."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.decoding import DecodeError
from drakit_embedded.apiserver.registry.definitions.schema_reading import DEEPEST, SchemaReader, TooDeepError


def _read(schema: Any) -> tuple[Object, SchemaReader]:
    reader = SchemaReader("schema", "schema")
    return reader.read(schema), reader


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"type": "", "nullable": False, "required": [], "properties": {}}, {}),
        ({"default": None, "minimum": None, "items": None}, {}),
        ({"default": 0, "maxLength": 0, "x-kubernetes-list-type": ""},) * 2,
        ({"minimum": 1.0, "maximum": 1e3, "multipleOf": 0.5}, {"minimum": 1, "maximum": 1000, "multipleOf": 0.5}),
        ({"enum": [None, 2.0, 2**70]}, {"enum": [None, 2, float(2**70)]}),
        (
            {"x-kubernetes-validations": [{"message": "m"}, None]},
            {"x-kubernetes-validations": [{"rule": "", "message": "m"}, {"rule": ""}]},
        ),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"properties": {"a": None}}, {"properties": {"a": {}}}),
        ({"items": "x"}, {"items": None}),
    ],
)
def test_what_is_stored_of_a_schema(sent: Any, read: Any) -> None:
    found, reader = _read(sent)
    assert (found, reader.complaints, reader.wrong_type) == (read, [], None)


@pytest.mark.parametrize(
    ("sent", "unknown"),
    [
        ({"odd": 1}, ["schema.odd"]),
        ({"properties": {"a": {"odd": 1}}}, ["schema.properties.a.odd"]),
        ({"anyOf": [{}, {"odd": 1}]}, ["schema.anyOf[1].odd"]),
        ({"x-kubernetes-validations": [{"odd": 1}]}, ["schema.x-kubernetes-validations[0].odd"]),
        # These decode themselves, and are not told to be strict.
        ({"items": {"odd": 1, "properties": {"a": {"odd": 1}}}}, []),
        ({"additionalProperties": {"odd": 1}}, []),
    ],
)
def test_unknown_fields(sent: Any, unknown: list[str]) -> None:
    found, reader = _read(sent)
    assert reader.complaints == [("unknown", path) for path in unknown]
    assert "odd" not in str(found)


@pytest.mark.parametrize(
    ("sent", "found", "struct", "field", "wanted"),
    [
        ([], "array", "CustomResourceValidation", "", "v1.JSONSchemaProps"),
        ({"type": ["string"]}, "array", "JSONSchemaProps", ".type", "string"),
        ({"properties": {"a": {"maxLength": 1.5}}}, "number 1.5", "JSONSchemaProps", ".properties.maxLength", "int64"),
        ({"externalDocs": {"url": 1}}, "number", "ExternalDocumentation", ".externalDocs.url", "string"),
    ],
)
def test_wrong_types(sent: Any, found: str, struct: str, field: str, wanted: str) -> None:
    problem = f"json: cannot unmarshal {found} into Go struct field {struct}.schema{field} of type {wanted}"
    assert _read(sent)[1].wrong_type == problem


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (
            {"items": {"type": 1}},
            "json: cannot unmarshal number into Go struct field JSONSchemaProps.schema.items.type of type string",
        ),
        ({"additionalProperties": 1}, "boolean or JSON schema expected"),
    ],
)
def test_wrong_types_in_what_decodes_itself_end_everything(sent: Any, problem: str) -> None:
    with pytest.raises(DecodeError) as raised:
        _read(sent)
    assert str(raised.value) == problem


@pytest.mark.parametrize("keyword", ["items", "not", "default"])
def test_depth_has_a_limit(keyword: str) -> None:
    schema: Object = {}
    for _ in range(DEEPEST):
        schema = {keyword: schema}
    _read(schema)
    with pytest.raises(TooDeepError):
        _read({keyword: {keyword: schema}})
