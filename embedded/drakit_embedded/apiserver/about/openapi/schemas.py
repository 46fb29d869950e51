"""The schemas of types: made of the Go types that bodies are read by, and of what else Kubernetes says about them.

Which fields are required, which values they may have and so on is in ``facts.json``, which ``api/schema`` reads from a
real server's documents; it has the types that nothing here decodes as a whole. Shapes follow
k8s.io/kube-openapi/pkg/generators.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import schema
from drakit_api.objects.schema import Field, Schema, Shape, Type
from drakit_embedded.apiserver.about.openapi import descriptions
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind

# How versions 3 and 2 of OpenAPI refer to a type.
REFERENCE, DEFINITIONS = "#/components/schemas/", "#/definitions/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_META_PACKAGE, _PACKAGE = "io.k8s.apimachinery.pkg.apis.", "io.k8s.api."
# Packages of the two groups that come from other Kubernetes projects.
_FOREIGN = {
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}
_STRUCT = re.compile(r"([\w-]+)\.(v\w+)\.(\w+)$")
_SIMPLE: dict[Shape, Object] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "bytes": {"type": "string", "format": "byte"},
}
_ZEROS: dict[Shape, str | int | bool] = {"string": "", "int": 0, "bool": False}
# Types with decoders of their own have schemas of their own.
_SPECIAL: dict[Shape, str] = {
    "quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "time": f"{META}.Time",
    "microtime": f"{META}.MicroTime",
    "intorstring": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "raw": "io.k8s.apimachinery.pkg.runtime.RawExtension",
}
_FIELDS_V1 = ("meta/v1.ManagedFieldsEntry", "fieldsV1")


class Facts(msgspec.Struct, frozen=True):
    """What Kubernetes says about types beside their Go declarations: the content of ``facts.json``."""

    fields: dict[str, Object]
    definitions: dict[str, Object]
    # What parameters of the query mean, by ``NAME`` or ``NAME of SUBRESOURCE``.
    parameters: dict[str, str]


@functools.cache
def facts() -> Facts:
    """Read ``facts.json``, once."""
    raw = resources.files(__package__).joinpath("facts.json").read_bytes()
    return msgspec.json.decode(raw, type=Facts)


def name_of(kind: Kind) -> str:
    """Build the name of a kind's schema: ``io.k8s.api.core.v1.Pod``, ``com.example.stable.v1.CronTab``."""
    if kind.definition is not None:
        return f"{_reversed(kind.group)}.{kind.version}.{kind.kind}"
    if kind.group in _FOREIGN:
        return f"{_FOREIGN[kind.group]}.{kind.version}.{kind.kind}"
    return f"{_PACKAGE}{kind.group.partition('.')[0] or 'core'}.{kind.version}.{kind.kind}"


def list_name_of(kind: Kind) -> str:
    """Build the name of the schema of a kind's list."""
    if kind.definition is not None:
        return f"{_reversed(kind.group)}.{kind.version}.{kind.list_kind}"
    return f"{name_of(kind)}List"


def _reversed(group: str) -> str:
    return ".".join(reversed(group.split(".")))


def of(names: Iterable[str], kinds: Iterable[Kind]) -> dict[str, Object]:
    """Build the schemas of some types and of all types in them, by name; ``kinds`` get their group and version, too."""
    known = {name: kind for kind in kinds for name in (name_of(kind), name_of(kind) + "List")}
    found: dict[str, Object] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = described = _schema(name)
        if name in known:
            kind = known[name]
            listed = name.endswith("List") and not kind.kind.endswith("List")
            gvk = {"group": kind.group, "version": kind.version, "kind": kind.list_kind if listed else kind.kind}
            described["x-kubernetes-group-version-kind"] = [gvk]
        waiting += references(described)
    return dict(sorted(found.items()))


def references(value: Any) -> list[str]:
    """Collect the names of the types that a schema refers to."""
    if isinstance(value, list):
        return [name for entry in value for name in references(entry)]
    if not isinstance(value, dict):
        return []
    own = value.get("$ref")
    below = [name for entry in value.values() for name in references(entry)]
    return [own.removeprefix(REFERENCE), *below] if isinstance(own, str) else below


@functools.cache
def _made(name: str) -> bytes:
    match = _STRUCT.search(name)
    if match is None or name in facts().definitions:
        return msgspec.json.encode(_described(facts().definitions[name], match))
    package, version, kind = match.groups()
    struct = f"{package}/{version}.{kind}"
    table = _table(struct)
    if table is None:
        return msgspec.json.encode(_described(_list(name), match))
    return msgspec.json.encode(_described(_of_struct(table, struct), match))


def _schema(name: str) -> Object:
    """Decode a new copy of a type's schema: the caller may add to it."""
    made: Object = msgspec.json.decode(_made(name))
    return made


def _table(struct: str) -> Schema | None:
    for table in (schema.load(), structures.others()):
        if struct in table.structs:
            return table
    return None


def _described(made: Object, match: re.Match[str] | None) -> Object:
    if match is None:
        return made
    described = descriptions.of(*match.groups())
    properties = {
        field: {"description": described.fields[field], **entry} if field in described.fields else entry
        for field, entry in made.get("properties", {}).items()
    }
    text = {"description": described.text} if described.text else {}
    return {**text, **made, **({"properties": properties} if properties else {})}


def _list(name: str) -> Object:
    """Build the schema of a list kind: all have the same fields."""
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": REFERENCE + name.removesuffix("List")}},
            "kind": {"type": "string"},
            "metadata": {"default": {}, "allOf": [{"$ref": f"{REFERENCE}{META}.ListMeta"}]},
        },
    }


def _of_struct(table: Schema, struct: str) -> Object:
    fact = facts().fields.get(struct, {})
    said = fact.get("properties", {})
    fields = sorted(table.flat_fields(struct), key=lambda field: field.name)
    properties = {field.name: _said(_field(struct, field), said.get(field.name, {})) for field in fields}
    rest = {key: value for key, value in fact.items() if key != "properties"}
    return {"type": "object", **rest, **({"properties": properties} if properties else {})}


def _said(derived: Object, said: Object) -> Object:
    """Merge what Kubernetes says of a field and of its items into the schema that was derived from its Go type."""
    inside: Object = {key: {**derived[key], **said[key]} for key in ("items", "additionalProperties") if key in said}
    return {**derived, **said, **inside}


def _field(struct: str, field: Field) -> Object:
    kind = field.type
    if (struct, field.name) == _FIELDS_V1:
        return {"allOf": [{"$ref": f"{REFERENCE}{META}.FieldsV1"}]}
    described = _type(kind, inside=False)
    if "$ref" in described:
        described = {"allOf": [described]}
        if not kind.pointer and kind.shape == "struct":
            described["default"] = {}
    elif not kind.pointer and not field.omit and kind.shape in _ZEROS:
        described["default"] = _ZEROS[kind.shape]
    if field.strategy:
        described["x-kubernetes-patch-strategy"] = field.strategy
    if field.key:
        described["x-kubernetes-patch-merge-key"] = field.key
    if kind.shape == "list" and kind.list_type != "atomic":
        described["x-kubernetes-list-type"] = kind.list_type
        if kind.list_type == "map":
            described["x-kubernetes-list-map-keys"] = list(kind.keys)
    return described


def _type(kind: Type, *, inside: bool) -> Object:
    """Describe the type of a field or, ``inside`` a list or map, of each of its items."""
    if kind.shape == "struct":
        return {"$ref": f"{REFERENCE}{_struct_name(kind.struct)}"}
    if kind.shape in _SPECIAL:
        return {"$ref": f"{REFERENCE}{_SPECIAL[kind.shape]}"}
    if kind.item is None:
        simple = {**_SIMPLE[kind.shape]}
        if kind.shape == "int":
            simple["format"] = "int64" if kind.go == "int64" else "int32"
        return simple
    below = _type(kind.item, inside=True)
    return (
        {"type": "array", "items": below}
        if kind.shape == "list"
        else {
            "type": "object",
            "additionalProperties": below,
        }
    )


def _struct_name(struct: str) -> str:
    """Build the name of a Go struct's schema: ``core/v1.Pod`` is ``io.k8s.api.core.v1.Pod``."""
    return (_META_PACKAGE if struct.startswith("meta/") else _PACKAGE) + struct.replace("/", ".")
