"""Arithmetic that trusts no component: what slices publish, and what claims hold of it.

The quantities are parsed by the official client, so that not even a mistake in drakit's own parser could hide here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal

from kubernetes.utils.quantity import parse_quantity

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.clusters.api import Api


class OverCommitted(AssertionError):
    """Claims hold more than there is."""


class HeldTwice(OverCommitted):
    """A device has two holders."""


class Ledger:
    """Who holds what of one driver, computed from slices and claim statuses only."""

    def __init__(self, api: Api, driver: str) -> None:
        slices = [item["spec"] for item in api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={driver}")]
        self.devices: dict[tuple[str, str], Object] = {}
        self.available: dict[tuple[str, str, str], Decimal] = {}
        for spec in slices:
            pool = spec["pool"]["name"]
            self.devices |= {(pool, device["name"]): device for device in spec.get("devices") or []}
            for counter_set in spec.get("sharedCounters") or []:
                for counter, value in counter_set["counters"].items():
                    self.available[pool, counter_set["name"], counter] = parse_quantity(value["value"])
        self.holders: dict[tuple[str, str], list[str]] = defaultdict(list)
        for claim in api.objects(RESOURCE_CLAIMS):
            for result in results(claim):
                if result["driver"] == driver:
                    self.holders[result["pool"], result["device"]].append(claim["metadata"]["name"])

    def used(self) -> dict[tuple[str, str, str], Decimal]:
        """Consumption of each counter by all allocated devices."""
        used: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
        for pool, name in self.holders:
            for counter, amount in self.consumption(pool, name).items():
                used[counter] += amount
        return used

    def consumption(self, pool: str, device: str) -> dict[tuple[str, str, str], Decimal]:
        """What one device takes of each counter when it is allocated."""
        return {
            (pool, consumption["counterSet"], counter): parse_quantity(value["value"])
            for consumption in self.devices[pool, device].get("consumesCounters") or []
            for counter, value in consumption["counters"].items()
        }

    def check(self) -> None:
        """Raise ``HeldTwice`` for a device with two holders, ``OverCommitted`` for a counter over what its set has."""
        for (pool, device), claims in self.holders.items():
            if len(claims) > 1:
                raise HeldTwice(f"{device} of pool {pool} is held by claims {' and '.join(sorted(claims))}")
        for (pool, counter_set, counter), amount in self.used().items():
            if amount > (has := self.available[pool, counter_set, counter]):
                raise OverCommitted(f"{counter} of {counter_set} in pool {pool}: {has} there, {amount} taken")

    def memory_slices(self, pool: str, device: str) -> tuple[int, ...]:
        """The memory slices of its GPU on which a partition lies."""
        consumptions = self.devices[pool, device]["consumesCounters"]
        counters = [counter for consumption in consumptions for counter in consumption["counters"]]
        return tuple(sorted(int(name.rpartition("-")[2]) for name in counters if name.startswith("memory-slice-")))


def results(claim: Object) -> list[Object]:
    """The allocated devices of a claim, in the order of its status."""
    allocation = claim.get("status", {}).get("allocation", {})
    found: list[Object] = allocation.get("devices", {}).get("results", [])
    return found


# What the fixtures of conftest.py are.
OpenLedger = Callable[[str], Ledger]
DevicesOf = Callable[[str], list[str]]
Allocated = Callable[[list[Object]], set[str]]
AllFree = Callable[[str], None]
