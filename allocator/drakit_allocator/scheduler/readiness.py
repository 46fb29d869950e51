"""Devices that must be made ready before a pod may be bound to them (binding conditions).

A driver that attaches devices to nodes names conditions in its slice; they come with the allocation, and the pod is
bound only when the claim's device status shows all of them true. A failure condition or the timeout gives the pod up,
and the next attempt gives the devices back.

Source: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (isClaimReadyForBinding,
isClaimTimeout, isPodReadyForBinding).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

from drakit_allocator.scheduler import claims
from drakit_client.connection import Object

TIMEOUT = 600.0


class DevicesNotReady(Exception):
    """A binding failure condition is true, or the time is up."""


def has_conditions(claim: Object) -> bool:
    """Whether any allocated device has binding conditions."""
    return any(result.get("bindingConditions") for result in claims.results(claims.allocation_of(claim)))


def is_ready(claim: Object) -> bool:
    """Whether all binding conditions hold; raises ``DevicesNotReady`` when a failure condition does."""
    for result in claims.results(claims.allocation_of(claim)):
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
        if any(conditions.get(name, {}).get("status") != "True" for name in wanted):
            return False
    return True


def is_late(claim: Object) -> bool:
    """Whether the devices had all the time that they get."""
    allocation = claims.allocation_of(claim) or {}
    stamp = allocation.get("allocationTimestamp")
    if stamp is None or not has_conditions(claim):
        return False
    since = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return (datetime.now(UTC) - since).total_seconds() > TIMEOUT


def is_unusable(claim: Object) -> bool:
    """Whether an allocation will never become ready, so that it should be given back."""
    try:
        return not is_ready(claim) and is_late(claim)
    except DevicesNotReady:
        return True


class Readiness:
    """Waits for the devices of claims."""

    def __init__(self, known: claims.Claims) -> None:
        self._known = known
        self._changed = asyncio.Event()

    def claim_changed(self) -> None:
        """Look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, keys: Iterable[claims.Key]) -> None:
        """Until all devices of these claims are ready. Raises ``DevicesNotReady``."""
        keys = list(keys)
        try:
            async with asyncio.timeout(TIMEOUT):
                while not all(self._ready(key) for key in keys):
                    await self._changed.wait()
        except TimeoutError:
            raise DevicesNotReady("device binding timeout") from None

    def _ready(self, key: claims.Key) -> bool:
        claim = self._known.get(key)
        if claim is None or claims.allocation_of(claim) is None:
            raise DevicesNotReady(f"device binding failed: claim={key[1]} is no longer allocated")
        return is_ready(claim)


def _conditions(claim: Object, result: Object) -> dict[str, Object]:
    for device in (claim.get("status") or {}).get("devices") or []:
        if all(device.get(part) == result.get(part) for part in ("driver", "pool", "device")):
            return {condition["type"]: condition for condition in device.get("conditions") or []}
    return {}
