"""OpenAPI schemas of kinds, made of the Go types that bodies are read by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drakit_api.schema import Schema, Shape, Type
from drakit_embedded.apiserver.registry import structures
from drakit_embedded.apiserver.registry.kinds import READ_ONLY, REVIEWS, Kind

Object = dict[str, Any]

_PACKAGE = "io.k8s.api"
_MACHINERY = "io.k8s.apimachinery.pkg"
_META_PACKAGE = f"{_MACHINERY}.apis"
_SIMPLE: dict[Shape, Object] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "bytes": {"type": "string", "format": "byte"},
}
# Types that decode themselves are schemas of their own.
_SPECIAL: dict[Shape, tuple[str, Object]] = {
    "quantity": ("api.resource.Quantity", {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    "time": ("apis.meta.v1.Time", {"type": "string", "format": "date-time"}),
    "microtime": ("apis.meta.v1.MicroTime", {"type": "string", "format": "date-time"}),
    "intorstring": (
        "util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "raw": ("runtime.RawExtension", {"type": "object"}),
}


def of(kinds: Iterable[Kind]) -> dict[str, Object]:
    """The schemas of kinds and of everything in them, by name."""
    found: dict[str, Object] = {}
    for kind in kinds:
        if kind.plural not in REVIEWS | READ_ONLY:
            types, struct = structures.types_of(kind)
            _collect(types, struct, found)
            gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
            found[_name(struct)]["x-kubernetes-group-version-kind"] = [gvk]
    return found


def _collect(types: Schema, struct: str, found: dict[str, Object]) -> None:
    name = _name(struct)
    if name in found:
        return
    properties: Object = {}
    schema = found[name] = {"type": "object", "properties": properties}
    required = []
    for field in types.flat_fields(struct):
        properties[field.name] = described = _schema(types, field.type, found)
        if field.strategy:
            described["x-kubernetes-patch-strategy"] = field.strategy
        if field.key:
            described["x-kubernetes-patch-merge-key"] = field.key
        if not field.omit and not field.type.pointer and field.type.shape != "struct":
            required.append(field.name)
    if required:
        schema["required"] = required


def _schema(types: Schema, kind: Type, found: dict[str, Object]) -> Object:
    if kind.shape == "struct":
        _collect(types, kind.struct, found)
        return {**_reference(_name(kind.struct)), "default": {}}
    if kind.shape in _SPECIAL:
        name, schema = _SPECIAL[kind.shape]
        found[f"{_MACHINERY}.{name}"] = schema
        return _reference(f"{_MACHINERY}.{name}")
    if kind.item is None:
        return {**_SIMPLE[kind.shape]}
    below = _schema(types, kind.item, found)
    return (
        {"type": "array", "items": below} if kind.shape == "list" else {"type": "object", "additionalProperties": below}
    )


def _reference(name: str) -> Object:
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}]}


def _name(struct: str) -> str:
    """``core/v1.Pod`` as Kubernetes calls it: ``io.k8s.api.core.v1.Pod``."""
    package = _META_PACKAGE if struct.startswith("meta/") else _PACKAGE
    return f"{package}.{struct.replace('/', '.')}"
