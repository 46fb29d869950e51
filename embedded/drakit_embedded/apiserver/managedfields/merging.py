"""An applied configuration put over an object, and fields taken out of an object.

Both work on plain objects and make new ones, which share what did not change.
sigs.k8s.io/structured-merge-diff/v6/typed/merge.go and remove.go.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from drakit_embedded.apiserver.managedfields import fieldsets
from drakit_embedded.apiserver.managedfields.elements import SELF
from drakit_embedded.apiserver.managedfields.fieldsets import LEAF, Tree
from drakit_embedded.apiserver.managedfields.shapes import (
    ABSENT,
    LEAF_SHAPE,
    Keyed,
    Map,
    Shape,
    Struct,
    Untyped,
    Values,
)


def merged(live: Any, wanted: Any, shape: Shape) -> Any:
    """Merge maps and lists that are granular; otherwise ``wanted`` replaces ``live``. Both may be ``ABSENT``."""
    if live is ABSENT or wanted is ABSENT:
        return live if wanted is ABSENT else wanted
    shape = shape.of(wanted) if isinstance(shape, Untyped) else shape
    if isinstance(live, dict) and isinstance(wanted, dict) and isinstance(shape, Struct | Map):
        items = {key: value for key, value in live.items() if key not in wanted}
        for key, value in wanted.items():
            items[key] = merged(live.get(key, ABSENT), value, _below(shape, key))
        return items
    if isinstance(live, list) and isinstance(wanted, list) and isinstance(shape, Keyed | Values):
        return _merged_list(live, wanted, shape) if live or wanted else wanted
    return _merged_emptiness(live, wanted, shape)


def _merged_emptiness(live: Any, wanted: Any, shape: Shape) -> Any:
    """Merge null into a granular value as an empty one."""
    granular = isinstance(shape, Struct | Map | Keyed | Values)
    return live if granular and wanted is None and live else wanted


def _below(shape: Shape, key: str) -> Shape:
    if isinstance(shape, Struct):
        field = shape.fields.get(key)
        return field.shape if field is not None else LEAF_SHAPE
    return shape.item if isinstance(shape, Map) else LEAF_SHAPE


def _merged_list(live: list[Any], wanted: list[Any], shape: Keyed | Values) -> list[Any]:
    """Merge lists: the wanted items in their order, and those of the live list only where they stand there."""
    wanted_items = {shape.element(item): item for item in wanted}
    order = [shape.element(item) for item in live]
    live_items: dict[str, Any] = {}
    for element, item in zip(order, live, strict=True):
        live_items[element] = ABSENT if element in live_items else item
    merge = _Zipper(list(wanted_items), order)
    return [
        merged(live_items.get(element, ABSENT), wanted_items[element], shape.item) if index is None else live[index]
        for element, index in merge.run()
    ]


class _Zipper:
    """The order of a merged list, with the index of those items that come from the live list alone."""

    def __init__(self, wanted: list[str], live: list[str]) -> None:
        self._wanted, self._live = wanted, live
        there = set(live)
        self._shared = deque(element for element in wanted if element in there)
        self._done: set[str] = set()
        self._found: list[tuple[str, int | None]] = []

    def run(self) -> list[tuple[str, int | None]]:
        """Merge both orders; with each element, its index in the live list if it is only there, else None."""
        wanted, live, mine, theirs = self._wanted, self._live, 0, 0
        both = set(wanted)
        while theirs < len(live) or mine < len(wanted):
            if theirs < len(live) and mine < len(wanted):
                if live[theirs] == wanted[mine]:
                    self._take(wanted[mine])
                    mine, theirs = mine + 1, theirs + 1
                    continue
                if live[theirs] in both and self._shared and self._shared[0] != live[theirs]:
                    theirs += 1
                    continue
            if theirs < len(live):
                if live[theirs] not in both:
                    self._found.append((live[theirs], theirs))
                    theirs += 1
                    continue
                if live[theirs] in self._done:
                    theirs += 1
            if mine < len(wanted):
                self._take(wanted[mine])
                mine += 1
        return self._found

    def _take(self, element: str) -> None:
        self._found.append((element, None))
        self._done.add(element)
        if self._shared and self._shared[0] == element:
            self._shared.popleft()


def without(value: Any, fields: Tree, shape: Shape) -> Any:
    """Remove some fields of a value; None if nothing is left, and for a map or list that is owned as a whole."""
    if not fields:
        return value
    shape = shape.of(value) if isinstance(shape, Untyped) else shape
    if isinstance(value, dict):
        return _map_without(value, fields, shape) if isinstance(shape, Struct | Map) else None
    if isinstance(value, list):
        return _list_without(value, fields, shape) if isinstance(shape, Keyed | Values) else None
    return value if not isinstance(shape, Struct | Map | Keyed | Values) else None


def _map_without(value: dict[str, Any], fields: Tree, shape: Shape) -> Any:
    left = {}
    for key, item in value.items():
        node = fields.get(f"f:{key}")
        if node is None:
            left[key] = item
        elif node and SELF not in node:
            left[key] = without(item, node, _below(shape, key))
    return left or None


def _list_without(value: list[Any], fields: Tree, shape: Keyed | Values) -> Any:
    left = []
    for item in value:
        node = fields.get(shape.element(item))
        if node is None:
            left.append(item)
        elif node and SELF not in node:
            left.append(without(item, node, shape.item))
    return left or None


def with_named_fields(fields: Tree, shape: Shape | None) -> Tree:
    """Add each field of a struct below which the set has something (EnsureNamedFieldsAreMembers)."""
    found: Tree = {}
    for element, node in fields.items():
        if element == SELF or not node:
            found[element] = node
            continue
        below = with_named_fields(node, _shape_below(shape, element))
        named = isinstance(shape, Struct) and element[2:] in shape.fields
        found[element] = fieldsets.union(below, {SELF: LEAF}) if named else below
    return found


def _shape_below(shape: Shape | None, element: str) -> Shape | None:
    shape = shape.map if isinstance(shape, Untyped) else shape
    if element[0] == "f" and isinstance(shape, Struct | Map):
        return _below(shape, element[2:])
    return shape.item if element[0] == "k" and isinstance(shape, Keyed) else None
