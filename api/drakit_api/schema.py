"""The Go types behind resource.k8s.io, as data: which fields there are, in which order, of which type.

Decoding, encoding and error messages of an API server depend on details that OpenAPI does not tell: the Go name of a
type (``cannot unmarshal string into Go struct field Device.spec.devices.allNodes of type bool``), the order of fields,
what is left out when empty, what is embedded. ``schema.json`` has them, printed from ``k8s.io/api`` v0.37.1 by
``api/schema``.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Literal, get_args

import msgspec

Shape = Literal["string", "bool", "int", "quantity", "time", "microtime", "raw", "struct", "list", "map"]
_SHAPES: dict[str, Shape] = {shape: shape for shape in get_args(Shape)}
_INTEGERS = {"int", "int32", "int64"}


class Type(msgspec.Struct, frozen=True):
    """A type of a field, list item or map value.

    ``go`` is its name in messages; ``struct`` names the fields' struct, ``item`` is what a list or map holds.
    """

    shape: Shape
    go: str
    pointer: bool = False
    struct: str = ""
    item: Type | None = None


class Field(msgspec.Struct, frozen=True):
    """One field. ``name`` is "" for an embedded struct; ``omit``: left out when empty."""

    name: str
    go: str
    type: Type
    omit: bool


class Schema(msgspec.Struct, frozen=True):
    """Kinds by version and name (the name of their struct), and structs by name."""

    kinds: dict[str, dict[str, str]]
    structs: dict[str, list[Field]]


class UnknownKind(LookupError):
    """No such kind in this version of resource.k8s.io."""


@functools.cache
def load() -> Schema:
    """All types; read once."""
    raw = msgspec.json.decode(resources.files("drakit_api").joinpath("schema.json").read_bytes())
    structs = {
        name: [Field(field["name"], field["go"], _type(field["type"]), field["omit"]) for field in fields]
        for name, fields in raw["structs"].items()
    }
    return Schema(raw["kinds"], structs)


def struct_of(kind: str, version: str = "v1") -> str:
    """The name of a kind's struct. Raises ``UnknownKind``."""
    try:
        return load().kinds[version][kind]
    except KeyError:
        raise UnknownKind(f"resource.k8s.io/{version} has no kind {kind}") from None


def fields_of(struct: str) -> list[Field]:
    """The fields of a struct, those of embedded structs in their place."""
    flat: list[Field] = []
    for field in load().structs[struct]:
        flat += [field] if field.name else fields_of(field.type.struct)
    return flat


def _type(description: object) -> Type:
    if isinstance(description, str):
        return Type(_shape(description), description)
    assert isinstance(description, dict)
    if "pointer" in description:
        return msgspec.structs.replace(_type(description["pointer"]), pointer=True)
    go = description["go"]
    if "list" in description:
        return Type("list", go, item=_type(description["list"]))
    if "map" in description:
        return Type("map", go, item=_type(description["map"]))
    if "struct" in description:
        return Type("struct", go, struct=description["struct"])
    return Type(_shape(description["scalar"]), go)


def _shape(name: str) -> Shape:
    return "int" if name in _INTEGERS else _SHAPES[name]
