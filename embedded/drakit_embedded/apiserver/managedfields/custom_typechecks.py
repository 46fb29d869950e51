"""Whether an applied configuration is one of a custom resource, in the words of structured-merge-diff.

sigs.k8s.io/structured-merge-diff/v6/typed/validate.go, on the types that k8s.io/kube-openapi/pkg/schemaconv makes of a
schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.structural.schema import UNSET, Structural
from drakit_embedded.apiserver.managedfields import shapes
from drakit_embedded.apiserver.managedfields.shapes import ABSENT, LEAF_SHAPE, Keyed, Values
from drakit_embedded.apiserver.managedfields.typechecks import (
    of_items,
    of_struct,
    said,
    scalar_fault,
    wrapped,
)
from drakit_embedded.apiserver.scheme import structures

_META = "meta/v1.ObjectMeta"
_STRING = Structural({}, type="string")
# The shapes by which ``typechecks`` words a wrong scalar; strings of a format may be any.
_SCALARS = {"integer": "int", "number": "int", "boolean": "bool", "string": "string"}
_ANY_SCALAR = "intorstring"


def faults(config: Object, schema: Structural) -> Iterator[str]:
    """Yield what is wrong with a configuration."""
    return _object(config, schema, "", keeps=schema.preserves_unknown, is_resource=True)


def _object(value: Object, schema: Structural, path: str, *, keeps: bool, is_resource: bool) -> Iterator[str]:
    for key, item in value.items():
        where = f"{path}.{key}"
        if is_resource and key == "metadata":
            yield from _metadata(item, where)
            continue
        below = _STRING if is_resource and key in ("kind", "apiVersion") else schema.properties.get(key)
        if below is None and not _takes(schema, keeps, is_resource):
            yield f"{where}: field not declared in schema"
            return
        below = below or (schema.additional if isinstance(schema.additional, Structural) else None)
        if below is not None:
            yield from _value(item, below, where, keeps=keeps)


def _takes(schema: Structural, keeps: bool, is_resource: bool) -> bool:
    """Check whether an object may have fields that are not named."""
    if schema.additional is not None:
        return bool(schema.additional)
    return keeps or not (schema.properties or is_resource)


def _metadata(value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield said(path, f"expected map, got {wrapped(value)}")
        return
    yield from of_struct(value, structures.others(), _META, shapes.object_meta(), path)


def _value(value: Any, schema: Structural, path: str, *, keeps: bool) -> Iterator[str]:
    keeps = keeps or schema.preserves_unknown
    if value is None:
        return
    if schema.type in _SCALARS:
        is_any = schema.type == "string" and schema.source.get("format") not in (None, "", "byte")
        wrong = scalar_fault(value, _ANY_SCALAR if is_any else _SCALARS[schema.type])
        if wrong:
            yield said(path, wrong)
    elif isinstance(value, dict) and schema.type != "array":
        yield from _object(value, schema, path, keeps=keeps, is_resource=schema.is_embedded)
    elif isinstance(value, list) and schema.type != "object":
        yield from _items(value, schema, path, keeps=keeps)
    elif schema.type:
        yield said(path, f"expected {'map' if schema.type == 'object' else 'list'}, got {wrapped(value)}")


def _items(value: list[Any], schema: Structural, path: str, *, keeps: bool) -> Iterator[str]:
    def below(item: Any, where: str) -> Iterator[str]:
        return iter(()) if schema.items is None else _value(item, schema.items, where, keeps=keeps)

    return of_items(value, _identity(schema), path, below)


def _identity(schema: Structural) -> Keyed | Values | None:
    """Find what tells the items of a list from each other; None if it is owned as a whole."""
    if schema.list_type == "set":
        return Values()
    if schema.list_type != "map" or schema.items is None:
        return None
    known = schema.items.properties
    defaults = {key: known[key].default if key in known else UNSET for key in sorted(schema.list_map_keys)}
    keys = tuple((key, ABSENT if default is UNSET else default) for key, default in defaults.items())
    return Keyed(keys, LEAF_SHAPE)
