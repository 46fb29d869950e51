"""Shared counters: what the partitions of one physical device may draw from together.

Amounts are exact integers in 1e-9 units. Counters of a pool are numbered once (a ``Layout``, shared by all pools with
the same counter sets), so that a device's needs are a few (number, amount) pairs and a check touches nothing else.
Semantics: ``checkAvailableCounters`` of ``structured/internal/experimental/allocator_experimental.go``.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drakit_api.quantity import Quantity

Needs = tuple[tuple[int, int], ...]  # (number of the counter in the pool's layout, amount in 1e-9 units)
CounterName = tuple[str, str]  # counter set, counter


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a device draws from one counter set, as published."""

    counter_set: str
    amounts: tuple[tuple[str, int], ...]
    compatibility_groups: frozenset[str]


def parse_consumption(device: Mapping[str, Any]) -> tuple[Consumption, ...]:
    """``consumesCounters`` of a v1 device; an empty tuple for a device that draws from no counter set."""
    return tuple(
        Consumption(
            entry["counterSet"],
            tuple((name, nanos(counter)) for name, counter in (entry.get("counters") or {}).items()),
            frozenset(entry.get("compatibilityGroups") or ()),
        )
        for entry in device.get("consumesCounters") or ()
    )


def nanos(counter: Mapping[str, Any]) -> int:
    """The value of a v1 ``Counter`` in 1e-9 units."""
    return Quantity.parse(counter["value"]).nanos


class Layout:
    """The numbering of a pool's counters. Equal numberings are one object."""

    __slots__ = ("__weakref__", "names", "numbers", "sets")

    def __init__(self, names: tuple[CounterName, ...], sets: frozenset[str]) -> None:
        self.names = names
        self.numbers = {name: number for number, name in enumerate(names)}
        self.sets = sets

    def needs(self, consumption: Iterable[Consumption]) -> Needs:
        """Total needs by number. Raises ``KeyError`` with upstream's words for an unknown set or counter."""
        total: dict[int, int] = {}
        for entry in consumption:
            if entry.counter_set not in self.sets:
                raise KeyError(f"counter set {entry.counter_set} not found")
            for name, amount in entry.amounts:
                number = self.numbers.get((entry.counter_set, name))
                if number is None:
                    raise KeyError(f"counter {name} not found in counter set {entry.counter_set}")
                total[number] = total.get(number, 0) + amount
        return tuple(total.items())


_LAYOUTS: weakref.WeakValueDictionary[tuple[tuple[CounterName, ...], frozenset[str]], Layout] = (
    weakref.WeakValueDictionary()
)


class DuplicateCounterSet(ValueError):
    """Two counter sets of a pool have one name; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class PoolCounters:
    """The counters of one pool: numbering and totals (1e-9 units, by number)."""

    layout: Layout
    totals: tuple[int, ...]

    @staticmethod
    def of(counter_sets: Iterable[Mapping[str, Any]]) -> PoolCounters:
        """From the ``sharedCounters`` of all slices of a pool. Raises ``DuplicateCounterSet``."""
        totals: dict[CounterName, int] = {}
        names: set[str] = set()
        for counter_set in counter_sets:
            set_name = counter_set["name"]
            if set_name in names:
                raise DuplicateCounterSet(f"duplicate counter set name {set_name}")
            names.add(set_name)
            for counter, value in (counter_set.get("counters") or {}).items():
                totals[set_name, counter] = nanos(value)
        key = (tuple(totals), frozenset(names))
        layout = _LAYOUTS.get(key)
        if layout is None:
            layout = _LAYOUTS[key] = Layout(*key)
        return PoolCounters(layout, tuple(totals.values()))


class Availability:
    """What is left of a pool's counters after the allocated devices, by number; never changed during a search."""

    __slots__ = ("free", "overdrawn")

    def __init__(self, counters: PoolCounters, allocated: Iterable[Needs]) -> None:
        free = list(counters.totals)
        for needs in allocated:
            for number, amount in needs:
                free[number] -= amount
        self.free: Sequence[int] = free
        # A defect of upstream: one overdrawn counter keeps every device of the pool that needs counters from being
        # allocated, for the check covers all counter sets of the pool.
        self.overdrawn = any(amount < 0 for amount in free)

    def shortage(self, needs: Needs, used: Sequence[int] | None = None) -> int | None:
        """Number of the first counter that has less than needed once ``used`` is taken away, or None."""
        free = self.free
        for number, amount in needs:
            if amount > (free[number] if used is None else free[number] - used[number]):
                return number
        return None
