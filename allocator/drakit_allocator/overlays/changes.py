"""What statements make of the devices of a slice, column by column. Slices of which they make the same share it."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from drakit_allocator.devices.columns import AttributeValue, Column, OneOfEach, attribute_of, bits, column_of
from drakit_allocator.devices.devices import Changed, PublishedSlice
from drakit_allocator.devices.traits import Traits, with_capacity
from drakit_allocator.overlays.statements import Statement
from drakit_api.objects.device_attributes import published_names

# A statement, and the devices that it is about, as bits; in the order of precedence.
Masks = tuple[tuple[Statement, int], ...]
_Values = dict[str, list[AttributeValue | None]]


def change_of(published: PublishedSlice, masks: Masks) -> Changed | None:
    """Return what these statements make of a slice, one object where it is the same; None if they leave it alone."""
    masks = tuple([(one, mask) for one, mask in masks if mask and not one.is_idle])
    if not masks:
        return None
    touched = _touched(published, masks)
    read = [column.number for name in touched if (column := published.attributes.get(name)) is not None]
    said = tuple([(one.number, mask) for one, mask in masks])
    key = (published.pool[0], published.attribute_names, published.spoiled, published.traits.number, *read, said)
    return _CHANGES.of(key, _made, published, masks, touched)


_CHANGES: OneOfEach[Hashable, Changed] = OneOfEach()


def _touched(published: PublishedSlice, masks: Masks) -> tuple[str, ...]:
    """Name the columns that may change, present or not."""
    said = dict.fromkeys(itertools.chain.from_iterable(one.attributes for one, _ in masks))
    return tuple(dict.fromkeys(itertools.chain.from_iterable(published_names(n, published.pool[0]) for n in said)))


def _made(published: PublishedSlice, masks: Masks, touched: Sequence[str]) -> Changed:
    columns = _attributes(published, masks, touched)
    kept = dict.fromkeys(name for name in published.attribute_names if name in columns or name not in touched)
    spoiled = [name for name in published.spoiled if name not in touched]
    return Changed(
        tuple(kept | dict.fromkeys(columns)),
        columns,
        (*spoiled, *(name for name, column in columns.items() if column.has_problem)),
        _traits(published, masks),
        _taints(masks),
        tuple([(one.patch, mask) for one, mask in masks if one.patch is not None]),
    )


def _attributes(
    published: PublishedSlice, masks: Masks, touched: Iterable[str]
) -> dict[str, Column[AttributeValue | None]]:
    """Make the columns that change; those that nobody has any more are left out."""
    nothing = (None,) * len(published)
    columns: _Values = {
        name: list(published.attributes[name].values if name in published.attributes else nothing) for name in touched
    }
    for name in dict.fromkeys(itertools.chain.from_iterable(one.attributes for one, _ in masks)):
        undecided = -1
        for one, mask in masks:
            if name in one.attributes:
                value = one.attributes[name]
                _put(columns, published_names(name, published.pool[0]), mask & undecided, value)
                undecided &= ~mask
    made = {name: column_of(tuple(values)) for name, values in columns.items()}
    return {name: column for name, column in made.items() if any(column.values)}


def _put(columns: _Values, names: Sequence[str], mask: int, value: Mapping[str, Any] | None) -> None:
    """Replace an attribute of some devices where they publish it; one that is not published gets its full name."""
    new = None if value is None else attribute_of(value)
    for position in bits(mask):
        there = [name for name in names if columns[name][position] is not None]
        for name in there or names[:1]:
            columns[name][position] = new


def _traits(published: PublishedSlice, masks: Masks) -> Column[Traits]:
    """Make the column of everything that is no attribute, of which only capacities change."""
    saying = [(one, mask) for one, mask in masks if one.capacity]
    if not saying:
        return published.traits
    values = list(published.traits.values)
    for position in bits(_union(saying)):
        decided: dict[str, Mapping[str, Any]] = {}
        for one, mask in saying:
            if mask >> position & 1:
                decided = {**one.capacity, **decided}
        values[position] = with_capacity(values[position], decided, published.pool[0])
    return column_of(tuple(values))


def _union(masks: Iterable[tuple[Statement, int]]) -> int:
    mask = 0
    for _, one in masks:
        mask |= one
    return mask


def _taints(masks: Masks) -> Mapping[int, tuple[Mapping[str, Any], ...]]:
    saying = [(one, mask) for one, mask in masks if one.taints]
    return {
        position: tuple([taint for one, mask in saying if mask >> position & 1 for taint in one.taints])
        for position in bits(_union(saying))
    }
