"""The devices of some slices as one table: a row for each device, in the order in which they are tried."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

from drakit_allocator.devices.columns import AttributeValue, Column, column_of, joined
from drakit_allocator.devices.devices import Device, PublishedSlice
from drakit_allocator.devices.traits import Traits

_T = TypeVar("_T")
_EMPTY: Column[Any] = column_of(())


def _joined(columns: list[Column[_T]]) -> Column[_T]:
    return joined(columns) if columns else _EMPTY


class Table:
    """Some slices, one after the other. ``before`` is a table of slices with the same devices, under the same names."""

    def __init__(self, slices: Sequence[PublishedSlice], before: Table | None = None) -> None:
        self.slices = slices
        self.names: Column[str] = _joined([one.names for one in slices]) if before is None else before.names
        traits = [one.traits for one in slices]
        is_same = before is not None and traits == [one.traits for one in before.slices]
        self.traits: Column[Traits] = before.traits if before is not None and is_same else _joined(traits)
        self.devices: Sequence[Device] = _Devices(slices)
        # The taints that administrators give to devices.
        self.added_taints: Mapping[int, tuple[Mapping[str, Any], ...]] = _added_taints(slices)
        self._columns: dict[str, Column[AttributeValue | None]] = {}

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
        mask = start = 0
        for one in self.slices:
            if rule(one):
                mask |= (1 << len(one)) - 1 << start
            start += len(one)
        return mask


def _added_taints(slices: Iterable[PublishedSlice]) -> dict[int, tuple[Mapping[str, Any], ...]]:
    found: dict[int, tuple[Mapping[str, Any], ...]] = {}
    start = 0
    for one in slices:
        for position, taints in one.added_taints.items():
            found[start + position] = taints
        start += len(one)
    return found


class _Devices(Sequence[Device]):
    """The devices of some slices, one after the other; each made when it is asked for."""

    def __init__(self, slices: Sequence[PublishedSlice]) -> None:
        self._slices = slices
        self._starts = [0, *itertools.accumulate(map(len, slices))]

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
