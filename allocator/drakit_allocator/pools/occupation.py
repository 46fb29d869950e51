"""What the allocated devices leave of one pool, as bits: which are in use, which are shared, which lack counters.

An allocation or release changes one device and a few counters, and only these are looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.devices.columns import union
from drakit_allocator.devices.counters import Availability, Consumers, Draw, PoolCounters
from drakit_allocator.devices.devices import DeviceID


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Who draws what from the counters of a pool.

    ``others`` are devices that the node does not see, by name; several may have one name. ``shareable`` are the devices
    that can be shared; their shares, but for the first, draw from no counters. ``overdraft_blocks`` as in ``shape_of``;
    ``shares_keep``: whether shares of a device that cannot be shared any more keep others from it.
    """

    counters: PoolCounters
    consumers: Consumers
    shareable: int
    overdraft_blocks: bool
    shares_keep: bool
    positions: Mapping[str, int]
    draws: Sequence[Draw]
    others: Mapping[str, Sequence[Draw]]


class Occupation:
    """The state of a pool at one moment; never changed."""

    __slots__ = (
        "_stopped",
        "availability",
        "charged_others",
        "in_use",
        "kept",
        "orphaned",
        "overdrawn",
        "shared",
        "unaffordable",
    )

    def __init__(self, free: Sequence[int], stopped: dict[int, int], overdrawn: frozenset[int]) -> None:
        """Start from free counters. ``stopped`` and ``overdrawn`` name a counter set by its first counter's number."""
        self.in_use = 0  # devices allocated as a whole
        self.shared = 0  # devices of which shares or capacity are given out
        self.orphaned = 0  # those among them that cannot be shared any more
        self.kept = 0  # devices that nobody else can have, but for admin access
        self.unaffordable = 0  # devices that cannot be had for want of counters
        self.charged_others: frozenset[str] = frozenset()
        self.availability = Availability.known(free, overdrawn=False)
        self.overdrawn = overdrawn
        self._stopped = stopped

    @staticmethod
    def nothing(counters: PoolCounters, consumers: Consumers, *, overdraft_blocks: bool) -> Occupation:
        """Make the occupation of a pool of which nothing is allocated."""
        stopped: dict[int, int] = {}
        negative = set()
        for start, end in counters.layout.spans:
            stopped[start], is_negative = consumers.stopped(start, counters.totals[start:end])
            if is_negative:
                negative.add(start)
        found = Occupation(counters.totals, stopped, frozenset(negative))
        found.unaffordable = found.short(consumers, overdraft_blocks)
        return found

    def short(self, consumers: Consumers, overdraft_blocks: bool) -> int:
        """Return the devices that lack counters, as bits; shared ones are not left out yet."""
        if self.overdrawn and overdraft_blocks:
            self.availability.overdrawn = True
            return consumers.mask
        mask = union(self._stopped.values())
        for start in self.overdrawn:
            mask |= consumers.of_set(start)
        return mask

    def settled(self, drawing: Drawing) -> Occupation:
        """Set ``kept``, ``orphaned`` and ``unaffordable`` from the rest, and return this object."""
        self.kept = self.in_use
        self.unaffordable = self.short(drawing.consumers, drawing.overdraft_blocks)
        if self.shared:
            self.orphaned = self.shared & ~drawing.shareable
            self.kept |= self.orphaned if drawing.shares_keep else 0
            self.unaffordable &= ~(self.shared & drawing.shareable)
        return self

    def after(self, changed: Iterable[DeviceID], allocated: AllocatedState, drawing: Drawing) -> Occupation:
        """Return the occupation after changes to these devices."""
        change = _Change(self, drawing)
        for device_id in dict.fromkeys(changed):
            change.device(device_id, allocated)
        return change.done()


class _Change:
    """An occupation on its way to the next one."""

    __slots__ = ("before", "drawing", "free", "in_use", "others", "shared", "touched")

    def __init__(self, before: Occupation, drawing: Drawing) -> None:
        self.before = before
        self.drawing = drawing
        self.in_use = before.in_use
        self.shared = before.shared
        self.others = before.charged_others
        self.free: list[int] | None = None
        self.touched: set[tuple[int, int]] = set()  # counter sets

    def device(self, device_id: DeviceID, allocated: AllocatedState) -> None:
        name, drawing = device_id[2], self.drawing
        is_held, is_shared = device_id in allocated.holders, allocated.is_shared(device_id)
        is_charged = is_held or is_shared
        position = drawing.positions.get(name)
        if position is not None:
            bit = 1 << position
            if is_charged != bool((self.in_use | self.shared) & bit):
                self._draw(drawing.draws[position], is_charged)
            self.in_use = self.in_use | bit if is_held else self.in_use & ~bit
            self.shared = self.shared | bit if is_shared else self.shared & ~bit
        if name in drawing.others and is_charged != (name in self.others):
            self.others ^= {name}
            for draw in drawing.others[name]:
                self._draw(draw, is_charged)

    def _draw(self, draw: Draw, is_charged: bool) -> None:
        if self.free is None:
            self.free = list(self.before.availability.free)
        free = self.free
        for number, amount in draw.needs:
            free[number] -= amount if is_charged else -amount
        self.touched.update(draw.spans)

    def done(self) -> Occupation:
        stopped, negative = self.before._stopped, self.before.overdrawn
        free: Sequence[int] = self.before.availability.free
        if self.free is not None:
            free, stopped = self.free, dict(stopped)
            for start, end in self.touched:
                stopped[start], is_negative = self.drawing.consumers.stopped(start, tuple(free[start:end]))
                if is_negative or negative:
                    negative = negative | {start} if is_negative else negative - {start}
        after = Occupation(free, stopped, negative)
        after.in_use, after.shared, after.charged_others = self.in_use, self.shared, self.others
        return after.settled(self.drawing)
