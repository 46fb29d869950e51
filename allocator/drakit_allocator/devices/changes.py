"""What administrators have made of a slice: columns to be put in the place of those that its driver has published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from drakit_allocator.devices.columns import AttributeValue, Column, remember
from drakit_allocator.devices.schemas import SliceSchema, Spoiled, slice_schema
from drakit_allocator.devices.traits import Traits, capacities_of
from drakit_api.slice_patches.patch import SlicePatch

Attributes = tuple[Column[AttributeValue | None], ...]
AddedTaints = Mapping[int, tuple[Mapping[str, Any], ...]]  # by position of the device
NewColumns = Mapping[str, Column[AttributeValue | None] | None]  # by published name; None for one that vanishes


class Changed:
    """What is different about a slice as the allocator sees it. Slices of which it is the same share one object.

    ``masks`` tells, if somebody asks, the devices, as bits, to which each ResourceSlicePatch applies.
    """

    __slots__ = ("__weakref__", "_columns", "_find_masks", "_patches", "_pickers", "added_taints", "schema", "traits")

    def __init__(
        self,
        before: SliceSchema,
        columns: NewColumns,
        traits: Column[Traits],
        added_taints: AddedTaints,
        masks: Callable[[], Mapping[SlicePatch, int]],
    ) -> None:
        """Change slices with the schema ``before``."""
        arrangement = _arrangement_of(before, columns, capacities_of(traits).has_problem)
        self.schema = arrangement.schema
        self._pickers = arrangement.pickers
        self._columns = tuple([column for column in columns.values() if column is not None])
        self.traits = traits
        self.added_taints = added_taints
        self._find_masks = masks
        self._patches: Sequence[tuple[SlicePatch, int]] | None = None

    @property
    def patches(self) -> Sequence[tuple[SlicePatch, int]]:
        """The patches that apply to some of the devices, with these as bits, in the order in which they win."""
        if self._patches is None:
            self._patches = sorted(self._find_masks().items(), key=lambda one: one[0].precedence)
        return self._patches

    def patches_of(self, position: int) -> list[SlicePatch]:
        """List the patches that apply to the device at a position, in the order in which they win."""
        return [patch for patch, mask in self.patches if mask >> position & 1]

    def columns_at(self, published: Attributes, positions: tuple[int, ...]) -> Attributes:
        """Return the columns at positions of the schema's names, for a slice that has published these columns."""
        return self._pickers[positions](published + self._columns)


class _Pickers(dict[tuple[int, ...], Callable[[Attributes], Attributes]]):
    """What picks columns at positions of a schema's names, each of which has its place among published and new ones."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__()
        self._places = places

    def __missing__(self, positions: tuple[int, ...]) -> Callable[[Attributes], Attributes]:
        return remember(self, positions, _picking([self._places[position] for position in positions]))


class _Arrangement(NamedTuple):
    """How slices look that get new columns."""

    schema: SliceSchema
    pickers: _Pickers


def _picking(places: Sequence[int]) -> Callable[[Attributes], Attributes]:
    """Return what takes the columns at these places; ``itemgetter`` does so where there are several, and faster."""
    return itemgetter(*places) if len(places) > 1 else lambda columns: tuple([columns[place] for place in places])


def _arrangement_of(before: SliceSchema, columns: NewColumns, capacity_is_spoiled: bool) -> _Arrangement:
    spoiled = tuple([name for name, column in columns.items() if column is not None and column.has_problem])
    key = (*[(name, column is None) for name, column in columns.items()], spoiled, capacity_is_spoiled)
    found: _Arrangement | None = before.readings.get(key)
    if found is None:
        new = [name for name, column in columns.items() if column is not None]
        spoiled = (*[name for name in before.spoiled.attributes if name not in columns], *spoiled)
        found = _arrangement(before, new, frozenset(columns), Spoiled(spoiled, capacity_is_spoiled))
        remember(before.readings, key, found)
    return found


def _arrangement(before: SliceSchema, new: Sequence[str], changed: frozenset[str], spoiled: Spoiled) -> _Arrangement:
    left = [name for name in before.names if name not in changed or name in new]
    names = tuple(dict.fromkeys([*left, *sorted(new)]))
    # New columns stand behind those that are published.
    places = {**before.positions, **{name: len(before.names) + number for number, name in enumerate(new)}}
    schema = slice_schema(before.driver, names, spoiled, before.size)
    return _Arrangement(schema, _Pickers([places[name] for name in names]))
