"""Who holds what draws on the counters of a pool, and the reasons that come from that."""

from __future__ import annotations

import functools
from typing import Literal

from drakit_allocator.candidates import Situation
from drakit_allocator.devices.counters import Availability
from drakit_allocator.devices.devices import Device, DeviceID, PoolID
from drakit_allocator.explanation.reasons import (
    CounterOverdrawn,
    CountersShort,
    GroupsDiffer,
    Holder,
    ShortCounter,
)
from drakit_allocator.pools.compatibility import PoolGroups
from drakit_allocator.pools.pools import PoolView
from drakit_api.quantity import Quantity


@functools.lru_cache(maxsize=1024)
def amount_text(nanos: int) -> str:
    """Print an amount in 1e-9 units as a quantity: from 1Mi on with a binary suffix, if one divides it."""
    binary = Quantity(nanos, "BinarySI")
    return str(binary) if abs(nanos) >= 1024**2 * 10**9 and str(binary)[-1] == "i" else str(Quantity(nanos))


class Holdings:
    """Who holds the allocated devices of a node's pools, and what these draw from counters."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._by_pool: dict[PoolID, dict[int, tuple[Holder, ...]]] = {}
        self._groups: dict[PoolID, PoolGroups] = {}

    def claims(self, device_id: DeviceID) -> tuple[str, ...]:
        """Name the claims that hold a device as a whole, or shares of it."""
        allocated = self._situation.allocated
        return tuple(dict.fromkeys([*allocated.holders.get(device_id, ()), *self.sharers(device_id)]))

    def keepers(self, device_id: DeviceID) -> tuple[str, ...]:
        """Name the claims that keep others from a device: who has it whole, or else shares that nobody can add to."""
        holders = self._situation.allocated.holders.get(device_id)
        return tuple(dict.fromkeys(holders)) if holders else self.sharers(device_id)

    def sharers(self, device_id: DeviceID) -> tuple[str, ...]:
        """Name the claims that hold shares of a device."""
        return tuple(dict.fromkeys(self._situation.allocated.shares.get(device_id, {}).values()))

    def shortage(self, device: Device, pool: PoolView) -> CountersShort | CounterOverdrawn | None:
        """Find the counters of which the device needs more than is free, or else one that nobody can draw from."""
        availability, layout = pool.availability(self._situation.allocated), pool.counters.layout
        short = tuple(
            ShortCounter(
                *layout.names[number],
                amount_text(needed),
                amount_text(availability.free[number]),
                amount_text(pool.counters.totals[number]),
                self._holders(pool, number),
            )
            for number, needed in device.content.needs(layout)
            if needed > availability.free[number]
        )
        return CountersShort(pool.name, short) if short else self._overdrawn(device, pool, availability)

    def incompatible(self, device: Device, pool: PoolView) -> GroupsDiffer | None:
        """Find the first counter set whose allocated devices have no compatibility group in common with the device."""
        if not self._situation.features.compatibility_groups:
            return None
        if pool.id not in self._groups:
            self._groups[pool.id] = PoolGroups(pool, self._situation.allocated)
        for entry in device.content.consumption:
            if self._groups[pool.id].admit((entry,)) is None:
                groups = tuple(sorted(entry.compatibility_groups))
                return GroupsDiffer(pool.name, entry.counter_set, groups, self.drawing(pool, entry.counter_set))
        return None

    def drawing(self, pool: PoolView, counter_set: str) -> tuple[str, ...]:
        """Name the claims with devices that draw from the counter set."""
        allocated = frozenset(self._situation.allocated.in_pool(pool.id))
        return tuple(
            dict.fromkeys(
                claim
                for device in (*pool.devices, *pool.others)
                if device.id in allocated
                if any(entry.counter_set == counter_set for entry in device.content.consumption)
                for claim in self.claims(device.id)
            )
        )

    def _overdrawn(self, device: Device, pool: PoolView, availability: Availability) -> CounterOverdrawn | None:
        own = {entry.counter_set for entry in device.content.consumption}
        for number, (counter_set, counter) in enumerate(pool.counters.layout.names):
            free, total = availability.free[number], pool.counters.totals[number]
            if free < 0 and (availability.overdrawn or counter_set in own):
                amounts = amount_text(free), amount_text(total)
                blocks: Literal["pool", "counterSet"] = "pool" if availability.overdrawn else "counterSet"
                return CounterOverdrawn(pool.name, counter_set, counter, *amounts, self._holders(pool, number), blocks)
        return None

    def _holders(self, pool: PoolView, number: int) -> tuple[Holder, ...]:
        if pool.id not in self._by_pool:
            self._by_pool[pool.id] = self._in_pool(pool)
        return self._by_pool[pool.id].get(number, ())

    def _in_pool(self, pool: PoolView) -> dict[int, tuple[Holder, ...]]:
        """Return who holds devices that draw on a pool's counters, by number of the counter."""
        allocated = frozenset(self._situation.allocated.in_pool(pool.id))
        found: dict[int, tuple[Holder, ...]] = {}
        for device in (*pool.devices, *pool.others):
            if device.id not in allocated:
                continue
            claims = self.claims(device.id)
            for number, amount in device.content.needs(pool.counters.layout):
                if amount:
                    holders = (Holder(claim, device.name, amount_text(amount)) for claim in claims)
                    found[number] = (*found.get(number, ()), *holders)
        return found
