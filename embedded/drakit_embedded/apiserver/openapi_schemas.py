"""OpenAPI schemas of kinds, made of the Go types that bodies are read by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drakit_api.schema import Schema, Shape, Type
from drakit_embedded.apiserver.registry import structures
from drakit_embedded.apiserver.registry.kinds import REVIEWS, Kind

Object = dict[str, Any]

_PACKAGE = "io.k8s.api"
_META_PACKAGE = "io.k8s.apimachinery.pkg.apis"
_SIMPLE: dict[Shape, Object] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "quantity": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "intorstring": {"type": "string", "format": "int-or-string"},
    "raw": {"type": "object"},
}


def of(kinds: Iterable[Kind]) -> dict[str, Object]:
    """The schemas of kinds and of everything in them, by name."""
    found: dict[str, Object] = {}
    for kind in kinds:
        if kind.plural not in REVIEWS:
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
    found[name] = {"type": "object", "properties": properties}
    for field in types.flat_fields(struct):
        properties[field.name] = _schema(types, field.type, found)


def _schema(types: Schema, kind: Type, found: dict[str, Object]) -> Object:
    if kind.shape == "struct":
        _collect(types, kind.struct, found)
        return {"allOf": [{"$ref": f"#/components/schemas/{_name(kind.struct)}"}], "default": {}}
    if kind.item is None:
        return _SIMPLE[kind.shape]
    below = _schema(types, kind.item, found)
    return (
        {"type": "array", "items": below} if kind.shape == "list" else {"type": "object", "additionalProperties": below}
    )


def _name(struct: str) -> str:
    """``core/v1.Pod`` as Kubernetes calls it: ``io.k8s.api.core.v1.Pod``."""
    package = _META_PACKAGE if struct.startswith("meta/") else _PACKAGE
    return f"{package}.{struct.replace('/', '.')}"
