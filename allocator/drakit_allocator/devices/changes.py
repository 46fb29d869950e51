"""What administrators have made of a slice: columns to be put in the place of those that its driver has published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from drakit_allocator.devices.columns import AttributeValue, Column, remember
from drakit_allocator.devices.schemas import SliceSchema, Spoiled, slice_schema
from drakit_allocator.devices.traits import Traits, capacities_of
from drakit_api.slice_patches.patch import SlicePatch

Attributes = tuple[Column[AttributeValue | None], ...]
NewColumns = Mapping[str, Column[AttributeValue | None] | None]  # by published name; None for one that vanishes


class Changed:
    """What is different about a slice as the allocator sees it. Slices of which it is the same share one object.

    ``patches``: the ResourceSlicePatches that apply to some of the devices, as bits, in the order in which they win.
    """

    __slots__ = ("__weakref__", "_columns", "_places", "added_taints", "patches", "schema", "traits")

    def __init__(
        self,
        before: SliceSchema,
        columns: NewColumns,
        traits: Column[Traits],
        added_taints: Mapping[int, tuple[Mapping[str, Any], ...]],
        patches: tuple[tuple[SlicePatch, int], ...],
    ) -> None:
        """Change slices with the schema ``before``."""
        arrangement = _arrangement_of(before, columns, capacities_of(traits).has_problem)
        self.schema = arrangement.schema
        self._places = arrangement.places
        self._columns = tuple([column for column in columns.values() if column is not None])
        self.traits = traits
        self.added_taints = added_taints
        self.patches = patches

    def patches_of(self, position: int) -> list[SlicePatch]:
        """List the patches that apply to the device at a position, in the order in which they win."""
        return [patch for patch, mask in self.patches if mask >> position & 1]

    def columns_at(self, published: Attributes, positions: Iterable[int]) -> list[Column[AttributeValue | None]]:
        """Return the columns at positions of the schema's names, for a slice that has published these columns."""
        places, new = self._places, self._columns
        return [published[place] if (place := places[position]) >= 0 else new[place] for position in positions]


class _Arrangement(NamedTuple):
    """The schema of slices that get new columns; for each of its names, the place among published columns.

    Places of new columns are negative: they count from the end of these.
    """

    schema: SliceSchema
    places: tuple[int, ...]


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
    places = {**before.positions, **{name: number - len(new) for number, name in enumerate(new)}}
    return _Arrangement(
        slice_schema(before.driver, names, spoiled, before.size), tuple([places[name] for name in names])
    )
