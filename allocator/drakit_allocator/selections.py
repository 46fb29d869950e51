"""Which devices of a pool satisfy the selectors of a request, as bits.

Devices that are alike in all that the expressions read are decided together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from drakit_allocator.columns import AttributeValue, Column, bits
from drakit_allocator.readings import SelectorReading
from drakit_allocator.traits import Capacity


class Fault(NamedTuple):
    """An expression failed, that at this position: an error for whoever visits the device."""

    position: int
    error: Exception


class Selection:
    """The devices ``among`` some of a pool for which all expressions are true, found out as far as somebody asks.

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
        """Masks of the devices that are alike, in the order of their first devices."""
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
        """The devices that match or fail, in order; decided as the caller goes on."""
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
        """Up to the first expression that is false or fails."""
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
