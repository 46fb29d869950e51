"""What server-side apply knows of a kind: which values are leaves, and what tells the items of a list from each other.

Compiled from the Go types (``structures.types_of``) one struct at a time, when it is first met, or for custom resources
from their schemas (``custom_shapes``). There are two ways to look at an object, as there are in Kubernetes: *typed*, as
its Go type shows it (what is empty and may be left out is absent, what may not is there as zero), and *plain*, as the
JSON of an applied configuration is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from drakit_api.objects import schema
from drakit_api.objects.schema import Schema, Type
from drakit_embedded.apiserver.managedfields import elements
from drakit_embedded.apiserver.managedfields.completion import zero_of
from drakit_embedded.apiserver.managedfields.fieldsets import LEAF, Tree
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind

if TYPE_CHECKING:
    from drakit_api.structural.schema import Structural

# An absent value; null is a value.
ABSENT: Final[Any] = object()
# k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go; what of it no type has is left out. Typed objects
# are not even asked for these; of plain ones they are taken away at the end, because pruning needs them.
_NEVER_OWNED = frozenset(
    {"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion"}
)
_TYPE_META = frozenset({"kind", "apiVersion"})
NEVER_OWNED: Final[Tree] = {
    **{f"f:{name}": LEAF for name in sorted(_TYPE_META)},
    "f:metadata": {elements.SELF: LEAF, **{f"f:{name}": LEAF for name in sorted(_NEVER_OWNED)}},
}


class Leaf:
    """A scalar, or something that is owned as a whole.

    ``typed`` is the Go type of a list, map, struct or embedded object with its table; None for scalars and plain JSON.
    """

    __slots__ = ("typed",)

    def __init__(self, typed: tuple[Schema, Type] | None = None) -> None:
        self.typed = typed


class Field(NamedTuple):
    """A field of a struct."""

    # "" for fields that nobody ever owns, in typed objects.
    element: str
    shape: Shape
    # The value of an absent key; ``ABSENT`` if there is none.
    zero: Any
    # Whether an empty value counts as absent.
    omits_empty: bool


class Struct:
    """An object with known fields, each owned by itself."""

    __slots__ = ("_compile", "_fields", "_zeros")

    def __init__(self, compile_fields: Callable[[], dict[str, Field]]) -> None:
        self._compile: Callable[[], dict[str, Field]] | None = compile_fields
        self._fields: dict[str, Field] = {}
        self._zeros: list[tuple[str, str, Tree]] | None = None

    @property
    def fields(self) -> dict[str, Field]:
        """The fields by name."""
        if self._compile is not None:
            self._fields, self._compile = self._compile(), None
        return self._fields

    @property
    def zeros(self) -> list[tuple[str, str, Tree]]:
        """Name, element and field set of each field that is always there, with its zero value."""
        if self._zeros is None:
            always = [(name, field) for name, field in self.fields.items() if field.zero is not ABSENT]
            self._zeros = [(name, field.element, _zero_set(field.shape)) for name, field in always if field.element]
        return self._zeros


class Map:
    """An object with any keys, each owned by itself."""

    __slots__ = ("item",)

    def __init__(self, item: Shape) -> None:
        self.item = item


class Keyed:
    """A list of objects that are told apart by some of their fields: their names in order, with their defaults."""

    __slots__ = ("item", "keys")

    def __init__(self, keys: tuple[tuple[str, Any], ...], item: Shape) -> None:
        self.keys, self.item = keys, item

    def element(self, item: Any) -> str:
        """Write the step to an item. A key that it lacks, and that has no default, is left out."""
        found = [(name, value) for name, default in self.keys if (value := item.get(name, default)) is not ABSENT]
        return elements.of_keys(found)


class Values:
    """A list of different values, a set."""

    __slots__ = ("item",)

    def __init__(self) -> None:
        self.item = LEAF_SHAPE

    def element(self, item: Any) -> str:
        """Write the step to an item."""
        return elements.of_value(item)


class Untyped:
    """A value whose schema does not say what it is: objects and lists have a shape each, all else is a leaf."""

    __slots__ = ("_list", "map")

    def __init__(self, listed: Shape) -> None:
        # Set by who makes it, as it may refer to itself.
        self.map: Shape = LEAF_SHAPE
        self._list = listed

    def of(self, value: Any) -> Shape:
        """Find the shape of a value."""
        return self.map if isinstance(value, dict) else self._list if isinstance(value, list) else LEAF_SHAPE


Shape = Leaf | Struct | Map | Keyed | Values | Untyped
LEAF_SHAPE: Final = Leaf()


def _zero_set(shape: Shape) -> Tree:
    zeros = shape.zeros if isinstance(shape, Struct) else []
    return {elements.SELF: LEAF, **{element: below for _, element, below in zeros}} if zeros else LEAF


def typed(kind: Kind, api_version: str) -> Struct:
    """Build the shape of a kind in one of its versions as its Go type shows it; that of a custom resource as JSON.

    Raises:
        LookupError: if there is no such version.
    """
    if kind.definition is not None:
        return _custom(kind, api_version, as_typed=True)
    return _root(api_version, kind.kind, as_typed=True)


def plain(kind: Kind, api_version: str) -> Struct:
    """Build the shape of a kind in one of its versions as JSON."""
    if kind.definition is not None:
        return _custom(kind, api_version, as_typed=False)
    return _root(api_version, kind.kind, as_typed=False)


def _custom(kind: Kind, api_version: str, *, as_typed: bool) -> Struct:
    # Imported here, as most clusters have no custom resources.
    from drakit_embedded.apiserver.managedfields import custom_shapes

    assert kind.definition is not None
    group, _, version = api_version.rpartition("/")
    if group != kind.group:
        raise LookupError(api_version)

    def shape(schema: Structural) -> Struct:
        fields = custom_shapes.root_fields(schema)
        return Struct(lambda: _as_typed(fields) if as_typed else fields)

    found: Struct = kind.definition.versions[version].compiled("typed shape" if as_typed else "plain shape", shape)
    return found


@functools.cache
def _root(api_version: str, kind: str, *, as_typed: bool) -> Struct:
    types, struct = structures.types_named(api_version, kind)
    compiler = _Compiler(types, as_typed)
    return Struct(lambda: compiler.root_fields(struct))


class _Compiler:
    """Compiles types to shapes, each struct once."""

    def __init__(self, types: Schema, as_typed: bool) -> None:
        self._types, self._typed = types, as_typed
        self._structs: dict[str, Struct] = {}

    def root_fields(self, struct: str) -> dict[str, Field]:
        return _as_typed(self._fields(struct)) if self._typed else self._fields(struct)

    def _fields(self, struct: str) -> dict[str, Field]:
        return {field.name: self._field(field) for field in self._types.flat_fields(struct)}

    def _field(self, field: schema.Field) -> Field:
        kind, shape = field.type, self._shape(field.type)
        if not self._typed:
            return Field(f"f:{field.name}", shape, ABSENT, False)
        zero = ABSENT if field.omit else zero_of(kind)
        omits_empty = field.omit and not kind.pointer and kind.shape not in ("quantity", "raw", "intorstring")
        return Field(f"f:{field.name}", shape, zero, omits_empty)

    def _shape(self, kind: Type) -> Shape:
        if kind.shape == "struct" and not kind.atomic:
            return self.struct_shape(kind.struct)
        if kind.shape == "map" and not kind.atomic and kind.item is not None:
            return Map(self._shape(kind.item))
        if kind.list_type == "set":
            return Values()
        if kind.list_type == "map" and kind.item is not None:
            return Keyed(self._keys(kind), self._shape(kind.item))
        whole = self._typed and (kind.shape in ("struct", "raw") or kind.item is not None)
        return Leaf((self._types, kind)) if whole else LEAF_SHAPE

    def struct_shape(self, struct: str) -> Struct:
        if struct not in self._structs:
            self._structs[struct] = Struct(lambda: self._fields(struct))
        return self._structs[struct]

    def _keys(self, kind: Type) -> tuple[tuple[str, Any], ...]:
        assert kind.item is not None
        fields = {field.name: field for field in self._types.flat_fields(kind.item.struct)}
        return tuple((key, _default(fields[key])) for key in sorted(kind.keys))


def _as_typed(fields: dict[str, Field]) -> dict[str, Field]:
    """Take the type and what nobody ever owns of the metadata out of the fields of a root."""
    metadata = fields["metadata"].shape
    assert isinstance(metadata, Struct)
    owned = {
        name: field._replace(element="", shape=LEAF_SHAPE) if name in _NEVER_OWNED else field
        for name, field in metadata.fields.items()
    }
    nobody = {name: Field("", LEAF_SHAPE, ABSENT, False) for name in _TYPE_META}
    return fields | nobody | {"metadata": fields["metadata"]._replace(shape=Struct(lambda: owned))}


def object_meta() -> Struct:
    """Build the shape of metadata as JSON."""
    return _Compiler(structures.others(), False).struct_shape("meta/v1.ObjectMeta")


def _default(field: schema.Field) -> Any:
    """Find the value of a key that an item does not have: the schema gives fields that are always there their zero."""
    if field.default is not None:
        return field.default
    return ABSENT if field.omit or field.type.pointer else zero_of(field.type)
