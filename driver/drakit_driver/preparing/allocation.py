"""From an allocated claim to what this driver must prepare of it on this node, or the reason why it will not.

Nothing here does I/O; the claim is what the API server returned. Every refusal says what is wrong with the claim, since
the kubelet puts it into the pod's events, where the user looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from drakit_api.core.node_selectors import HOSTNAME_LABEL, selects
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.allocations import results_of
from drakit_api.quantity import Quantity, QuantityError
from drakit_api.typed_objects import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from drakit_driver.preparing import environment, opaque
from drakit_driver.preparing.cdi import CdiError, CdiSpecs
from drakit_driver.preparing.checkpoint import PreparedClaim, PreparedDevice
from drakit_driver.preparing.commitments import Inventory, consumption


class PrepareError(Exception):
    """A claim that cannot be prepared; the message is for the user."""


def check_claim(claim: ResourceClaim, uid: str) -> AllocationResult:
    """Return ``status.allocation`` of the claim that the kubelet means. Raises ``PrepareError``."""
    where = f"claim {claim['metadata'].get('namespace', '')}/{claim['metadata']['name']}"
    if claim["metadata"].get("uid") != uid:
        raise PrepareError(f"{where} got replaced: its UID is {claim['metadata'].get('uid')}, not {uid}")
    allocation = (claim.get("status") or {}).get("allocation")
    if not allocation:
        raise PrepareError(f"{where} not allocated")
    return allocation


def check_node(allocation: AllocationResult, node: str, labels: Mapping[str, str]) -> None:
    """Raise ``PrepareError`` if the allocation is for other nodes; ``labels`` are those of this one."""
    if not selects(allocation.get("nodeSelector"), node, labels):
        raise PrepareError(f"the allocation is for other nodes than {node}: its nodeSelector does not match")


def results_for(allocation: AllocationResult, driver: str) -> list[DeviceRequestAllocationResult]:
    """List the results for devices of this driver."""
    return [result for result in results_of(allocation) if result.get("driver") == driver]


def prepared_claim(
    claim: ResourceClaim, inventory: Inventory, specs: CdiSpecs, *, driver: str, node: str, labels: Mapping[str, str]
) -> PreparedClaim:
    """Collect everything to record and write for a claim (in state ``preparing``). Raises ``PrepareError``.

    ``labels`` are the node's. Over-commitment is checked elsewhere, as it depends on all other claims.
    """
    metadata = claim["metadata"]
    allocation = check_claim(claim, metadata.get("uid", ""))
    results = results_for(allocation, driver)
    if not results:
        raise PrepareError(f"the allocation has no devices of driver {driver}")
    entries = (allocation.get("devices") or {}).get("config") or []
    devices = [_prepared(result, entries, inventory, driver, node, labels) for result in results]
    published = [inventory.devices[device.pool, device.device] for device in devices]
    try:
        named = _with_cdi_ids(devices, metadata["uid"], specs)
    except CdiError as error:
        raise PrepareError(str(error)) from error
    return PreparedClaim(
        uid=metadata["uid"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        state="preparing",
        devices=named,
        environment=environment.claim_environment(published),
        allocation=digest(allocation, driver),
    )


def digest(allocation: AllocationResult, driver: str) -> str:
    """Digest everything in an allocation that decides what this driver prepares."""
    config = [
        entry
        for entry in (allocation.get("devices") or {}).get("config") or []
        if (parameters := entry.get("opaque")) and parameters.get("driver") == driver
    ]
    facts = [[_facts(result) for result in results_for(allocation, driver)], config, allocation.get("nodeSelector")]
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()


def is_unchanged(claim: PreparedClaim, allocation: AllocationResult, driver: str) -> bool:
    """Tell whether a claim was prepared for this very allocation; it may have been given back and made again since.

    Compared with what was allocated then, not with what would be prepared now: that may have changed with the driver's
    version or its pools, and a claim that is in use is always answered the same.
    """
    if claim.allocation:
        return claim.allocation == digest(allocation, driver)
    # As recorded by older drivers, without configuration and node selector.
    prepared = [
        [device.request, device.pool, device.device, device.share_id, device.admin_access, device.consumed_capacity]
        for device in claim.devices
    ]
    return prepared == [_facts(result) for result in results_for(allocation, driver)]


def _facts(result: DeviceRequestAllocationResult) -> list[Any]:
    return [
        result["request"],
        result["pool"],
        result["device"],
        result.get("shareID"),
        bool(result.get("adminAccess")),
        {name: str(amount) for name, amount in (result.get("consumedCapacity") or {}).items()},
    ]


def _prepared(
    result: DeviceRequestAllocationResult,
    entries: list[DeviceAllocationConfiguration],
    inventory: Inventory,
    driver: str,
    node: str,
    labels: Mapping[str, str],
) -> PreparedDevice:
    where = f"request {result['request']}: device {result['device']} of pool {result['pool']}"
    device = inventory.devices.get((result["pool"], result["device"]))
    if device is None:
        raise PrepareError(f"{where} does not exist in what driver {driver} publishes")
    if not _on_node(device, inventory, result["pool"], node, labels):
        raise PrepareError(f"{where} is not available on node {node}")
    try:
        config = opaque.config_for(entries, driver, result["request"], family_of(device))
        host = labels.get(HOSTNAME_LABEL, node)
        variables = environment.check(
            environment.device_environment(device, driver=driver, pool=result["pool"], host=host, config=config)
        )
    except (opaque.ConfigError, environment.DeviceError) as error:
        raise PrepareError(f"{where}: {error}") from error
    return PreparedDevice(
        request=result["request"],
        pool=result["pool"],
        device=result["device"],
        cdi_id="",
        share_id=result.get("shareID"),
        admin_access=bool(result.get("adminAccess")),
        shareable=bool(device.get("allowMultipleAllocations")) and result.get("shareID") is not None,
        consumes=consumption(device),
        consumed_capacity=_consumed(result, where),
        environment=variables,
    )


def _consumed(result: DeviceRequestAllocationResult, where: str) -> dict[str, str]:
    """Return ``consumedCapacity``; refuse a negative amount, which would give others more than there is."""
    consumed = {name: str(amount) for name, amount in (result.get("consumedCapacity") or {}).items()}
    for name, amount in consumed.items():
        try:
            negative = Quantity.parse(amount).nanos < 0
        except QuantityError as error:
            raise PrepareError(f"{where}: consumed capacity {name}: {error}") from error
        if negative:
            raise PrepareError(f"{where}: consumed capacity {name} must not be negative, is {amount}")
    return consumed


def family_of(device: Object) -> opaque.Family:
    """Return which configs a device takes."""
    if environment.is_nvidia(device):
        return "mig" if environment.attribute(device, "type") == "mig" else "gpu"
    return "tpu" if environment.is_tpu(device) else "other"


def _on_node(device: Object, inventory: Inventory, pool_name: str, node: str, labels: Mapping[str, str]) -> bool:
    pool = inventory.pools[pool_name]
    placement: Mapping[str, Any] = device if pool.per_device_node_selection else pool.node_selection()
    if placement.get("allNodes"):
        return True
    if (name := placement.get("nodeName")) is not None:
        return bool(name == node)
    return placement.get("nodeSelector") is not None and selects(placement["nodeSelector"], node, labels)


def _with_cdi_ids(devices: list[PreparedDevice], uid: str, specs: CdiSpecs) -> list[PreparedDevice]:
    """Add a CDI device for each allocated share; the number keeps equal names of different pools apart."""
    names: dict[tuple[str, str, str | None], str] = {}
    used: dict[str, int] = {}
    named = []
    for device in devices:
        key = (device.pool, device.device, device.share_id)
        if key not in names:
            repeat = used.get(device.device, 0)
            used[device.device] = repeat + 1
            names[key] = device.device if not repeat else f"{device.device}.{repeat}"
        named.append(msgspec.structs.replace(device, cdi_id=specs.device_id(uid, names[key])))
    return named
