"""Which devices satisfy the selectors of a request, as bits.

Devices of a slice that are alike in all that the expressions read are decided together, once for all slices that are
alike in it; a pool is its slices one after the other, so that a slice that changes is the only one to be looked at.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from drakit_allocator.devices.changes import Attributes
from drakit_allocator.devices.columns import AttributeValue, Column, OneOfEach, bits, remember
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.devices.remembered_values import SelectorReading, selector
from drakit_allocator.devices.schemas import SliceSchema, Spoiled
from drakit_allocator.devices.traits import Capacity, capacities_of

_REMEMBERED = 64  # expressions of which each pool keeps the selection


class Fault(NamedTuple):
    """An expression failed, that at this position: an error for whoever visits the device."""

    position: int
    error: Exception


class Selection:
    """The devices ``among`` some of a slice for which all expressions are true, found out as far as somebody asks.

    An expression that fails may be one that runs into the cost limit, and should not do so on every device: after a
    first failure, nothing is evaluated but for devices that are visited.
    """

    def __init__(
        self,
        readings: Sequence[SelectorReading],
        columns: dict[str, Column[AttributeValue | None]],
        capacities: Column[Capacity] | None,
        among: int,
    ) -> None:
        self.mask = 0  # of the devices that have been decided on
        self._readings = tuple(readings)
        self._columns = columns
        self._capacities = capacities
        self._among = among
        self._groups = self._grouped()
        self._verdicts: list[bool | Fault] = []  # of groups, as far as they are known in order
        self._has_fault = False
        self._group_of: dict[int, int] | None = None

    def _grouped(self) -> list[int]:
        """Return masks of the devices that are alike, in the order of their first devices."""
        columns: list[Column[AttributeValue | None] | Column[Capacity]] = [*self._columns.values()]
        if self._capacities is not None:
            columns.append(self._capacities)
        if not columns:
            return [self._among] if self._among else []
        groups: dict[object, int] = {}
        bit = 1
        for row in columns[0].values if len(columns) == 1 else zip(*[one.values for one in columns], strict=True):
            groups[row] = groups.get(row, 0) | bit
            bit <<= 1
        masks = (mask & self._among for mask in groups.values())
        return sorted((mask for mask in masks if mask), key=lambda mask: mask & -mask)

    def is_clean(self) -> bool:
        """Decide on all devices; False as soon as an expression fails on one of them."""
        while not self._has_fault and len(self._verdicts) < len(self._groups):
            self._decide()
        if not self._has_fault:
            self._columns, self._capacities = {}, None  # which may remember this selection themselves
        return not self._has_fault

    def visit(self) -> Iterator[tuple[int, Fault | None]]:
        """Yield the devices that match (with None) or fail, in order, by position; each is decided when asked for."""
        for position in bits(self._among):
            verdict = self._verdict(position)
            if verdict is not False:
                yield position, None if verdict is True else verdict

    def _verdict(self, position: int) -> bool | Fault:
        if self._group_of is None:
            self._group_of = {one: number for number, mask in enumerate(self._groups) for one in bits(mask)}
        number = self._group_of[position]
        # Groups stand in the order of their first devices, so that going on in order never evaluates too much.
        while len(self._verdicts) <= number:
            self._decide()
        return self._verdicts[number]

    def _decide(self) -> None:
        """Evaluate for the next group."""
        mask = self._groups[len(self._verdicts)]
        verdict = self._evaluate((mask & -mask).bit_length() - 1)
        self._verdicts.append(verdict)
        if verdict is True:
            self.mask |= mask
        elif verdict is not False:
            self._has_fault = True

    def _evaluate(self, position: int) -> bool | Fault:
        """Evaluate up to the first expression that is false or fails."""
        for number, reading in enumerate(self._readings):
            values = [self._columns[name].values[position] for name in reading.names]
            capacity = None
            if reading.reads_capacity and self._capacities is not None:
                capacity = self._capacities.values[position]
            found = reading.of(values, capacity)
            if found is False:
                return False
            if found is not True:
                return Fault(number, found)
        return True


class Part(NamedTuple):
    """What expressions read of slices with one schema; ``positions`` are those of the attributes ``names``."""

    readings: tuple[SelectorReading, ...]
    names: tuple[str, ...]
    positions: tuple[int, ...]
    reads_capacity: bool
    spoiled: Spoiled


def part_of(schema: SliceSchema, expressions: tuple[str, ...]) -> Part:
    """Return what these expressions read of a slice."""
    found: Part | None = schema.readings.get(expressions)
    if found is None:
        found = remember(schema.readings, expressions, _part(schema, expressions))
    return found


def _part(schema: SliceSchema, expressions: tuple[str, ...]) -> Part:
    readings = tuple([selector(schema.driver, one, schema.names, schema.spoiled) for one in expressions])
    read = tuple(dict.fromkeys(name for one in readings for name in one.names))
    positions = tuple([schema.positions[name] for name in read])
    return Part(readings, read, positions, any(one.reads_capacity for one in readings), schema.spoiled)


class _Plan:
    """What expressions read of pools with one schema, worked out once for all of them."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.reads = tuple([part.positions for part in parts])
        self.reads_capacity = any(part.reads_capacity for part in parts)
        # By the columns that are read, which who holds the selection holds as well.
        self.found: OneOfEach[Hashable, PoolSelection] = OneOfEach()


Reads = tuple[tuple[int, ...], ...]  # positions of attributes, for each slice


class Schema:
    """The schemas of some slices: where they are equal, expressions read the same. Made by ``schema_of``."""

    __slots__ = ("__weakref__", "_plans", "_slices")

    def __init__(self, slices: tuple[SliceSchema, ...]) -> None:
        self._slices = slices
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def plan(self, expressions: tuple[str, ...]) -> _Plan:
        """Return what these expressions read of each slice."""
        found = self._plans.get(expressions)
        if found is None:
            found = remember(self._plans, expressions, _Plan([part_of(one, expressions) for one in self._slices]))
        return found


_SCHEMAS: OneOfEach[tuple[SliceSchema, ...], Schema] = OneOfEach()


def schema_of(slices: Iterable[PublishedSlice]) -> Schema:
    """Return the schema of these slices in this order."""
    parts = tuple([one.schema for one in slices])
    return _SCHEMAS.of(parts, Schema, parts)


def new_selection(published: PublishedSlice, part: Part, among: int) -> Selection:
    """Return the devices ``among`` those of a slice that satisfy the expressions of ``part``; nobody remembers it."""
    columns = dict(zip(part.names, published.columns_at(part.positions), strict=True))
    return Selection(part.readings, columns, capacities_of(published.traits) if part.reads_capacity else None, among)


def _selection(published: PublishedSlice, expressions: tuple[str, ...], part: Part, among: int) -> Selection:
    """Return a slice's devices that satisfy the expressions; shared with all slices that are alike in what is read."""
    columns = published.columns_at(part.positions)
    capacities = capacities_of(published.traits)
    # On the youngest of the columns: it does not outlive the others, and a column that only this slice has does not
    # crowd the memory of those that many have.
    read: list[Column[Any]] = [*columns, *([capacities] if part.reads_capacity else [])]
    host = max(read, key=lambda column: column.number, default=capacities)
    names = tuple([(name, column.number) for name, column in zip(part.names, columns, strict=True)])
    key = (expressions, published.pool[0], names, part.spoiled, part.reads_capacity and capacities.number, among)
    found: Selection | None = host.memory.get(key)
    return found or remember(host.memory, key, new_selection(published, part, among))


class PoolSelection:
    """The selections of some slices, one after the other."""

    __slots__ = ("__weakref__", "_is_decided", "_parts", "mask")

    def __init__(self, slices: Iterable[PublishedSlice], expressions: tuple[str, ...], plan: _Plan, among: int) -> None:
        self.mask = 0  # once it is clean
        self._is_decided = False
        self._parts: list[tuple[int, Selection]] = []
        start = 0
        for one, part in zip(slices, plan.parts, strict=True):
            of_slice = among >> start & (1 << len(one)) - 1
            self._parts.append((start, _selection(one, expressions, part, of_slice)))
            start += len(one)

    def is_clean(self) -> bool:
        """Decide on all devices; False as soon as an expression fails on one of them."""
        if self._is_decided:
            return True
        if not all(part.is_clean() for _, part in self._parts):
            return False
        for start, part in self._parts:
            self.mask |= part.mask << start
        self._is_decided = True
        return True

    def visit(self) -> Iterator[tuple[int, Fault | None]]:
        """Yield the devices that match (with None) or fail, in order, by position; each is decided when asked for."""
        return ((start + position, fault) for start, part in self._parts for position, fault in part.visit())


class PoolSelections:
    """The selections of one pool. Others that are alike in what is read have the same objects."""

    __slots__ = ("_among", "_capacities", "_known", "_read", "_schema", "_slices")

    def __init__(self, slices: Sequence[PublishedSlice], capacities: Column[Capacity], among: int) -> None:
        self._slices = slices
        self._capacities = capacities
        self._among = among
        self._schema = schema_of(slices)
        self._known: dict[tuple[str, ...], PoolSelection] = {}
        self._read: tuple[Reads, tuple[Attributes, ...]] = ((), ())  # last time

    def of(self, expressions: tuple[str, ...]) -> PoolSelection:
        """Return the devices that satisfy all expressions."""
        found = self._known.get(expressions)
        if found is None:
            found = remember(self._known, expressions, self._shared(expressions), _REMEMBERED)
        return found

    def _shared(self, expressions: tuple[str, ...]) -> PoolSelection:
        plan = self._schema.plan(expressions)
        reads, read = self._read
        if reads is not plan.reads and reads != plan.reads:
            read = tuple([one.columns_at(positions) for one, positions in zip(self._slices, plan.reads, strict=True)])
            self._read = plan.reads, read
        key = (read, self._capacities.number if plan.reads_capacity else 0, self._among)
        found = plan.found.get(key)
        if found is None:
            found = plan.found[key] = PoolSelection(self._slices, expressions, plan, self._among)
        return found
