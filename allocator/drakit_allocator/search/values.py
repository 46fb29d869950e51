"""Attribute values as bits, and what constraints make of them.

A constraint looks at one value per device, or at a set of values with DRAListTypeAttributes. Here each value has the
mask of the devices that have it, so that what a constraint still allows is a few bit operations whatever the number of
devices. matchAttribute means that all devices have some element in common, distinctAttribute that no two have; a single
value is a set of one.

Semantics: ``matchAttributeConstraint`` and ``distinctAttributeConstraint`` of ``structured/internal/experimental``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from drakit_allocator.devices.columns import bits, remember
from drakit_allocator.errors import AllocationError
from drakit_allocator.pools.compared_attributes import Attribute, Value, is_unknown
from drakit_allocator.pools.views import PoolView
from drakit_allocator.requests import ClaimRequests
from drakit_allocator.search.numbering import Numbering

Elements = frozenset[Value]


class Column:
    """The values of one attribute, as some requests see it, for the devices that they may get.

    ``having`` are devices with a value, ``unknown`` those of them whose value is of no type that can be compared.
    ``faults`` are devices whose derived attribute cannot be evaluated: fatal for whoever comes to ask.
    """

    __slots__ = ("_masks", "elements", "faults", "groups", "having", "is_single", "unknown")

    def __init__(self, attribute: Attribute, numbering: Numbering, mask: int) -> None:
        """Read the values of the devices of ``mask``."""
        self.having = 0
        self.unknown = 0
        self.groups: dict[Value, int] = {}
        self.is_single = True  # whether no device has more than one value
        self._masks: dict[Elements, int] = {}  # by values
        self.elements: dict[int, Elements] = {}
        self.faults: dict[int, AllocationError] = {}
        for pool, offset in zip(numbering.pools, numbering.offsets, strict=True):
            inside = mask >> offset & pool.shape.everything
            if inside:
                self._read(attribute, pool, offset, inside)

    def _read(self, attribute: Attribute, pool: PoolView, offset: int, mask: int) -> None:
        try:
            values = attribute.values(pool)
            for place in bits(mask):
                self._add(offset + place, values[place], as_set=attribute.as_set)
        except AllocationError:
            for place in bits(mask):  # an expression that fails on one device may do for others
                try:
                    self._add(offset + place, attribute.of(pool.devices[place]), as_set=attribute.as_set)
                except AllocationError as error:
                    self.faults[offset + place] = error

    def _add(self, position: int, value: Value | None, *, as_set: bool) -> None:
        if value is None:
            return
        bit = 1 << position
        if is_unknown(value):
            if as_set:  # a set that cannot be compared satisfies no constraint at all
                return
            self.unknown |= bit
            elements: Elements = frozenset()
        else:
            elements = frozenset(Value(value.type, one) for one in value.content) if as_set else frozenset((value,))
        self.is_single = self.is_single and len(elements) <= 1
        self.having |= bit
        self.elements[position] = elements
        for element in elements:
            self.groups[element] = self.groups.get(element, 0) | bit

    def with_any(self, elements: Iterable[Value]) -> int:
        """Return the devices that have one of these elements, as bits."""
        mask = 0
        for element in elements:
            mask |= self.groups.get(element, 0)
        return mask

    def with_any_of(self, elements: Elements) -> int:
        """Return the devices that have one of these elements, and remember the answer."""
        found = self._masks.get(elements)
        if found is None:
            found = remember(self._masks, elements, self.with_any(elements))
        return found


@dataclass(frozen=True, slots=True)
class Match:
    """What the devices chosen so far have in common; None before the first."""

    common: Elements | None = None

    def allowed(self, column: Column) -> int:
        """Return the devices that may be next. The first may have any value, even one that nothing equals."""
        return column.having if self.common is None else column.with_any_of(self.common)

    def after(self, elements: Elements) -> Match:
        """Return the state with one more device."""
        return Match(elements if self.common is None else self.common & elements)


@dataclass(frozen=True, slots=True)
class Distinct:
    """The elements of the devices chosen so far; None before the first."""

    used: Elements | None = None

    def allowed(self, column: Column) -> int:
        """Return the devices that may be next, as bits."""
        if self.used is None:
            return column.having
        return column.having & ~column.unknown & ~column.with_any_of(self.used)

    def after(self, elements: Elements) -> Distinct:
        """Return the state with one more device."""
        return Distinct(elements if self.used is None else self.used | elements)


State = Match | Distinct


def initial_states(claims: Sequence[ClaimRequests]) -> list[State]:
    """List the states of the constraints, claim after claim, before any device is chosen."""
    return [Match() if constraint.is_match else Distinct() for claim in claims for constraint in claim.constraints]
