"""Which lists a strategic merge patch merges item by item, and what identifies an item.

JSON does not say it: it stands in tags of the Go types (``patchStrategy``, ``patchMergeKey``), which ``api/schema``
prints. Lists without these tags are replaced as a whole.
"""

from __future__ import annotations

import functools
from typing import Final

from drakit_api.objects.schema import Schema, Type
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind

# The merge key of a list that is a set of values.
SET: Final = ""


class Node:
    """A value: how it is merged if it is a list (by ``key``; None: replaced as a whole), and the fields below."""

    __slots__ = ("_children", "_type", "_types", "key")

    def __init__(self, types: Schema | None = None, kind: Type | None = None, key: str | None = None) -> None:
        self._types, self._type, self.key = types, kind, key
        self._children: dict[str, Node] | None = None

    def child(self, name: str) -> Node:
        """Find the node of a field below; one that merges no lists if the field is not known."""
        if self._types is None or self._type is None:
            return PLAIN
        if self._type.shape == "map" and self._type.item is not None:
            return Node(self._types, self._type.item)
        if self._children is None:
            self._children = _children(self._types, self._type)
        return self._children.get(name, PLAIN)

    @property
    def item(self) -> Node:
        """The node of each item of a list."""
        return Node(self._types, self._type)


PLAIN: Final = Node()


def _children(types: Schema, kind: Type) -> dict[str, Node]:
    if kind.shape != "struct":
        return {}
    found = {}
    for field in types.flat_fields(kind.struct):
        below = field.type.item if field.type.shape == "list" else field.type
        key = field.key if "merge" in field.strategy.split(",") and field.type.shape == "list" else None
        found[field.name] = Node(types, below, key)
    return found


def of(kind: Kind) -> Node:
    """Build the node of a kind's root; custom resources take no strategic merge patches."""
    return _of(kind) if kind.definition is None else PLAIN


@functools.cache
def _of(kind: Kind) -> Node:
    types, struct = structures.types_of(kind)
    return Node(types, Type("struct", "", struct=struct))
