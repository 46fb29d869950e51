"""Shared counters: what the partitions of one physical device may draw from together.

Amounts are exact integers in 1e-9 units. Counters of a pool are numbered once (a ``Layout``, shared by all pools with
the same counter sets), so that a device's needs are a few (number, amount) pairs and a check touches nothing else.
Semantics: ``checkAvailableCounters`` of ``structured/internal/experimental/allocator_experimental.go``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from drakit_allocator.devices.columns import OneOfEach, remember
from drakit_api.quantity import Quantity

Needs = tuple[tuple[int, int], ...]  # (number of the counter in the pool's layout, amount in 1e-9 units)
CounterName = tuple[str, str]  # counter set, counter

_REMEMBERED = 4096  # states of counter sets, for each kind of pool


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a device draws from one counter set, as published."""

    counter_set: str
    amounts: tuple[tuple[str, int], ...]  # counter, and how much in 1e-9 units
    compatibility_groups: frozenset[str]


def parse_consumption(device: Mapping[str, Any]) -> tuple[Consumption, ...]:
    """Parse ``consumesCounters`` of a v1 device; an empty tuple for a device that draws from no counter set."""
    return tuple(
        Consumption(
            entry["counterSet"],
            tuple((name, nanos(counter)) for name, counter in (entry.get("counters") or {}).items()),
            frozenset(entry.get("compatibilityGroups") or ()),
        )
        for entry in device.get("consumesCounters") or ()
    )


def nanos(counter: Mapping[str, Any]) -> int:
    """Return the value of a v1 ``Counter`` in 1e-9 units."""
    return Quantity.parse(counter["value"]).nanos


class Layout:
    """The numbering of a pool's counters. Equal numberings are one object."""

    __slots__ = ("__weakref__", "names", "numbers", "sets", "spans")

    def __init__(self, names: tuple[CounterName, ...], sets: frozenset[str]) -> None:
        self.names = names
        self.spans = _spans(names)  # for each number, the range of the numbers of its counter set
        self.numbers = {name: number for number, name in enumerate(names)}
        self.sets = sets

    def needs(self, consumption: Iterable[Consumption]) -> Needs:
        """Add up needs by counter number. Raises ``KeyError`` with upstream's words for an unknown set or counter."""
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

    def draw(self, consumption: Iterable[Consumption]) -> Draw:
        """Return the needs of a device, with the spans of the counter sets that it draws from."""
        needs = self.needs(consumption)
        return Draw(needs, tuple({self.spans[number] for number, _ in needs}))


class Draw(NamedTuple):
    """Needs, and where the counter sets that they concern begin and end."""

    needs: Needs
    spans: tuple[tuple[int, int], ...] = ()


def _spans(names: tuple[CounterName, ...]) -> list[tuple[int, int]]:
    """Return for each counter the range of numbers of its set, whose counters have consecutive numbers."""
    first: dict[str, int] = {}
    size: dict[str, int] = {}
    for number, (counter_set, _) in enumerate(names):
        first.setdefault(counter_set, number)
        size[counter_set] = size.get(counter_set, 0) + 1
    return [(first[one], first[one] + size[one]) for one, _ in names]


_LAYOUTS: OneOfEach[tuple[tuple[CounterName, ...], frozenset[str]], Layout] = OneOfEach()


class DuplicateCounterSet(ValueError):
    """Two counter sets of a pool have one name; the message is upstream's."""


class PublishedCounters:
    """The counter sets of one slice: names and totals. Equal ones are one object."""

    __slots__ = ("__weakref__", "sets")

    def __init__(self, counter_sets: Iterable[Mapping[str, Any]]) -> None:
        self.sets = tuple(
            (one["name"], tuple((name, nanos(counter)) for name, counter in (one.get("counters") or {}).items()))
            for one in counter_sets
        )


_PUBLISHED: OneOfEach[bytes, PublishedCounters] = OneOfEach()


def counters_of(counter_sets: Sequence[Mapping[str, Any]]) -> PublishedCounters:
    """Return the one object for all equal ``sharedCounters`` of v1 slices."""
    encoded = msgspec.json.encode(counter_sets)
    return _PUBLISHED.of(encoded, PublishedCounters, counter_sets)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class PoolCounters:
    """The counters of one pool: numbering and totals (1e-9 units, by number)."""

    layout: Layout
    totals: tuple[int, ...]

    @staticmethod
    def of(counter_sets: Iterable[Mapping[str, Any]]) -> PoolCounters:
        """Make the counters from v1 counter sets. Raises ``DuplicateCounterSet``."""
        return PoolCounters.joined([PublishedCounters(counter_sets)])

    @staticmethod
    def joined(published: Iterable[PublishedCounters]) -> PoolCounters:
        """Put together the counter sets of all slices of a pool. Raises ``DuplicateCounterSet``."""
        totals: dict[CounterName, int] = {}
        names: set[str] = set()
        for set_name, counters in (one for part in published for one in part.sets):
            if set_name in names:
                raise DuplicateCounterSet(f"duplicate counter set name {set_name}")
            names.add(set_name)
            for counter, total in counters:
                totals[set_name, counter] = total
        layout = _layout_of(tuple(totals), frozenset(names))
        amounts = tuple(totals.values())
        return _POOLS.of((layout, amounts), PoolCounters, layout, amounts)


_POOLS: OneOfEach[tuple[Layout, tuple[int, ...]], PoolCounters] = OneOfEach()


def _layout_of(names: tuple[CounterName, ...], sets: frozenset[str]) -> Layout:
    return _LAYOUTS.of((names, sets), Layout, names, sets)


class Availability:
    """What is left of a pool's counters after the allocated devices, by number; never changed during a search.

    ``overdrawn`` says that no device which needs counters can be had, however little it needs
    (``Defect.OVERDRAFT_BLOCKS_POOL``).
    """

    __slots__ = ("free", "overdrawn")

    def __init__(self, counters: PoolCounters, allocated: Iterable[Needs]) -> None:
        free = list(counters.totals)
        for needs in allocated:
            for number, amount in needs:
                free[number] -= amount
        self.free: Sequence[int] = free
        self.overdrawn = any(amount < 0 for amount in free)

    @staticmethod
    def known(free: Sequence[int], *, overdrawn: bool) -> Availability:
        """Make the availability from what is free, which is not looked at again."""
        found = object.__new__(Availability)
        found.free = free
        found.overdrawn = overdrawn
        return found

    def shortage(self, needs: Needs) -> int | None:
        """Return the number of the first counter with less than needed, or None."""
        return next((number for number, amount in needs if amount > self.free[number]), None)


class Consumers:
    """For devices in their order: which of them counters stop, depending on how much is free of them, as bits."""

    __slots__ = ("_amounts", "_by_set", "_known", "_masks", "mask")

    def __init__(self, consumptions: Iterable[tuple[tuple[Consumption, ...], Needs]], layout: Layout) -> None:
        self.mask = 0  # all that draw from counters
        self._by_set: dict[int, int] = {}  # those that draw from a counter set, by its first counter
        starts = {name: layout.spans[number][0] for number, (name, _) in enumerate(layout.names)}
        needing: list[dict[int, int]] = [{} for _ in layout.names]
        for position, (consumption, needs) in enumerate(consumptions):
            self.mask |= bool(consumption) << position
            for start in {starts[entry.counter_set] for entry in consumption if entry.counter_set in starts}:
                self._by_set[start] = self._by_set.get(start, 0) | 1 << position
            for number, amount in needs:
                needing[number][amount] = needing[number].get(amount, 0) | 1 << position
        self._amounts = [sorted(by_amount) for by_amount in needing]
        self._masks = [_suffixes([by_amount[one] for one in sorted(by_amount)]) for by_amount in needing]
        self._known: dict[tuple[int, tuple[int, ...]], tuple[int, bool]] = {}

    def of_set(self, start: int) -> int:
        """Return, as bits, the devices that draw from the counter set whose first counter has this number."""
        return self._by_set.get(start, 0)

    def levels(self, number: int) -> tuple[Sequence[int], Sequence[int]]:
        """Return the amounts that devices need of a counter, rising; and for each who needs as much or more, then 0."""
        return self._amounts[number], self._masks[number]

    def stopped(self, start: int, free: tuple[int, ...]) -> tuple[int, bool]:
        """Return the devices that need more of a counter than ``free`` has, and whether a counter is below 0.

        ``free`` is what is left of the counters from number ``start`` on. Meant for the counters of one set, which has
        far fewer states than a pool.
        """
        known = self._known.get((start, free))
        if known is None:
            mask = 0
            for number, left in enumerate(free, start):
                mask |= self._masks[number][bisect_right(self._amounts[number], left)]
            known = remember(self._known, (start, free), (mask, min(free) < 0), _REMEMBERED)
        return known


def _suffixes(masks: list[int]) -> list[int]:
    """Compute for each position the union of the masks from there on; 0 after the last."""
    found = [0]
    for mask in reversed(masks):
        found.append(found[-1] | mask)
    return found[::-1]
