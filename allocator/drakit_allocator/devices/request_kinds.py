"""Kinds of requests: what of a request decides which devices it may get, one by one.

Claims repeat a handful of kinds. One object stands for equal ones, so that what pools remember about a kind is found
without comparing expressions and amounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from drakit_allocator.devices.capacity import Amounts, BrokenRange, CapacityError, consumed, fits
from drakit_allocator.devices.columns import OneOfEach, remember
from drakit_allocator.devices.traits import Capacity


class RequestKind:
    """Compared by identity, made by ``kind_of``.

    ``draws_counters``: whether it needs counters for its devices. ``skips_broken``: whether it passes over devices with
    a policy that makes no sense; asking for one is an error otherwise.
    """

    def __init__(
        self,
        expressions: tuple[str, ...],
        has_admin_access: bool,
        capacity: Amounts,
        tolerations: Sequence[Mapping[str, Any]],
        fractional: bool,
        draws_counters: bool,
        skips_broken: bool,
    ) -> None:
        self.expressions = expressions
        self.has_admin_access = has_admin_access
        self.capacity = capacity
        self.tolerations = tuple(tolerations)
        self.fractional = fractional
        self.draws_counters = draws_counters
        self.skips_broken = skips_broken
        self.tolerated = _text(tolerations)  # equal for the same tolerations
        self.asked = (_comparable(capacity), fractional, skips_broken)  # equal for the same amounts
        self._amounts: dict[int, Amounts | CapacityError | None] = {}

    def amounts(self, capacity: Capacity) -> Amounts | CapacityError | None:
        """Return what a device would give of its capacities, None if it cannot, or the error that ends the search."""
        if capacity.number in self._amounts:
            return self._amounts[capacity.number]
        found: Amounts | CapacityError | None
        try:
            found = consumed(capacity.limits, self.capacity, fractional=self.fractional)
        except CapacityError as error:
            is_passed_over = self.skips_broken and isinstance(error, BrokenRange)
            found = None if is_passed_over else error.with_traceback(None)
        return remember(self._amounts, capacity.number, found)

    def passes_over(self, capacity: Capacity) -> str:
        """Say why a policy of the device makes no sense, if it is passed over for that reason; else empty."""
        try:
            if self.skips_broken:
                consumed(capacity.limits, self.capacity, fractional=self.fractional)
        except BrokenRange as error:
            return str(error)
        except CapacityError:
            pass
        return ""

    def has_room(self, capacity: Capacity, taken: Mapping[str, int]) -> bool:
        """Tell whether a device has what the kind asks for, next to what others have taken of it."""
        amounts = self.amounts(capacity)
        return amounts is not None and not isinstance(amounts, CapacityError) and fits(capacity.limits, amounts, taken)


_KINDS: OneOfEach[Any, RequestKind] = OneOfEach()


def kind_of(
    expressions: tuple[str, ...],
    has_admin_access: bool,
    capacity: Amounts,
    tolerations: Sequence[Mapping[str, Any]],
    *,
    fractional: bool,
    draws_counters: bool = True,
    skips_broken: bool = False,
) -> RequestKind:
    """Return the one kind of all requests with these selectors (of class and request), capacities and so on."""
    rules = fractional, draws_counters, skips_broken
    key = (expressions, has_admin_access, _comparable(capacity), _text(tolerations), *rules)
    return _KINDS.of(key, RequestKind, expressions, has_admin_access, capacity, tolerations, *rules)


def _comparable(amounts: Amounts) -> tuple[tuple[str, int, str], ...]:
    """Convert amounts for comparison: upstream tells 1024 from 1Ki where it compares an amount with a default."""
    return tuple(sorted((name, amount.nanos, str(amount.format)) for name, amount in amounts.items()))


def _text(value: Any) -> bytes:
    return msgspec.json.encode(value) if value else b""
