"""What statements make of the devices of a slice, column by column. Slices of which they make the same share it.

Columns are made one by one, and are shared as well: a patch that changes leaves all columns as they are but for those
that it is about.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from drakit_allocator.devices.changes import Changed, NewColumns
from drakit_allocator.devices.columns import AttributeValue, Column, OneOfEach, bits, column_of, remember, union
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.devices.schemas import SliceSchema
from drakit_allocator.devices.traits import Traits, with_capacity
from drakit_allocator.overlays.statements import Statement
from drakit_api.objects.device_attributes import published_names

# A statement, and the devices that it is about, as bits; in the order of precedence.
Masks = tuple[tuple[Statement, int], ...]
# What is to become of an attribute: a value, or None, for devices that nobody of higher precedence speaks about.
_Voices = tuple[tuple[AttributeValue | None, int], ...]

_numbers = itertools.count(1)


class Restated(NamedTuple):
    """What statements that come or go speak of: these attributes, and whether of capacities, and of taints."""

    attributes: frozenset[str] = frozenset()
    capacity: bool = False
    taints: bool = False

    @staticmethod
    def by(statements: Collection[Statement]) -> Restated:
        """Gather what some statements speak of."""
        attributes = frozenset(itertools.chain.from_iterable(one.attributes for one in statements))
        return Restated(attributes, any(one.capacity for one in statements), any(one.taints for one in statements))


_NOTHING = Restated()


class Outcome:
    """Which devices of a slice each statement selects, and what becomes of the slice: ``change``, None if nothing.

    Made by ``outcome_of``. ``masks`` has those statements that select any. ``touched`` are the positions of published
    attributes on which the outcome depends.
    """

    __slots__ = ("__weakref__", "change", "columns", "masks", "number", "touched")

    def __init__(
        self,
        published: PublishedSlice,
        masks: Masks,
        columns: Mapping[str, _NewColumns],
        touched: tuple[int, ...],
        before: Outcome | None,
        restated: Restated,
    ) -> None:
        self.number = next(_numbers)
        self.masks = masks
        self.columns = columns  # by fully qualified name
        self.touched = touched
        self.change: Changed | None = None
        if not all(one.is_idle for one, _ in masks):
            patches = tuple([(one.patch, mask) for one, mask in masks if one.patch is not None and not one.is_idle])
            new = {name: column for one in columns.values() for name, column in one.columns.items()}
            earlier = None if before is None else before.change
            traits = _traits(published, masks) if earlier is None or restated.capacity else earlier.traits
            taints = _taints(masks) if earlier is None or restated.taints else earlier.added_taints
            self.change = Changed(published.schema, new, traits, taints, patches)


_OUTCOMES: OneOfEach[Hashable, Outcome] = OneOfEach()


def outcome_of(
    published: PublishedSlice, masks: Masks, before: Outcome | None = None, restated: Restated = _NOTHING
) -> Outcome:
    """Return what statements make of a slice, given those that select devices; one object where it is the same.

    ``before`` is an outcome for the same slice, from which this one differs in nothing but what is ``restated``.
    """
    if before is None or any(_stored(published.schema, name) for name in restated.attributes):
        names = dict.fromkeys(itertools.chain.from_iterable([one.attributes for one, _ in masks]))
        touched = tuple(sorted([place for name in names for place in _stored(published.schema, name).values()]))
    else:
        touched = before.touched
    numbers = tuple([column.number for column in published.columns_at(touched)])
    key = (published.schema, published.traits.number, numbers, masks)
    found = _OUTCOMES.get(key)
    if found is None:
        columns = _columns(published, masks, before, restated)
        found = _OUTCOMES[key] = Outcome(published, masks, columns, touched, before, restated)
    return found


def _columns(
    published: PublishedSlice, masks: Masks, before: Outcome | None, restated: Restated
) -> dict[str, _NewColumns]:
    kept: dict[str, _NewColumns] = {}
    speaking: Iterable[tuple[Statement, int]] = masks
    if before is not None:
        kept = {name: column for name, column in before.columns.items() if name not in restated.attributes}
        speaking = [(one, mask) for one, mask in masks if not restated.attributes.isdisjoint(one.attributes)]
    voices = _voices(speaking)
    return kept | {name: _new_columns(published, name, said) for name, said in voices.items() if name not in kept}


def _voices(masks: Iterable[tuple[Statement, int]]) -> dict[str, _Voices]:
    """Find out who decides about each attribute: of statements about one device, the first one."""
    voices: dict[str, list[tuple[AttributeValue | None, int]]] = {}
    decided: dict[str, int] = {}
    for one, mask in masks:
        for name, value in one.attributes.items():
            if left := mask & ~decided.get(name, 0):
                voices.setdefault(name, []).append((value, left))
                decided[name] = decided.get(name, 0) | mask
    return {name: tuple(said) for name, said in voices.items()}


def _stored(schema: SliceSchema, name: str) -> Mapping[str, int]:
    """Return the positions of published attributes for which a fully qualified name stands, by published name."""
    found: Mapping[str, int] | None = schema.readings.get(name)
    if found is None:
        names = published_names(name, schema.driver)
        found = {one: schema.positions[one] for one in names if one in schema.positions}
        remember(schema.readings, name, found)
    return found


class _NewColumns:
    """The columns of one attribute, by the names under which devices may have it; None if no device has it any more."""

    __slots__ = ("__weakref__", "columns")

    def __init__(
        self, published: Mapping[str, Column[AttributeValue | None] | None], voices: _Voices, size: int
    ) -> None:
        values: dict[str, list[AttributeValue | None]] = {
            name: [None] * size if one is None else [*one.values] for name, one in published.items()
        }
        for value, mask in voices:
            for position in bits(mask):
                _put(values, position, value)
        made = {name: column_of(tuple(new)) for name, new in values.items()}
        self.columns: NewColumns = {name: column if any(column.values) else None for name, column in made.items()}


def _put(columns: Mapping[str, list[AttributeValue | None]], position: int, value: AttributeValue | None) -> None:
    """Replace an attribute of a device where it is published; one that is not published gets its full name."""
    names = [*columns]
    for name in [name for name in names if columns[name][position] is not None] or names[:1]:
        columns[name][position] = value


_NEW_COLUMNS: OneOfEach[Hashable, _NewColumns] = OneOfEach()


def _new_columns(published: PublishedSlice, name: str, voices: _Voices) -> _NewColumns:
    columns = {one: published.column(one) for one in published_names(name, published.schema.driver)}
    numbers = tuple([0 if one is None else one.number for one in columns.values()])
    said = tuple([(0 if value is None else value.number, mask) for value, mask in voices])
    key = (*columns, numbers, published.schema.size, said)
    return _NEW_COLUMNS.of(key, _NewColumns, columns, voices, published.schema.size)


_TRAITS: OneOfEach[Hashable, Column[Traits]] = OneOfEach()


def _traits(published: PublishedSlice, masks: Masks) -> Column[Traits]:
    """Return the column of everything that is no attribute, of which only capacities change."""
    saying = [(one, mask) for one, mask in masks if one.capacity]
    if not saying:
        return published.traits
    key = (published.traits.number, published.schema.driver, *[(one.number, mask) for one, mask in saying])
    return _TRAITS.of(key, _new_traits, published, saying)


def _new_traits(published: PublishedSlice, masks: Sequence[tuple[Statement, int]]) -> Column[Traits]:
    values = list(published.traits.values)
    for position in bits(union(mask for _, mask in masks)):
        decided: dict[str, Mapping[str, Any]] = {}
        for one, mask in masks:
            if mask >> position & 1:
                decided = {**one.capacity, **decided}
        values[position] = with_capacity(values[position], decided, published.schema.driver)
    return column_of(tuple(values))


def _taints(masks: Masks) -> Mapping[int, tuple[Mapping[str, Any], ...]]:
    saying = [(one, mask) for one, mask in masks if one.taints]
    return {
        position: tuple([taint for one, mask in saying if mask >> position & 1 for taint in one.taints])
        for position in bits(union(mask for _, mask in saying))
    }
