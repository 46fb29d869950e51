"""Whether the devices prepared on a node together take more than there is.

The scheduler should never let that happen, and the driver is the last line of defence if it does (DRAPlugin in
k8s.io/dynamic-resource-allocation/kubeletplugin/draplugin.go). So this arithmetic knows nothing of the allocator's: it
adds up what the prepared devices consume and compares it with what the driver's pools have. Admin access takes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drakit_api.quantity import Quantity
from drakit_driver.preparing.checkpoint import PreparedClaim, PreparedDevice

if TYPE_CHECKING:
    from drakit_api.layouts.pools import Pool

Device = dict[str, Any]
DeviceKey = tuple[str, str]


class Inventory:
    """The devices and counters of a driver's flat pools, by pool and name; counters in billionths (nanos)."""

    def __init__(self, pools: Iterable[Pool]) -> None:
        self.pools: dict[str, Pool] = {}
        self.devices: dict[DeviceKey, Device] = {}
        self.counters: dict[tuple[str, str], dict[str, int]] = {}
        for pool in pools:
            self.pools[pool.name] = pool
            for device in pool.devices:
                self.devices[pool.name, device["name"]] = device
            for counter_set in pool.shared_counters:
                self.counters[pool.name, counter_set["name"]] = {
                    name: Quantity.parse(counter["value"]).nanos
                    for name, counter in (counter_set.get("counters") or {}).items()
                }


def consumption(device: Device) -> dict[str, dict[str, str]]:
    """Return ``consumesCounters`` of a device as ``{counter set: {counter: quantity}}``."""
    return {
        entry["counterSet"]: {name: str(counter["value"]) for name, counter in (entry.get("counters") or {}).items()}
        for entry in device.get("consumesCounters") or []
    }


def over_commitment(
    inventory: Inventory, prepared: Iterable[PreparedClaim], wanted: Sequence[PreparedDevice]
) -> str | None:
    """Say why ``wanted`` does not fit beside the ``prepared`` claims; None if it does."""
    taken: dict[DeviceKey, list[tuple[PreparedDevice, str]]] = defaultdict(list)
    for claim in prepared:
        for device in claim.devices:
            if not device.admin_access:
                taken[device.pool, device.device].append((device, f"claim {claim.namespace}/{claim.name}"))
    for device in wanted:
        if device.admin_access:
            continue
        holders = taken[device.pool, device.device]
        if problem := _shared(inventory, device, holders):
            return problem
        holders.append((device, "this claim"))
    return _counters(inventory, taken, wanted)


def _shared(inventory: Inventory, device: PreparedDevice, holders: list[tuple[PreparedDevice, str]]) -> str | None:
    where = f"device {device.device} of pool {device.pool}"
    if holders and not (device.shareable and all(holder.shareable for holder, _ in holders)):
        return f"{where} is already prepared for {holders[0][1]}"
    published = inventory.devices[device.pool, device.device].get("capacity") or {}
    for name, amount in device.consumed_capacity.items():
        total = sum(_nanos(other.consumed_capacity.get(name, "0")) for other, _ in holders) + _nanos(amount)
        available = _nanos(published.get(name, {}).get("value", "0"))
        if total > available:
            return f"{where}: capacity {name} is over-committed: {_text(total)} of {_text(available)}"
    return None


def _counters(
    inventory: Inventory,
    taken: Mapping[DeviceKey, list[tuple[PreparedDevice, str]]],
    wanted: Sequence[PreparedDevice],
) -> str | None:
    used: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (pool, _), holders in taken.items():
        # A device that several claims share takes its counters once.
        for counter_set, counters in (holders[0][0].consumes if holders else {}).items():
            for name, amount in counters.items():
                used[pool, counter_set][name] += _nanos(amount)
    touched = {(item.pool, counter_set) for item in wanted if not item.admin_access for counter_set in item.consumes}
    for pool, counter_set in sorted(touched):
        available = inventory.counters.get((pool, counter_set), {})
        for name, total in used[pool, counter_set].items():
            if total > available.get(name, 0):
                limit = _text(available.get(name, 0))
                return f"pool {pool}: counter {counter_set}/{name} is over-committed: {_text(total)} of {limit}"
    return None


def _nanos(quantity: str) -> int:
    return Quantity.parse(quantity).nanos


def _text(nanos: int) -> str:
    return str(Quantity(nanos))
