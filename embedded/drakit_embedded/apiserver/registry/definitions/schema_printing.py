"""Schemas as kube-apiserver's internal type prints them, which some messages about definitions do.

That type has no JSON tags: every field stands there under its Go name, unset ones as null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drakit_api.golang.gostrings import printable
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.definitions.schema_fields import (
    DOCUMENTATION_FIELDS,
    FIELDS,
    RULE_FIELDS,
    Field,
    Shape,
)

_ZEROS: dict[str, Any] = {"string": "", "bool": False}


def printed(schema: Object) -> Object:
    """Convert a schema to its internal form, ready to be written as JSON."""
    return _struct(schema, FIELDS)


def printed_rule(rule: Object) -> Object:
    """Convert a validation rule to its internal form."""
    return _struct(rule, RULE_FIELDS)


def printed_items(items: Object | list[Object] | None) -> Object:
    """Convert the schema of items, or what is written in its place."""
    several = [printed(each) for each in items] if isinstance(items, list) else None
    return {"Schema": printed(items) if isinstance(items, dict) else None, "JSONSchemas": several}


def _struct(value: Object, fields: tuple[Field, ...]) -> Object:
    return {field.go: _value(value, field) for field in fields}


def _value(struct: Object, field: Field) -> Any:
    value = struct.get(field.name)
    if value is None and not (field.shape == "schema or list" and field.name in struct):
        return None if field.pointer else _ZEROS.get(field.shape)
    show = _PRINTERS.get(field.shape)
    return value if show is None else show(value)


def _named(value: dict[str, Object]) -> Object:
    return {key: printed(value[key]) for key in sorted(value)}


def _schema_or_bool(value: Object | bool) -> Object:
    schema = printed(value) if isinstance(value, dict) else None
    return {"Allows": schema is not None or value, "Schema": schema}


def _dependency(value: Any) -> Object:
    return {
        "Schema": printed(value) if isinstance(value, dict) else None,
        "Property": value if isinstance(value, list) else None,
    }


_PRINTERS: Mapping[Shape, Callable[[Any], Any]] = {
    "json": printable,
    "jsons": printable,
    "float64": printable,
    "schema": printed,
    "schemas": lambda value: [printed(each) for each in value],
    "named": _named,
    "rules": lambda value: [printed_rule(each) for each in value],
    "documentation": lambda value: _struct(value, DOCUMENTATION_FIELDS),
    "schema or list": printed_items,
    "schema or bool": _schema_or_bool,
    "named schemas or strings": lambda value: {key: _dependency(value[key]) for key in sorted(value)},
}
