"""The devices of some slices as one table: a row for each device, in the order in which they are tried."""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

from drakit_allocator.devices.changes import AddedTaints
from drakit_allocator.devices.columns import AttributeValue, Column, column_of, joined
from drakit_allocator.devices.devices import Device, PublishedSlice
from drakit_allocator.devices.traits import Traits

_T = TypeVar("_T")
_EMPTY: Column[Any] = column_of(())
_TRAITS = operator.attrgetter("traits")
_ADDED_TAINTS = operator.attrgetter("added_taints")


def _joined(columns: list[Column[_T]]) -> Column[_T]:
    return joined(columns) if columns else _EMPTY


class Table:
    """Some slices, one after the other."""

    def __init__(self, slices: Sequence[PublishedSlice], before: Table | None = None) -> None:
        """Put the slices together; ``before`` as for ``relaid``."""
        self.slices = slices
        self._columns: dict[str, Column[AttributeValue | None]] = {}
        self._added_taints: AddedTaints | None = None
        if before is None:
            self.slice_names = tuple([one.name for one in slices])
            self.names: Column[str] = _joined([one.names for one in slices])
            self.traits: Column[Traits] = _joined([one.traits for one in slices])
            # The first row of each slice, and the number of all rows.
            self.starts = tuple(itertools.accumulate(map(len, slices), initial=0))
        else:
            is_same = all(map(operator.is_, map(_TRAITS, slices), map(_TRAITS, before.slices)))
            self.slice_names, self.names = before.slice_names, before.names
            self.traits = before.traits if is_same else _joined([one.traits for one in slices])
            self.starts = before.starts

    def relaid(self, slices: Sequence[PublishedSlice]) -> Table:
        """Return the table of the same slices as administrators make them look now."""
        return Table(slices, self)

    @cached_property
    def devices(self) -> Sequence[Device]:
        """All devices, each made when it is asked for."""
        return _Devices(self.slices, self.starts)

    @property
    def added_taints(self) -> AddedTaints:
        """The taints that administrators give to devices."""
        if self._added_taints is None:
            self._added_taints = self._joined_taints() if any(map(_ADDED_TAINTS, self.slices)) else {}
        return self._added_taints

    def _joined_taints(self) -> AddedTaints:
        return {
            start + position: taints
            for one, start in zip(self.slices, self.starts, strict=False)
            for position, taints in one.added_taints.items()
        }

    @cached_property
    def attribute_names(self) -> tuple[str, ...]:
        """The attributes that any of the devices has, as published."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(one.schema.names for one in self.slices)))

    def column(self, name: str) -> Column[AttributeValue | None]:
        """Return the values of an attribute, None for devices without it."""
        found = self._columns.get(name)
        if found is None:
            parts = [one.column(name) or column_of((None,) * len(one)) for one in self.slices]
            found = self._columns[name] = joined(parts)
        return found

    def of_slices(self, rule: Callable[[PublishedSlice], bool]) -> int:
        """Return the devices of the slices that obey a rule, as bits."""
        mask = 0
        for one, start in zip(self.slices, self.starts, strict=False):
            if rule(one):
                mask |= one.schema.everything << start
        return mask


class _Devices(Sequence[Device]):
    """The devices of some slices, one after the other; each made when it is asked for."""

    def __init__(self, slices: Sequence[PublishedSlice], starts: Sequence[int]) -> None:
        self._slices = slices
        self._starts = starts

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, position: int) -> Device: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[Device]: ...

    def __getitem__(self, position: int | slice) -> Device | Sequence[Device]:
        if isinstance(position, slice):
            return [self[one] for one in range(*position.indices(len(self)))]
        if not 0 <= position < len(self):
            raise IndexError(position)
        number = bisect_right(self._starts, position) - 1
        return self._slices[number].device(position - self._starts[number])

    def __iter__(self) -> Iterator[Device]:
        return (published.device(position) for published in self._slices for position in range(len(published)))
