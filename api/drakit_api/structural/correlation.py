"""What a part of a custom resource was before an update.

Errors about what has not changed are not reported, and transition rules compare a value with its old one. Both need to
know which old value belongs to which new one: that of the same field, or of the list's item with the same keys; items
of other lists belong to none. Source: ``k8s.io/apiserver`` v0.37.1 ``pkg/cel/common/{equality,maplist}.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drakit_api.structural.same_values import same
from drakit_api.structural.schema import Structural

_Key = tuple[tuple[type, Any], ...]


class Correlation:
    """A new value with the old one that it corresponds to."""

    __slots__ = ("_children", "_equal", "_items", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Structural) -> None:
        self.new, self.old, self.schema = new, old, schema
        self._equal: bool | None = None
        self._items: Mapping[_Key, Any] | None = None
        self._children: dict[str | int, Correlation | None] = {}

    def key(self, name: str) -> Correlation | None:
        """Correlate a field; None if it is not in both objects, or not in the schema."""
        if name not in self._children:
            self._children[name] = self._field(name)
        return self._children[name]

    def _field(self, name: str) -> Correlation | None:
        if not isinstance(self.new, dict) or not isinstance(self.old, dict):
            return None
        schema = self.schema.properties.get(name) or self.schema.additional
        if name not in self.new or name not in self.old or not isinstance(schema, Structural):
            return None
        return Correlation(self.new[name], self.old[name], schema)

    def index(self, place: int) -> Correlation | None:
        """Correlate an item; None if the list has no keys, or no old item has the same."""
        if place not in self._children:
            self._children[place] = self._item(place)
        return self._children[place]

    def _item(self, place: int) -> Correlation | None:
        if self.schema.list_type != "map" or not isinstance(self.new, list) or not isinstance(self.old, list):
            return None
        keys = _keys(self.new[place], self.schema.list_map_keys)
        if keys is None or self.schema.items is None:
            return None
        if self._items is None:
            self._items = _by_keys(self.old, self.schema.list_map_keys)
        old = self._items.get(keys)
        return None if old is None else Correlation(self.new[place], old, self.schema.items)

    def is_equal(self) -> bool:
        """Tell whether nothing has changed; the order of items with keys does not count, unknown fields do."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(_is_equal(self.key(name)) for name in new)
        if isinstance(new, list) and isinstance(old, list):
            if self.schema.list_type != "map":
                return same(new, old)
            return len(new) == len(old) and all(_is_equal(self.index(place)) for place in range(len(new)))
        return same(new, old)


def _is_equal(child: Correlation | None) -> bool:
    return child is not None and child.is_equal()


def _by_keys(items: Iterable[Any], names: tuple[str, ...]) -> Mapping[_Key, Any]:
    """Map the items of a list by their keys; of several the first counts, and what has none is left out."""
    found: dict[_Key, Any] = {}
    for item in items:
        keys = _keys(item, names)
        if keys is not None:
            found.setdefault(keys, item)
    return found


def _keys(item: Any, names: tuple[str, ...]) -> _Key | None:
    """Return the keys of an item with their types; None if one lacks or is no scalar."""
    if not isinstance(item, dict) or not names:
        return None
    values = [item.get(name) for name in names]
    if any(value is None or isinstance(value, dict | list) for value in values):
        return None
    return tuple((type(value), value) for value in values)
