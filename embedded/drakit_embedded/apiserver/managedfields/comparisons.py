"""Which fields differ between two objects, and which an object has.

Most of two versions of an object is the same, so what is equal is never looked into.
sigs.k8s.io/structured-merge-diff/v6/typed/compare.go and tofieldset.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from drakit_embedded.apiserver.managedfields import completion, fieldsets
from drakit_embedded.apiserver.managedfields.elements import SELF
from drakit_embedded.apiserver.managedfields.fieldsets import LEAF, Tree
from drakit_embedded.apiserver.managedfields.shapes import ABSENT, Keyed, Leaf, Map, Shape, Struct, Untyped, Values


class Comparison(NamedTuple):
    """Field sets: removed (only in the old object), modified (in both), added (only in the new one)."""

    removed: Tree
    modified: Tree
    added: Tree

    def without(self, fields: Tree) -> Comparison:
        """Remove some fields and all that is below them."""
        if not fields:
            return self
        return Comparison(*[fieldsets.without_below(part, fields) for part in self])


def compare(old: Any, new: Any, shape: Shape) -> Comparison:
    """Compare two objects, and change neither."""
    found = Comparison({}, {}, {})
    _members(old, new, shape, found)
    return found


def _differ(element: str, old: Any, new: Any, shape: Shape, into: Comparison) -> None:
    """Record how two values differ; either may be absent, not both."""
    if isinstance(shape, Untyped):
        _differ_as_found(element, old, new, shape, into)
    elif old is ABSENT:
        into.added[element] = owned(new, shape)
    elif new is ABSENT:
        into.removed[element] = owned(old, shape)
    elif isinstance(shape, Leaf):
        if shape.typed is None or not completion.alike(old, new, *shape.typed):
            into.modified[element] = LEAF
    elif not _has_members(old, shape) and not _has_members(new, shape):
        if not isinstance(shape, Struct):
            into.modified[element] = LEAF
    else:
        below = Comparison({}, {}, {})
        _members(old, new, shape, below)
        for part, found in zip(into, below, strict=True):
            if found:
                part[element] = found


def _differ_as_found(element: str, old: Any, new: Any, shape: Untyped, into: Comparison) -> None:
    """Record how two values of no certain type differ; if they are of different types, one goes and the other comes."""
    before, after = shape.of(old), shape.of(new)
    if old is ABSENT or new is ABSENT or before is after:
        _differ(element, old, new, before if new is ABSENT else after, into)
    else:
        _differ(element, old, ABSENT, before, into)
        _differ(element, ABSENT, new, after, into)


def _has_members(value: Any, shape: Shape) -> bool:
    if isinstance(shape, Struct):
        return type(value) is dict and bool(value or shape.zeros)
    return bool(value)


def _members(old: Any, new: Any, shape: Shape, into: Comparison) -> None:
    if isinstance(shape, Struct):
        _fields(old or {}, new or {}, shape.fields, into)
    elif isinstance(shape, Map):
        _keys(old or {}, new or {}, shape.item, into)
    elif isinstance(shape, Keyed | Values):
        _items(old or [], new or [], shape, into)


def _fields(old: dict[str, Any], new: dict[str, Any], fields: dict[str, Any], into: Comparison) -> None:
    for name, now in new.items():
        was = old.get(name, ABSENT)
        if was is not now and was != now:
            _field(fields.get(name), was, now, into)
    for name in old.keys() - new.keys():
        _field(fields.get(name), old[name], ABSENT, into)


def _field(field: Any, old: Any, new: Any, into: Comparison) -> None:
    """Record how two unequal values of a field differ; either may be absent."""
    if field is None or not field.element:
        return
    if not old or not new or old is ABSENT or new is ABSENT:
        if field.omits_empty:
            old, new = old or ABSENT, new or ABSENT
        old, new = field.zero if old is ABSENT else old, field.zero if new is ABSENT else new
        if old is new or old == new:
            return
    _differ(field.element, old, new, field.shape, into)


def _keys(old: dict[str, Any], new: dict[str, Any], item: Shape, into: Comparison) -> None:
    for key, now in new.items():
        was = old.get(key, ABSENT)
        if was is not now and was != now:
            _differ(f"f:{key}", was, now, item, into)
    for key, was in old.items():
        if key not in new:
            _differ(f"f:{key}", was, ABSENT, item, into)


def _items(old: list[Any], new: list[Any], shape: Keyed | Values, into: Comparison) -> None:
    before, after = _by_element(old, shape), _by_element(new, shape)
    for element, now in after.items():
        was = before.get(element, ())
        if len(now) == 1 and len(was) <= 1:
            one = was[0] if was else ABSENT
            if one is ABSENT or one != now[0]:
                _differ(element, one, now[0], shape.item, into)
        else:
            _duplicates(element, was, now, shape.item, into)
    for element, was in before.items():
        if element not in after:
            _duplicates(element, was, (), shape.item, into)


def _duplicates(element: str, was: Any, now: Any, item: Shape, into: Comparison) -> None:
    """Compare items with equal keys, which only old rules let in, as one leaf."""
    if len(was) > 1 and len(now) > 1:
        if was != now:
            into.modified[element] = LEAF
        return
    for part, values in ((into.removed, was), (into.added, now)):
        if values:
            part[element] = owned(values[0], item) if len(values) == 1 else LEAF


def _by_element(items: Iterable[Any], shape: Keyed | Values) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(shape.element(item), []).append(item)
    return found


def owned(value: Any, shape: Shape) -> Tree:
    """Build the node of a value that is new: itself and all that is below it."""
    below = _below(value, shape.of(value) if isinstance(shape, Untyped) else shape)
    return {SELF: LEAF, **below} if below else LEAF


def _below(value: Any, shape: Shape) -> Tree:
    if isinstance(shape, Struct):
        return _fields_below(value or {}, shape)
    if isinstance(shape, Leaf) or not value:
        return LEAF
    if isinstance(shape, Map):
        return {f"f:{key}": owned(item, shape.item) for key, item in value.items()}
    assert isinstance(shape, Keyed | Values)
    return {
        element: owned(items[0], shape.item) if len(items) == 1 else LEAF
        for element, items in _by_element(value, shape).items()
    }


def _fields_below(value: dict[str, Any], shape: Struct) -> Tree:
    fields = shape.fields
    below = {element: zero for name, element, zero in shape.zeros if name not in value}
    for name, item in value.items():
        field = fields.get(name)
        if field is not None and field.element and (item or not field.omits_empty):
            below[field.element] = owned(item, field.shape)
    return below


def of_configuration(value: Any, shape: Shape) -> Tree:
    """Collect the fields that an applied configuration sets: leaves, items of lists, and what is empty."""
    if isinstance(shape, Struct):
        below: Tree = {}
        for name, item in value.items():
            field = shape.fields.get(name)
            if field is not None and field.element:
                _set_field(field.element, item, field.shape, below)
        return below
    if isinstance(shape, Map):
        return {f"f:{key}": _with_self(item, shape.item) for key, item in value.items()}
    assert isinstance(shape, Keyed | Values)
    return {
        element: _with_self(items[0], shape.item) if len(items) == 1 else LEAF
        for element, items in _by_element(value, shape).items()
    }


def _set_field(element: str, value: Any, shape: Shape, into: Tree) -> None:
    shape = shape.of(value) if isinstance(shape, Untyped) else shape
    leaf = isinstance(shape, Leaf) or value is None or value == {}
    below = LEAF if leaf else of_configuration(value, shape)
    if leaf or below:
        into[element] = below


def _with_self(value: Any, shape: Shape) -> Tree:
    shape = shape.of(value) if isinstance(shape, Untyped) else shape
    leaf = isinstance(shape, Leaf) or value is None
    below = LEAF if leaf else of_configuration(value, shape)
    return {SELF: LEAF, **below} if below else LEAF
