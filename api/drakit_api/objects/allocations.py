"""Which devices a claim got, as its status tells."""

from __future__ import annotations

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.typed_objects import DeviceRequestAllocationResult

# Driver, pool, device and share.
DeviceID = tuple[str, str, str, str]


def results(claim: ReadOnlyObject) -> list[DeviceRequestAllocationResult]:
    """Return ``status.allocation.devices.results`` of a decoded claim; empty without an allocation."""
    return results_in(claim.get("status") or {})


def results_in(status: ReadOnlyObject) -> list[DeviceRequestAllocationResult]:
    """Return the results in a claim's status: one for each allocated device; empty if it is not allocated."""
    return results_of(status.get("allocation"))


def results_of(allocation: ReadOnlyObject | None) -> list[DeviceRequestAllocationResult]:
    """Return the results of an allocation, which is ``status.allocation`` of a claim; empty without one."""
    found: list[DeviceRequestAllocationResult] = ((allocation or {}).get("devices") or {}).get("results") or []
    return found


def device_id(value: ReadOnlyObject) -> DeviceID:
    """Return which device, or share of one, an allocation result or a device status is about."""
    return value.get("driver") or "", value.get("pool") or "", value.get("device") or "", value.get("shareID") or ""
