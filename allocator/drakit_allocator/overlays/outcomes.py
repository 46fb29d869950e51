"""What statements make of the devices of a slice, column by column. Slices of which they make the same share it.

Columns are made one by one, and are shared as well: a patch that changes leaves all columns as they are but for those
that it is about.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from drakit_allocator.devices.changes import AddedTaints, Changed, NewColumns
from drakit_allocator.devices.columns import AttributeValue, Column, OneOfEach, bits, column_of, remember, union
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.devices.schemas import SliceSchema
from drakit_allocator.devices.traits import Traits, with_capacity
from drakit_allocator.overlays.statements import Statement
from drakit_api.objects.device_attributes import published_names
from drakit_api.slice_patches.patch import SlicePatch

# The devices, as bits, that each statement is about; statements about none are left out.
Masks = Mapping[Statement, int]
# What is to become of an attribute: a value, or None, for devices that nobody of higher precedence speaks about.
_Voices = tuple[tuple[AttributeValue | None, int], ...]

_numbers = itertools.count(1)


class Question(NamedTuple):
    """What is to be found out: all, or what may differ from an earlier outcome. Statements are listed as they win.

    ``names`` are those of the attributes, None for all of them; ``on_attributes`` are the statements about these;
    ``on_capacity`` and ``on_taints`` those that say something of that, None if it is as before.
    """

    names: frozenset[str] | None
    on_attributes: tuple[Statement, ...]
    on_capacity: tuple[Statement, ...] | None
    on_taints: tuple[Statement, ...] | None

    @staticmethod
    def everything(statements: Sequence[Statement]) -> Question:
        """Ask for all that some statements say."""
        return Question(
            None,
            tuple([one for one in statements if one.attributes]),
            tuple([one for one in statements if one.capacity]),
            tuple([one for one in statements if one.taints]),
        )

    def after(self, statements: Collection[Statement]) -> Question:
        """Ask for what may be different after some statements have come or gone."""
        names = frozenset(itertools.chain.from_iterable(one.attributes for one in statements))
        return Question(
            names,
            tuple([one for one in self.on_attributes if not names.isdisjoint(one.attributes)]),
            self.on_capacity if any(one.capacity for one in statements) else None,
            self.on_taints if any(one.taints for one in statements) else None,
        )


class Outcome:
    """Which devices of a slice each statement selects, and what becomes of the slice: ``change``, None if nothing.

    Made by ``outcome_of``. ``touched`` are the positions of published attributes on which the outcome depends.
    """

    __slots__ = ("__weakref__", "change", "columns", "masks", "number", "touched")

    def __init__(
        self, masks: Masks, touched: tuple[int, ...], columns: Mapping[str, _NewColumns], change: Changed | None
    ) -> None:
        self.number = next(_numbers)
        self.masks = masks
        self.touched = touched
        self.columns = columns  # by fully qualified name
        self.change = change


_OUTCOMES: OneOfEach[Hashable, Outcome] = OneOfEach()


def outcome_of(published: PublishedSlice, masks: Masks, question: Question, before: Outcome | None = None) -> Outcome:
    """Return what statements make of a slice, given those that select devices; one object where it is the same.

    ``before`` is an outcome for the same slice, from which this one differs in nothing but what the question is about.
    """
    touched = _touched(published.schema, masks, question, before)
    numbers = tuple([column.number for column in published.columns_at(touched)])
    key = (published.schema, published.traits.number, numbers, frozenset(masks.items()))
    found = _OUTCOMES.get(key)
    if found is None:
        columns = _columns(published, masks, question, before)
        change = None
        if not all(one.is_idle for one in masks):
            change = _change(published, masks, question, columns, None if before is None else before.change)
        found = _OUTCOMES[key] = Outcome(masks, touched, columns, change)
    return found


def _touched(schema: SliceSchema, masks: Masks, question: Question, before: Outcome | None) -> tuple[int, ...]:
    if before is not None and not any(_stored(schema, name) for name in question.names or ()):
        return before.touched
    names = dict.fromkeys(itertools.chain.from_iterable([one.attributes for one in masks]))
    return tuple(sorted([place for name in names for place in _stored(schema, name).values()]))


def _change(
    published: PublishedSlice,
    masks: Masks,
    question: Question,
    columns: Mapping[str, _NewColumns],
    before: Changed | None,
) -> Changed:
    new = {name: column for one in columns.values() for name, column in one.columns.items()}
    if question.on_capacity is not None:
        traits = _traits(published, _saying(question.on_capacity, masks))
    else:
        traits = published.traits if before is None else before.traits
    if question.on_taints is not None:
        taints = _taints(_saying(question.on_taints, masks))
    else:
        taints = {} if before is None else before.added_taints
    return Changed(published.schema, new, traits, taints, functools.partial(_patches, masks))


def _patches(masks: Masks) -> dict[SlicePatch, int]:
    return {one.patch: mask for one, mask in masks.items() if one.patch is not None and not one.is_idle}


def _saying(statements: Iterable[Statement], masks: Masks) -> list[tuple[Statement, int]]:
    """Return those of the statements that are about devices, with these as bits."""
    return [(one, masks[one]) for one in statements if one in masks]


def _columns(
    published: PublishedSlice, masks: Masks, question: Question, before: Outcome | None
) -> dict[str, _NewColumns]:
    kept: dict[str, _NewColumns] = {}
    if before is not None and question.names is not None:
        kept = {name: column for name, column in before.columns.items() if name not in question.names}
    voices = _voices(_saying(question.on_attributes, masks))
    return kept | {name: _new_columns(published, name, said) for name, said in voices.items() if name not in kept}


def _voices(saying: Iterable[tuple[Statement, int]]) -> dict[str, _Voices]:
    """Find out who decides about each attribute: of statements about one device, the first one."""
    voices: dict[str, list[tuple[AttributeValue | None, int]]] = {}
    decided: dict[str, int] = {}
    for one, mask in saying:
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


def _traits(published: PublishedSlice, saying: Sequence[tuple[Statement, int]]) -> Column[Traits]:
    """Return the column of everything that is no attribute, of which only capacities change."""
    if not saying:
        return published.traits
    key = (published.traits.number, published.schema.driver, *[(one.number, mask) for one, mask in saying])
    return _TRAITS.of(key, _new_traits, published, saying)


def _new_traits(published: PublishedSlice, saying: Sequence[tuple[Statement, int]]) -> Column[Traits]:
    values = list(published.traits.values)
    for position in bits(union(mask for _, mask in saying)):
        decided: dict[str, Mapping[str, Any]] = {}
        for one, mask in saying:
            if mask >> position & 1:
                decided = {**one.capacity, **decided}
        values[position] = with_capacity(values[position], decided, published.schema.driver)
    return column_of(tuple(values))


def _taints(saying: Sequence[tuple[Statement, int]]) -> AddedTaints:
    return {
        position: tuple([taint for one, mask in saying if mask >> position & 1 for taint in one.taints])
        for position in bits(union(mask for _, mask in saying))
    }
