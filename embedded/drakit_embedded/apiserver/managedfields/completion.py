"""Objects with everything that their Go types show: what is empty and may be left out is out, all else is there.

What an applied configuration is put over is such an object.
sigs.k8s.io/structured-merge-diff/v6/value/structreflect.go.
"""

from __future__ import annotations

import functools
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.raw_extensions import same_value
from drakit_api.objects.schema import Schema, Type
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind

_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int": 0, "quantity": "0", "intorstring": 0, "struct": {}}
_ALWAYS_SHOWN = ("struct", "quantity", "raw", "intorstring")


def completed(obj: Object, kind: Kind, api_version: str) -> Object:
    """Complete an object of a version of a kind, and set its ``kind`` and ``apiVersion``; custom ones have no types."""
    named = {**obj, "kind": kind.kind, "apiVersion": api_version}
    if kind.definition is not None:
        found = {**named, "metadata": dict(obj.get("metadata") or {})}
    else:
        found = _struct(named, *structures.types_named(api_version, kind.kind))
    # managedFields are not merged themselves.
    found["metadata"].pop("managedFields", None)
    return found


def zero_of(kind: Type) -> Any:
    """Find the Go zero value of a type: what a field is if nobody has set it."""
    return None if kind.pointer else _ZEROS.get(kind.shape)


def same(one: Any, other: Any, types: Schema, kind: Type, *, in_list: bool = False) -> bool:
    """Check whether two values are the same to their Go type.

    In lists, Kubernetes compares Go values as they are, so that there an empty list is not the same as none.
    """
    return one == other or alike(one, other, types, kind, in_list=in_list)


def alike(one: Any, other: Any, types: Schema, kind: Type, *, in_list: bool = False) -> bool:
    """Compare values that differ as JSON: whether they are the same to their Go type."""
    if kind.shape == "raw":
        return not in_list and same_value(one, other)
    if kind.shape == "struct":
        return _same_fields(one, other, types, kind.struct, in_list)
    if kind.item is None or not one or not other or len(one) != len(other):
        return False
    item = kind.item
    if kind.shape == "list":
        return all(same(left, right, types, item, in_list=True) for left, right in zip(one, other, strict=True))
    return all(key in other and same(value, other[key], types, item, in_list=in_list) for key, value in one.items())


def _same_fields(one: Any, other: Any, types: Schema, struct: str, in_list: bool) -> bool:
    if one is None or other is None:
        return False
    for name, kind, omits, omits_empty in _fields(types, struct):
        left, right = one.get(name), other.get(name)
        exact = in_list and kind.item is not None
        if left == right or (omits_empty and not exact and not left and not right):
            continue
        if not omits:
            left, right = (zero_of(kind) if value is None else value for value in (left, right))
        if left is None or right is None or not same(left, right, types, kind, in_list=in_list):
            return False
    return True


def _value(value: Any, types: Schema, kind: Type) -> Any:
    if value is None:
        value = zero_of(kind)
    if kind.shape == "struct":
        return None if value is None else _struct(value, types, kind.struct)
    if not value or kind.item is None:
        return value
    if kind.shape == "list":
        return [_value(item, types, kind.item) for item in value]
    return {key: _value(item, types, kind.item) for key, item in value.items()}


def _struct(obj: Object, types: Schema, struct: str) -> Object:
    shown = {}
    for name, kind, omits, omits_empty in _fields(types, struct):
        value = obj.get(name)
        if not ((omits and value is None) or (omits_empty and not value)):
            shown[name] = _value(value, types, kind)
    return shown


@functools.cache
def _fields(types: Schema, struct: str) -> list[tuple[str, Type, bool, bool]]:
    return [
        (
            field.name,
            field.type,
            field.omit,
            field.omit and not field.type.pointer and field.type.shape not in _ALWAYS_SHOWN,
        )
        for field in types.flat_fields(struct)
    ]
