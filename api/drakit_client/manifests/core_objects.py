"""Nodes and Pods of files, as far as allocations look at them: wrong types are told before anything stumbles over them.

There is no schema of the core group here. What is not looked at may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.value_names import value_name

_OBJECTS = {
    "Node": ("metadata.labels", "spec", "status"),
    "Pod": ("metadata.labels", "spec", "spec.nodeSelector", "spec.affinity", "status"),
}
_LISTS = {
    "Node": ("spec.taints",),
    "Pod": ("spec.resourceClaims", "spec.tolerations", "status.resourceClaimStatuses"),
}
_NAMED = frozenset({"spec.resourceClaims", "status.resourceClaimStatuses"})  # lists whose entries have a name


def faults(kind: str, obj: Object) -> list[str]:
    """List what makes a Node or Pod unreadable for the allocator; a line for each fault, with its field."""
    found = [
        f"{path}: an object is expected, not {value_name(value)}"
        for path in _OBJECTS[kind]
        if (value := _at(obj, path)) is not None and not isinstance(value, dict)
    ]
    for path in _LISTS[kind]:
        value = _at(obj, path)
        if value is not None and not isinstance(value, list):
            found.append(f"{path}: a list is expected, not {value_name(value)}")
        else:
            found += _entry_faults(path, value or [])
    return found


def _entry_faults(path: str, entries: list[Any]) -> Iterator[str]:
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            yield f"{path}[{number}]: an object is expected, not {value_name(entry)}"
        elif path in _NAMED and not isinstance(entry.get("name"), str):
            yield f"{path}[{number}].name: required"


def _at(obj: Object, path: str) -> Any:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
