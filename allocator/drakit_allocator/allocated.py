"""What is allocated already, from claims or as raw state, and who holds it.

Kept up to date claim by claim: every change gives the pool a new token, so that what was computed for a pool stays
valid until a device of that very pool is allocated or released. Semantics: ``foreachAllocatedDevice`` of
kube-scheduler's dynamicresources plugin and ``IsDeviceAllocated`` of ``structured/internal/allocatedstate.go``.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from drakit_allocator.devices.devices import DeviceID, PoolID
from drakit_allocator.features import Features
from drakit_api.objects.allocations import results
from drakit_api.quantity import Quantity

_EMPTY: Mapping[str, int] = {}
_NOBODY: tuple[DeviceID, ...] = ()
# Changes of a pool that are kept for those who know an earlier state. Who is further behind starts afresh.
_RECENT = 32


class _Token:
    """One state of a pool."""

    __slots__ = ("number", "pool")

    def __init__(self, pool: _Pool, number: int) -> None:
        self.pool = pool
        self.number = number


class _Pool:
    """The allocated devices of one pool, in the order in which they came, and what changed lately."""

    __slots__ = ("devices", "recent", "token")

    def __init__(self) -> None:
        self.devices: dict[DeviceID, None] = {}
        self.recent: deque[DeviceID] = deque(maxlen=_RECENT)
        self.token = _Token(self, 0)

    def touch(self, device_id: DeviceID, is_allocated: bool) -> None:
        if is_allocated:
            self.devices[device_id] = None
        else:
            self.devices.pop(device_id, None)
        self.recent.append(device_id)
        self.token = _Token(self, self.token.number + 1)


class AllocatedState:
    """Allocated devices, shares of devices, and consumed capacity (1e-9 units)."""

    def __init__(self, features: Features) -> None:
        self._counts_shares = features.consumable_capacity
        self._knows_shares = features.variant != "stable"
        self.holders: dict[DeviceID, list[str]] = {}  # devices allocated as a whole, and the claims that hold them
        self.shares: dict[DeviceID, dict[str, str]] = {}  # share id -> claim
        self.capacity: dict[DeviceID, dict[str, int]] = {}
        self._pools: dict[PoolID, _Pool] = {}
        self._untouched = object()

    @staticmethod
    def of(claims: Iterable[Mapping[str, Any]], features: Features) -> AllocatedState:
        """Make the state from claims; those without allocation count nothing."""
        state = AllocatedState(features)
        for claim in claims:
            state.add_claim(claim)
        return state

    @staticmethod
    def of_raw(raw: Mapping[str, Any], features: Features) -> AllocatedState:
        """Make the state from upstream's ``AllocatedState``: ``devices``, ``shared``, ``capacity``, if there."""
        state = AllocatedState(features)
        for entry in raw.get("devices") or ():
            state._hold(_device_id(entry), "")
        if state._knows_shares:
            for entry in raw.get("shared") or ():
                state.shares.setdefault(_device_id(entry), {})[entry.get("shareID") or ""] = ""
                state._touch(_device_id(entry))
            for entry in raw.get("capacity") or ():
                state._consume(_device_id(entry), entry.get("consumed") or {}, 1)
        return state

    def add_claim(self, claim: Mapping[str, Any]) -> None:
        """Count the devices of the claim's allocation. Adding a claim twice counts it twice."""
        name = claim_name(claim)
        for result in _results(claim):
            device_id = _device_id(result)
            if not self._counts_shares or result.get("shareID") is None:
                self._hold(device_id, name)
                continue
            self.shares.setdefault(device_id, {})[result["shareID"]] = name
            self._touch(device_id)
            if result.get("consumedCapacity") is not None:
                self._consume(device_id, result["consumedCapacity"], 1)

    def remove_claim(self, claim: Mapping[str, Any]) -> None:
        """Give back what ``add_claim`` counted for the same object."""
        name = claim_name(claim)
        for result in _results(claim):
            device_id = _device_id(result)
            if not self._counts_shares or result.get("shareID") is None:
                self._release(device_id, name)
                continue
            shares = self.shares.get(device_id, {})
            shares.pop(result["shareID"], None)
            if not shares:
                self.shares.pop(device_id, None)
            if result.get("consumedCapacity") is not None:
                self._consume(device_id, result["consumedCapacity"], -1)
            self._touch(device_id)

    def is_shared(self, device_id: DeviceID) -> bool:
        """Tell whether shares of the device are given out, so that its counters are charged already."""
        return device_id in self.shares or device_id in self.capacity

    def consumed(self, device_id: DeviceID) -> Mapping[str, int]:
        """Return the capacity given out in shares, in 1e-9 units, by name."""
        return self.capacity.get(device_id, _EMPTY)

    def in_pool(self, pool_id: PoolID) -> Iterable[DeviceID]:
        """Return the allocated devices of a pool, whole or shared, once each."""
        pool = self._pools.get(pool_id)
        return _NOBODY if pool is None else pool.devices

    def token(self, pool_id: PoolID) -> object:
        """Return an object that is another one after each change in the pool; all empty pools have the same one."""
        pool = self._pools.get(pool_id)
        return self._untouched if pool is None else pool.token

    def changes(self, pool_id: PoolID, since: object) -> Iterable[DeviceID] | None:
        """Return the devices of a pool that have changed since it had this token; None if that is no longer known."""
        pool = self._pools.get(pool_id)
        if pool is None or not isinstance(since, _Token) or since.pool is not pool:
            return None
        behind = pool.token.number - since.number
        count = len(pool.recent)
        return None if behind > count else islice(pool.recent, count - behind, None)

    def _hold(self, device_id: DeviceID, claim: str) -> None:
        self.holders.setdefault(device_id, []).append(claim)
        self._touch(device_id)

    def _release(self, device_id: DeviceID, claim: str) -> None:
        holders = self.holders.get(device_id, [])
        if claim in holders:
            holders.remove(claim)
        if not holders:
            self.holders.pop(device_id, None)
        self._touch(device_id)

    def _consume(self, device_id: DeviceID, amounts: Mapping[str, Any], sign: int) -> None:
        total = self.capacity.setdefault(device_id, {})
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + sign * Quantity.parse(amount).nanos
        if sign < 0 and not any(total.values()):
            del self.capacity[device_id]
        self._touch(device_id)

    def _touch(self, device_id: DeviceID) -> None:
        pool_id = device_id[:2]
        pool = self._pools.get(pool_id)
        if pool is None:
            pool = self._pools[pool_id] = _Pool()
        pool.touch(device_id, device_id in self.holders or self.is_shared(device_id))
        if not pool.devices:
            del self._pools[pool_id]


def _results(claim: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Yield the claim's device results without those for admin access, which take nothing from anyone."""
    return (result for result in results(claim) if not result.get("adminAccess"))


def claim_name(claim: Mapping[str, Any]) -> str:
    """Return ``namespace/name``, as holders are named."""
    metadata = claim.get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


def _device_id(entry: Mapping[str, Any]) -> DeviceID:
    # Interned, so that the text of a claim is not kept for the sake of three words that others know as well.
    return sys.intern(entry["driver"]), sys.intern(entry["pool"]), sys.intern(entry["device"])
