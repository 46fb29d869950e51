"""What the allocated devices leave of one pool, as bits: which are in use, which are shared, which lack counters.

An allocation or release changes one device and a few counters, and only these are looked at again.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.counters import Availability, Consumers, Needs, PoolCounters
from drakit_allocator.devices import DeviceID


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Who draws what from the counters of a pool.

    ``others`` are devices that the node does not see, by name; several may have one name.
    """

    counters: PoolCounters
    consumers: Consumers
    positions: Mapping[str, int]
    needs: Sequence[Needs]
    others: Mapping[str, Sequence[Needs]]


@dataclass(frozen=True, slots=True, eq=False)
class Occupation:
    """The state of a pool at one moment; never changed.

    ``short`` are the devices that need more of some counter than is free, or all that need any if the pool is blocked.
    """

    availability: Availability
    in_use: int = 0  # as a whole
    shared: int = 0  # shares or capacity of which are given out
    short: int = 0
    charged_others: frozenset[str] = frozenset()
    _negative: int = 0  # counters, as bits
    _stopped: Sequence[int] = ()  # by counter
    _stopped_by_set: Mapping[int, int] | None = None  # by the first counter of the set

    @staticmethod
    def nothing(counters: PoolCounters, consumers: Consumers) -> Occupation:
        """Nothing is allocated."""
        stopped = [consumers.stopped(number, total) for number, total in enumerate(counters.totals)]
        negative = sum((total < 0) << number for number, total in enumerate(counters.totals))
        by_set = {start: _union(stopped[start:end]) for start, end in counters.layout.spans}
        availability = Availability.known(counters.totals, has_negative=bool(negative))
        short = consumers.mask if availability.overdrawn else _union(by_set.values())
        return Occupation(availability, short=short, _negative=negative, _stopped=stopped, _stopped_by_set=by_set)

    def after(self, changed: Iterable[DeviceID], allocated: AllocatedState, drawing: Drawing) -> Occupation:
        """What it is like now that something about these devices may have changed."""
        change = _Change(self, drawing)
        for device_id in dict.fromkeys(changed):
            change.device(device_id, allocated)
        return change.done()


class _Change:
    """An occupation on its way to the next one."""

    def __init__(self, before: Occupation, drawing: Drawing) -> None:
        self._before = before
        self._drawing = drawing
        self._in_use = before.in_use
        self._shared = before.shared
        self._others = before.charged_others
        self._negative = before._negative
        self._free: list[int] | None = None
        self._stopped: list[int] = []
        self._spans: set[tuple[int, int]] = set()

    def device(self, device_id: DeviceID, allocated: AllocatedState) -> None:
        """Look at what is now given out of a device."""
        name = device_id[2]
        is_held, is_shared = device_id in allocated.holders, allocated.is_shared(device_id)
        is_charged = is_held or is_shared
        position = self._drawing.positions.get(name)
        if position is not None:
            bit = 1 << position
            if is_charged != bool((self._in_use | self._shared) & bit):
                self._draw(self._drawing.needs[position], 1 if is_charged else -1)
            self._in_use = self._in_use | bit if is_held else self._in_use & ~bit
            self._shared = self._shared | bit if is_shared else self._shared & ~bit
        if name in self._drawing.others and is_charged != (name in self._others):
            self._others ^= {name}
            for needs in self._drawing.others[name]:
                self._draw(needs, 1 if is_charged else -1)

    def _draw(self, needs: Needs, sign: int) -> None:
        if self._free is None:
            self._free, self._stopped = list(self._before.availability.free), list(self._before._stopped)
        free, stopped = self._free, self._stopped
        consumers, spans = self._drawing.consumers, self._drawing.counters.layout.spans
        for number, amount in needs:
            left = free[number] = free[number] - sign * amount
            stopped[number] = consumers.stopped(number, left)
            if left < 0:
                self._negative |= 1 << number
            elif self._negative:
                self._negative &= ~(1 << number)
            self._spans.add(spans[number])

    def done(self) -> Occupation:
        """The occupation after the changes."""
        before = self._before
        if self._free is None:
            return Occupation(
                before.availability,
                self._in_use,
                self._shared,
                before.short,
                self._others,
                before._negative,
                before._stopped,
                before._stopped_by_set,
            )
        by_set = dict(before._stopped_by_set or {})
        for start, end in self._spans:
            by_set[start] = _union(self._stopped[start:end])
        availability = Availability.known(self._free, has_negative=bool(self._negative))
        short = self._drawing.consumers.mask if availability.overdrawn else _union(by_set.values())
        return Occupation(
            availability, self._in_use, self._shared, short, self._others, self._negative, self._stopped, by_set
        )


def _union(masks: Iterable[int]) -> int:
    return functools.reduce(operator.or_, masks, 0)
