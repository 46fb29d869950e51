"""What is empty and may be left out is left out, as the Go types do when they are written.

The rules of resource.k8s.io want to tell an empty list from none and leave things out at the end
(``drakit_api.objects.encoding``); those of all other kinds get objects that are like the stored ones.
"""

from __future__ import annotations

import functools
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.schema import Schema, Type

# Lists that are kept if empty, as that removes all items.
_TOLD = frozenset({"managedFields", "resourceClaimStatuses", "nodeAllocatableResourceClaimStatuses"})
# Types whose zero value is not omitted, or is not empty in JSON.
_SHOWN = ("struct", "quantity", "raw", "intorstring")


def drop(obj: Object, types: Schema, struct: str) -> None:
    """Remove empty fields from a decoded object, in place."""
    fields = _fields(types, struct)
    gone = []
    for name, value in obj.items():
        droppable, below = fields[name]
        if not value:
            if droppable:
                gone.append(name)
        elif below is not None:
            _drop_below(value, types, below)
    for name in gone:
        del obj[name]


def _drop_below(value: Any, types: Schema, kind: Type) -> None:
    if kind.shape == "struct":
        drop(value, types, kind.struct)
    elif kind.item is not None:
        for item in value if kind.shape == "list" else value.values():
            if item:
                _drop_below(item, types, kind.item)


@functools.cache
def _fields(types: Schema, struct: str) -> dict[str, tuple[bool, Type | None]]:
    """Find for each field whether it is left out when empty, and its type if there may be something below it."""
    return {
        field.name: (
            field.omit and not field.type.pointer and field.type.shape not in _SHOWN and field.name not in _TOLD,
            field.type if _has_structs(field.type) else None,
        )
        for field in types.flat_fields(struct)
    }


def _has_structs(kind: Type) -> bool:
    return kind.shape == "struct" or (kind.item is not None and _has_structs(kind.item))
