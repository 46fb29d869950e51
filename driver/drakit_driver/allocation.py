"""From an allocated claim to what this driver must prepare of it on this node, or the reason why it will not.

Nothing here does I/O; the claim is what the API server returned. Every refusal says what is wrong with the claim, since
the kubelet puts it into the pod's events, where the user looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from drakit_driver import environment, opaque
from drakit_driver.cdi import CdiError, CdiSpecs
from drakit_driver.checkpoint import PreparedClaim, PreparedDevice
from drakit_driver.commitments import Inventory, consumption
from drakit_driver.placement import HOSTNAME_LABEL, selects

Object = dict[str, Any]


class PrepareError(Exception):
    """A claim that cannot be prepared; the message is for the user."""


def check_claim(claim: Object, uid: str) -> Object:
    """``status.allocation`` of the claim that the kubelet means; raises ``PrepareError``."""
    where = f"claim {claim['metadata'].get('namespace', '')}/{claim['metadata']['name']}"
    if claim["metadata"].get("uid") != uid:
        raise PrepareError(f"{where} got replaced: its UID is {claim['metadata'].get('uid')}, not {uid}")
    allocation: Object | None = (claim.get("status") or {}).get("allocation")
    if not allocation:
        raise PrepareError(f"{where} not allocated")
    return allocation


def results_for(allocation: Object, driver: str) -> list[Object]:
    """The results that are this driver's business."""
    results = (allocation.get("devices") or {}).get("results") or []
    return [result for result in results if result.get("driver") == driver]


def prepared_claim(
    claim: Object, inventory: Inventory, specs: CdiSpecs, *, driver: str, node: str, labels: Mapping[str, str]
) -> PreparedClaim:
    """Everything to record and write for a claim (in state ``preparing``); raises ``PrepareError``.

    ``labels`` are the node's. Over-commitment is checked elsewhere, as it depends on all other claims.
    """
    metadata = claim["metadata"]
    allocation = check_claim(claim, metadata.get("uid", ""))
    results = results_for(allocation, driver)
    if not results:
        raise PrepareError(f"the allocation has no devices of driver {driver}")
    if not selects(allocation.get("nodeSelector"), node, labels):
        raise PrepareError(f"the allocation is for other nodes than {node}: its nodeSelector does not match")
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
    )


def same_devices(claim: PreparedClaim, allocation: Object, driver: str) -> bool:
    """Whether a prepared claim is still what is allocated; an allocation may have been given back and made again."""
    prepared = [(device.request, device.pool, device.device, device.share_id) for device in claim.devices]
    return prepared == [
        (result["request"], result["pool"], result["device"], result.get("shareID"))
        for result in results_for(allocation, driver)
    ]


def _prepared(
    result: Object, entries: list[Object], inventory: Inventory, driver: str, node: str, labels: Mapping[str, str]
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
        variables = environment.device_environment(device, driver=driver, pool=result["pool"], host=host, config=config)
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
        consumed_capacity={name: str(amount) for name, amount in (result.get("consumedCapacity") or {}).items()},
        environment=variables,
    )


def family_of(device: Object) -> opaque.Family:
    """Which configs a device takes."""
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
    """One CDI device per allocated share; the number keeps equal names of different pools apart."""
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
