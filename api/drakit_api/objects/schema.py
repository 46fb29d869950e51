"""The Go types behind kinds, as data: which fields there are, in which order, of which type.

Decoding, encoding and error messages of an API server depend on details that OpenAPI does not tell: the Go name of a
type (``cannot unmarshal string into Go struct field Device.spec.devices.allNodes of type bool``), the order of fields,
what is left out when empty, what is embedded. How lists and maps are merged (markers such as ``+listType=map``) stands
here as well. ``schema.json`` has all that for resource.k8s.io, printed from ``k8s.io/api`` v0.37.1 by ``api/schema``;
other tables of the same program are read with ``Schema``.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from importlib import resources
from typing import Literal, get_args

import msgspec

GROUP = "resource.k8s.io"

Shape = Literal[
    "string", "bool", "int", "quantity", "time", "microtime", "bytes", "intorstring", "raw", "struct", "list", "map"
]
ListType = Literal["atomic", "set", "map"]
_SHAPES: dict[str, Shape] = {shape: shape for shape in get_args(Shape)}
_INTEGERS = {"int", "int32", "int64"}


class Type(msgspec.Struct, frozen=True):
    """A type of a field, list item or map value.

    ``go`` is its name in messages; ``struct`` names the fields' struct, ``item`` is what a list or map holds. For
    server-side apply, ``list_type`` and ``keys`` are the markers ``+listType`` and ``+listMapKey`` of a list, and
    ``atomic`` is ``+mapType=atomic`` or ``+structType=atomic`` of a map or struct.
    """

    shape: Shape
    go: str
    pointer: bool = False
    struct: str = ""
    item: Type | None = None
    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    atomic: bool = False


class Field(msgspec.Struct, frozen=True):
    """One field. ``name`` is "" for an embedded struct; ``omit``: left out when empty.

    ``strategy`` and ``key`` say how a strategic merge patch merges it (tags ``patchStrategy``, ``patchMergeKey``);
    ``default`` is the marker ``+default``, or None.
    """

    name: str
    go: str
    type: Type
    omit: bool
    strategy: str = ""
    key: str = ""
    default: str | int | None = None


class _Table(msgspec.Struct, frozen=True):
    kinds: dict[str, dict[str, str]]
    structs: dict[str, msgspec.Raw]


class Schema:
    """Kinds by version and name (the name of their struct), and the fields of structs, read when first asked for."""

    def __init__(self, raw: bytes) -> None:
        table = msgspec.json.decode(raw, type=_Table)
        self.kinds = table.kinds
        self._raw = table.structs
        self._fields: dict[str, list[Field]] = {}

    @property
    def structs(self) -> Collection[str]:
        """The names of all structs."""
        return self._raw.keys()

    def fields(self, struct: str) -> list[Field]:
        """List the fields of a struct as Go has them, embedded structs as fields of their own."""
        found = self._fields.get(struct)
        if found is None:
            described = msgspec.json.decode(self._raw[struct])
            found = [Field(**{**field, "type": _type(field["type"])}) for field in described]
            self._fields[struct] = found
        return found

    def flat_fields(self, struct: str) -> list[Field]:
        """List the fields of a struct as JSON has them: those of embedded structs in their place."""
        flat: list[Field] = []
        for field in self.fields(struct):
            flat += [field] if field.name else self.flat_fields(field.type.struct)
        return flat


class UnknownKind(LookupError):
    """No such kind in this version of resource.k8s.io."""


@functools.cache
def load() -> Schema:
    """Load the types of resource.k8s.io; they are read once."""
    return Schema(resources.files(__package__).joinpath("schema.json").read_bytes())


def struct_of(kind: str, version: str = "v1") -> str:
    """Return the name of a kind's struct, such as ``resource/v1.DeviceClass``. Raises ``UnknownKind``."""
    try:
        return load().kinds[version][kind]
    except KeyError:
        raise UnknownKind(f"{GROUP}/{version} has no kind {kind}") from None


def fields_of(struct: str) -> list[Field]:
    """List the fields of a struct of resource.k8s.io, those of embedded structs in their place."""
    return load().flat_fields(struct)


def _type(description: object) -> Type:
    if isinstance(description, str):
        return Type(_shape(description), description)
    assert isinstance(description, dict)
    if "pointer" in description:
        return msgspec.structs.replace(_type(description["pointer"]), pointer=True)
    go = description["go"]
    if "list" in description:
        list_type, keys = description.get("listType", "atomic"), tuple(description.get("keys", ()))
        return Type("list", go, item=_type(description["list"]), list_type=list_type, keys=keys)
    atomic = "atomic" in description
    if "map" in description:
        return Type("map", go, item=_type(description["map"]), atomic=atomic)
    if "struct" in description:
        return Type("struct", go, struct=description["struct"], atomic=atomic)
    return Type(_shape(description["scalar"]), go)


def _shape(name: str) -> Shape:
    return "int" if name in _INTEGERS else _SHAPES[name]
