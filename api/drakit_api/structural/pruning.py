"""Unknown fields of a custom resource: what its schema does not name is removed, and told of where somebody asks.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apiserver/schema/pruning/algorithm.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from drakit_api.structural.schema import Structural

# A tuple is quicker to test for than a union.
_CONTAINERS = (dict, list)
_TYPE_AND_METADATA = frozenset({"apiVersion", "kind", "metadata"})


def prune(obj: Any, schema: Structural, *, is_root: bool) -> list[str]:
    """Remove the unknown fields of ``obj`` in place, and return their paths in the order of the alphabet.

    At the root, as in embedded resources, type and metadata are known without being in the schema.
    """
    if isinstance(obj, dict):
        pruned = _prune_object(obj, schema, is_resource=is_root or schema.is_embedded)
    else:
        pruned = _prune(obj, schema)
    found = [path.removeprefix(".") for path in pruned]
    # Type and metadata of an object are never reported, even where they are removed.
    return sorted(path for path in found if path not in _TYPE_AND_METADATA)


def _prune(value: Any, schema: Structural | None) -> Iterator[str]:
    """Remove unknown fields; yield their paths below ``value``. None knows no field at all."""
    if schema is None:
        yield from _prune_all(value)
    elif isinstance(value, dict):
        yield from _prune_object(value, schema, is_resource=schema.is_embedded)
    elif isinstance(value, list):
        yield from _prune_list(value, schema)


def _prune_list(value: list[Any], schema: Structural) -> Iterator[str]:
    items = schema.items
    if schema.preserves_unknown:
        if items is None:
            return
        # What a list preserves, its items preserve, too.
        items = replace(items, preserves_unknown=True)
    for index, item in enumerate(value):
        if isinstance(item, _CONTAINERS):
            yield from (f"[{index}]{path}" for path in _prune(item, items))


def _prune_object(value: dict[str, Any], schema: Structural, *, is_resource: bool) -> Iterator[str]:
    known, additional = schema.properties, schema.additional
    unknown = []
    for key, item in value.items():
        if is_resource and key in _TYPE_AND_METADATA:
            continue
        inner = known.get(key)
        if inner is None and additional is None:
            unknown.append(key)
        elif isinstance(item, _CONTAINERS):
            below = inner or (additional if isinstance(additional, Structural) else None)
            yield from (f".{key}{path}" for path in _prune(item, below))
    if unknown and not schema.preserves_unknown:
        for key in unknown:
            del value[key]
            yield f".{key}"


def _prune_all(value: Any) -> Iterator[str]:
    """Empty all objects in a value without a schema; its depth is the client's, so it is gone through by a loop."""
    waiting = [(value, "")]
    while waiting:
        current, path = waiting.pop()
        if isinstance(current, dict):
            yield from (f"{path}.{key}" for key in current)
            current.clear()
        elif isinstance(current, list):
            waiting += [(item, f"{path}[{index}]") for index, item in enumerate(current)]
