"""The CEL types of a schema, with the sizes that its values can have at most.

Where a schema says nothing about a size, it follows from that of the largest request. Sources: ``k8s.io/apiserver``
v0.37 ``pkg/cel/common/schemas.go`` and ``pkg/cel/limits.go``, ``k8s.io/apiextensions-apiserver`` v0.37
``pkg/apiserver/schema/cel/model/schemas.go``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from drakit_api.cel.declared import Declared
from drakit_api.cel.values import types
from drakit_api.rules.names import escaped
from drakit_api.structural.schema import UNSET, Structural

REQUEST_SIZE: Final = 3 * 1024 * 1024
_TEXT_SIZE: Final = REQUEST_SIZE - 2  # without the quotation marks
_NAME_LENGTH: Final = 253
_DATE_SIZE: Final = 12

_BOOL, _DOUBLE = Declared("bool", types.BOOL, least_size=4), Declared("double", types.DOUBLE)
_INT = Declared("int", types.INT)
_DURATION = Declared("duration", types.DURATION, most=32, least_size=3)
_DATE = Declared("timestamp", types.TIMESTAMP, most=_DATE_SIZE, least_size=_DATE_SIZE)
_DATETIME = Declared("timestamp", types.TIMESTAMP, most=32, least_size=21)
_BY_FORMAT = {"duration": _DURATION, "date": _DATE, "date-time": _DATETIME}


def declared(schema: Structural, *, is_resource: bool) -> Declared | None:
    """Return the type of a value; None if expressions cannot see such values.

    ``is_resource`` is for the root of a custom resource, and of one that is embedded: its names and kind can be seen
    even if the schema does not say so.
    """
    if schema.int_or_string:
        most = _four_times(schema.source) if schema.source.get("maxLength") is not None else _TEXT_SIZE
        return Declared("dyn", types.DYN, most=most)
    if is_resource:
        schema = with_metadata(schema)
    match schema.type:
        case "array":
            return _list(schema)
        case "object":
            return _map(schema) if isinstance(schema.additional, Structural) else _object(schema)
        case "string":
            return _text(schema.source)
        case "boolean":
            return _BOOL
        case "number":
            return _DOUBLE
        case "integer":
            return _INT
    return None


def with_metadata(schema: Structural) -> Structural:
    """Add kind, apiVersion, metadata.name and metadata.generateName to a schema that does not have them all."""
    properties = schema.properties
    metadata = properties.get("metadata")
    inner = metadata.properties if metadata is not None else {}
    if (
        all(_is(properties.get(name), "string") for name in ("kind", "apiVersion"))
        and _is(metadata, "object")
        and all(_is(inner.get(name), "string") for name in ("name", "generateName"))
    ):
        return schema
    # What is generated at the end of a name is at least one character.
    names = {"name": _capped(inner.get("name"), _NAME_LENGTH), "generateName": _capped(inner.get("generateName"), 252)}
    added = {
        "kind": _STRING,
        "apiVersion": _STRING,
        "metadata": Structural(source={"type": "object"}, type="object", properties=names),
    }
    return dataclasses.replace(schema, properties={**properties, **added})


_STRING = Structural(source={"type": "string"}, type="string")


def _is(schema: Structural | None, kind: str) -> bool:
    return schema is not None and schema.type == kind


def _capped(schema: Structural | None, longest: int) -> Structural:
    length = schema.source.get("maxLength") if schema is not None else None
    source = {"type": "string", "maxLength": longest if length is None else min(length, longest)}
    return Structural(source=source, type="string")


def _list(schema: Structural) -> Declared | None:
    element = _part(schema.items)
    if element is None:
        return None
    most = schema.source.get("maxItems")
    if most is None:
        most = (REQUEST_SIZE - 2) // (element.least_size + 1)
    return Declared("list", types.list_of(element.type), most=max(most, 0), least_size=2, element=element)


def _map(schema: Structural) -> Declared | None:
    value = _part(schema.additional)
    if value is None:
        return None
    most = schema.source.get("maxProperties")
    if most is None:
        # Two quotation marks, a key of one character, colon and comma.
        most = (REQUEST_SIZE - 2) // (value.least_size + 6)
    kind = types.map_of(types.STRING, value.type)
    return Declared("map", kind, most=max(most, 0), least_size=2, element=value)


def _part(schema: Structural | bool | None) -> Declared | None:
    return declared(schema, is_resource=schema.is_embedded) if isinstance(schema, Structural) else None


def _object(schema: Structural) -> Declared:
    required = frozenset(schema.source.get("required") or ())
    fields, size = {}, 2
    for name, part in schema.properties.items():
        field = declared(part, is_resource=part.is_embedded)
        if field is None:
            continue
        if (name_there := escaped(name)) is not None:
            fields[name_there] = field
        # What has a default may be missing in a request.
        if name in required and (part.default is UNSET or part.default is None):
            size += len(name.encode()) + field.least_size + 4
    return Declared("object", types.struct("object"), least_size=size, fields=fields)


def _text(source: Mapping[str, Any]) -> Declared:
    kind = source.get("format") or ""
    if kind in _BY_FORMAT:
        return _BY_FORMAT[kind]
    length = source.get("maxLength")
    if kind == "byte":
        return Declared("bytes", types.BYTES, most=_TEXT_SIZE if length is None else max(length, 0), least_size=2)
    if length is not None:
        most = _four_times(source)
    elif choices := source.get("enum"):
        most = max((len(each.encode()) for each in choices if isinstance(each, str)), default=0)
    else:
        most = _TEXT_SIZE
    return Declared("string", types.STRING, most=most, least_size=2)


def _four_times(source: Mapping[str, Any]) -> int:
    """Return how many bytes a text of the greatest length has, as a character takes up to four."""
    return max(int(source["maxLength"]), 0) * 4
