"""The schemas of a merged definition as their Go types get them, like all else by ``drakit_api.objects.restoring``.

Below what decodes itself, such as ``items``, a schema is written as JSON and read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import restoring
from drakit_embedded.apiserver.registry.definitions.schema_fields import (
    DOCUMENTATION_FIELDS,
    FIELDS,
    RULE_FIELDS,
    Field,
)
from drakit_embedded.apiserver.registry.definitions.schema_reading import DEEPEST

_SCHEMA = "openAPIV3Schema"


def restored(crd: Object) -> Object:
    """Return a definition with schemas that have the numbers of their Go types; the given one is not changed.

    Raises:
        RestoreError: for the first value of a wrong type.
    """
    spec = crd.get("spec") or {}
    versions = [_version(version) for version in spec.get("versions") or ()]
    return {**crd, "spec": {**spec, "versions": versions}} if versions else crd


def _version(version: Any) -> Any:
    validated = (version or {}).get("schema") or {}
    if validated.get(_SCHEMA) is None:
        return version
    return {**version, "schema": {**validated, _SCHEMA: _struct(validated[_SCHEMA], FIELDS, 1)}}


def _struct(value: Any, fields: Iterable[Field], depth: int) -> Any:
    if depth > DEEPEST:
        # To be refused by who reads it.
        return value
    value = restoring.shaped(value, dict, "struct from:")
    found = {field.name: _value(value[field.name], field, depth) for field in fields if field.name in value}
    return {**value, **found}


def _value(item: Any, field: Field, depth: int) -> Any:
    if item is None:
        return None
    scalar = _SCALARS.get(field.shape)
    if scalar is not None:
        return scalar(item, field.go_type)
    match field.shape:
        case "documentation":
            return _struct(item, DOCUMENTATION_FIELDS, depth)
        case "schema":
            return _struct(item, FIELDS, depth + 1)
        case "named":
            items = restoring.shaped(item, dict, "map from").items()
            return {key: each if each is None else _struct(each, FIELDS, depth + 1) for key, each in items}
        case "strings" | "jsons" | "rules" | "schemas":
            items = restoring.shaped(item, list, "slice from")
            return [each if each is None else _item(each, field, depth) for each in items]
        case _:
            return restoring.written_again(item)


def _item(item: Any, field: Field, depth: int) -> Any:
    match field.shape:
        case "strings":
            return restoring.text(item, "string")
        case "rules":
            return _struct(item, RULE_FIELDS, depth)
        case "schemas":
            return _struct(item, FIELDS, depth + 1)
        case _:
            return restoring.written_again(item)


def _float(item: Any, go: str) -> Any:
    if isinstance(item, bool) or not isinstance(item, int | float):
        raise restoring.RestoreError(f"unrecognized type: {go}")
    return item


def _flag(item: Any, _: str) -> bool:
    return restoring.flag(item)


_SCALARS: Mapping[str, Callable[[Any, str], Any]] = {
    "string": restoring.text,
    "bool": _flag,
    "int64": restoring.integer,
    "float64": _float,
}
