"""What the pictures are drawn from: which devices claims hold, and which counters those consume.

Read from API objects alone, whoever's driver published them, so that a picture shows what the scheduler counts with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from drakit_api.kubernetes_objects import ReadOnlyObject

_COLORS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_green")


@dataclass(frozen=True)
class Allocated:
    """One device that a claim holds, with the counters that it consumes: ``{(counter set, counter)}``."""

    pool: str
    device: str
    label: str
    claim: str
    counters: frozenset[tuple[str, str]]

    @property
    def style(self) -> str:
        """The colors that mark all devices of the claim; its name stands beside them, for whoever sees no colors."""
        return f"black on {_COLORS[sum(self.claim.encode()) % len(_COLORS)]}"


def allocated(slices: Iterable[ReadOnlyObject], claims: Iterable[ReadOnlyObject], driver: str) -> list[Allocated]:
    """Return the devices of one driver that claims hold; those with adminAccess take no place and are left out."""
    devices = {
        (spec["pool"]["name"], device["name"]): device
        for spec in specs(slices, driver)
        for device in spec.get("devices") or []
    }
    found = []
    for claim in claims:
        results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
        for result in results:
            device = devices.get((result["pool"], result["device"]))
            if result["driver"] == driver and device is not None and not result.get("adminAccess"):
                found.append(_allocated(result, device, claim["metadata"]["name"]))
    return found


def _allocated(result: ReadOnlyObject, device: ReadOnlyObject, claim: str) -> Allocated:
    attributes = device.get("attributes", {})
    label = attributes.get("profile", {}).get("string") or device["name"]
    counters = frozenset(
        (consumption["counterSet"], counter)
        for consumption in device.get("consumesCounters", [])
        for counter in consumption["counters"]
    )
    return Allocated(result["pool"], result["device"], label, claim, counters)


def specs(slices: Iterable[ReadOnlyObject], driver: str) -> Iterator[Any]:
    """Yield the specs of one driver's ResourceSlices."""
    return (item["spec"] for item in slices if item["spec"]["driver"] == driver)


def natural(name: str) -> list[Any]:
    """Return a sort key that puts ``gpu-2`` before ``gpu-10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
