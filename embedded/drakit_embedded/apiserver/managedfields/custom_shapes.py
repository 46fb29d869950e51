"""The shapes of custom resources, from their schemas.

What a schema leaves open is looked at as it is found: objects key by key, lists as a whole.
k8s.io/kube-openapi/pkg/schemaconv/openapi.go.
"""

from __future__ import annotations

from typing import Any, Final

from drakit_api.structural.schema import UNSET, Structural
from drakit_embedded.apiserver.managedfields import shapes
from drakit_embedded.apiserver.managedfields.shapes import (
    ABSENT,
    LEAF_SHAPE,
    Field,
    Keyed,
    Map,
    Shape,
    Struct,
    Untyped,
    Values,
)


def _field(name: str, shape: Shape) -> Field:
    return Field(f"f:{name}", shape, ABSENT, False)


# The metadata of a new object is not new itself.
_NO_METADATA: Final[dict[str, Any]] = {}


def _deduced() -> Untyped:
    made = Untyped(LEAF_SHAPE)
    made.map = Map(made)
    return made


DEDUCED: Final = _deduced()


class _Open(dict[str, Field]):
    """The fields of an object that may have others, too, all of which look the same."""

    def __init__(self, known: dict[str, Field], others: Shape) -> None:
        super().__init__(known)
        self._others = others

    def get(self, name: str, default: Any = None) -> Any:
        """Find a field, which is there whatever its name."""
        found = super().get(name)
        return found if found is not None else _field(name, self._others)

    def __or__(self, other: dict[str, Field]) -> _Open:  # type: ignore[override]
        return _Open({**self, **other}, self._others)


def root_fields(schema: Structural) -> dict[str, Field]:
    """Build the fields of a custom resource."""
    found = _Compiler().fields(schema, keeps=schema.preserves_unknown, named=_of_resources())
    found["metadata"] = found["metadata"]._replace(zero=_NO_METADATA)
    return found


def _of_resources() -> dict[str, Shape]:
    return {"kind": LEAF_SHAPE, "apiVersion": LEAF_SHAPE, "metadata": shapes.object_meta()}


class _Compiler:
    """Compiles levels of a schema; below one that preserves unknown fields, all do (``keeps``)."""

    def fields(self, schema: Structural, *, keeps: bool, named: dict[str, Shape]) -> dict[str, Field]:
        found = {name: _field(name, self._shape(below, keeps)) for name, below in schema.properties.items()}
        found |= {name: _field(name, shape) for name, shape in named.items()}
        others = self._others(schema, keeps)
        return found if others is None else _Open(found, others)

    def _others(self, schema: Structural, keeps: bool) -> Shape | None:
        """Find the shape of fields that are not named; None if there may be none."""
        if isinstance(schema.additional, Structural):
            return self._shape(schema.additional, keeps)
        if schema.additional is not None:
            return DEDUCED if schema.additional else None
        return DEDUCED if keeps or not (schema.properties or schema.is_embedded) else None

    def _shape(self, schema: Structural, keeps: bool) -> Shape:
        keeps = keeps or schema.preserves_unknown
        if schema.type == "object":
            return self._object(schema, keeps)
        if schema.type == "array":
            return self._list(schema, keeps)
        if schema.type:
            return LEAF_SHAPE
        made = Untyped(self._list(schema, keeps))
        made.map = self._object(schema, keeps)
        return made

    def _object(self, schema: Structural, keeps: bool) -> Shape:
        if schema.map_type == "atomic":
            return LEAF_SHAPE
        named = _of_resources() if schema.is_embedded else {}
        if not schema.properties and not named and (others := self._others(schema, keeps)) is not None:
            return Map(others)
        return Struct(lambda: self.fields(schema, keeps=keeps, named=named))

    def _list(self, schema: Structural, keeps: bool) -> Shape:
        if schema.list_type == "set":
            return Values()
        if schema.list_type == "map" and schema.items is not None:
            keys = tuple((key, _default(schema.items, key)) for key in sorted(schema.list_map_keys))
            return Keyed(keys, self._shape(schema.items, keeps))
        return LEAF_SHAPE


def _default(item: Structural, key: str) -> Any:
    known = item.properties.get(key)
    return ABSENT if known is None or known.default is UNSET else known.default
