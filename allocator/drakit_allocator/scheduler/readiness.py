"""Devices that must be made ready before a pod may be bound to them (binding conditions).

A driver that attaches devices to nodes names conditions in its slice; they come with the allocation, and the pod is
bound only when the claim's device status shows all of them true. A failure condition or the timeout gives the pod up;
devices that nobody else uses are given back then, by this attempt or the next.

Source: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (isClaimReadyForBinding,
isClaimTimeout, isPodReadyForBinding).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime

from drakit_allocator.scheduler import claims
from drakit_api.objects.allocations import results
from drakit_api.typed_objects import Condition, DeviceRequestAllocationResult, ResourceClaim

# Seconds from the allocation on (kube-scheduler's default bindingTimeout).
TIMEOUT = 600.0


class DevicesNotReady(Exception):
    """A binding failure condition is true, or the time is up."""


def has_conditions(claim: ResourceClaim) -> bool:
    """Tell whether any allocated device has binding conditions."""
    return any(result.get("bindingConditions") for result in results(claim))


def is_ready(claim: ResourceClaim) -> bool:
    """Tell whether all binding conditions hold. Raises ``DevicesNotReady`` when a failure condition does."""
    for result in results(claim):
        wanted = result.get("bindingConditions")
        if not wanted:
            continue
        conditions = _conditions(claim, result)
        for name in result.get("bindingFailureConditions") or []:
            if (failed := conditions.get(name)) and failed.get("status") == "True":
                raise DevicesNotReady(
                    f"device binding failed: claim={claim['metadata']['name']}, "
                    f'reason={failed.get("reason", "")}, message="{failed.get("message", "")}"'
                )
        if any(name not in conditions or conditions[name].get("status") != "True" for name in wanted):
            return False
    return True


def seconds_left(claim: ResourceClaim) -> float:
    """Return how much longer the claim's devices may take, in seconds; other pods may have waited for them before."""
    allocation = claims.allocation_of(claim)
    if allocation is None or (stamp := allocation.get("allocationTimestamp")) is None:
        return TIMEOUT
    since = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return TIMEOUT - (datetime.now(UTC) - since).total_seconds()


def is_unusable(claim: ResourceClaim) -> bool:
    """Tell whether an allocation will never become ready, so that it should be given back."""
    try:
        return not is_ready(claim) and seconds_left(claim) < 0
    except DevicesNotReady:
        return True


class Readiness:
    """Waits for the devices of claims."""

    def __init__(self, known: claims.Claims) -> None:
        self._known = known
        self._changed = asyncio.Event()

    def claim_changed(self) -> None:
        """Let those who ``wait`` look at their claims again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, keys: Iterable[claims.Key]) -> None:
        """Wait until all devices of these claims are ready. Raises ``DevicesNotReady``."""
        keys = list(keys)
        while missing := [claim for key in keys if not is_ready(claim := self._allocated(key))]:
            left, first = min((seconds_left(claim), claim["metadata"]["name"]) for claim in missing)
            if left < 0:
                raise DevicesNotReady(f"device binding timeout: claim={first}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

    def _allocated(self, key: claims.Key) -> ResourceClaim:
        claim = self._known.get(key)
        if claim is None or claims.allocation_of(claim) is None:
            raise DevicesNotReady(f"device binding failed: claim={key[1]} is no longer allocated")
        return claim


def _conditions(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> dict[str, Condition]:
    for device in (claim.get("status") or {}).get("devices") or []:
        if all(device.get(part) == result.get(part) for part in ("driver", "pool", "device")):
            return {condition["type"]: condition for condition in device.get("conditions") or []}
    return {}
