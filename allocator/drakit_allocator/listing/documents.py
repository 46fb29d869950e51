"""Devices for scripts: names, and objects in the forms of the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_allocator.devices.devices import Device
from drakit_allocator.explanation.provenance import Provenance, patches_of
from drakit_allocator.listing.listing import Holding, Listing
from drakit_allocator.listing.patch_effects import PatchEffect, patch_effects
from drakit_api.kubernetes_objects import Object


def names(listing: Listing) -> str:
    """Print driver/pool/device, a line each."""
    return "".join(f"{device.name}\n" for device in listing.devices)


def documents(listing: Listing) -> Object:
    """Return the devices, each with its place and its claims, and patched ones with the patches."""
    return {"devices": [_document(listing, device) for device in listing.devices]}


def _document(listing: Listing, device: Device) -> Object:
    driver, pool, name = device.id
    document: Object = {"driver": driver, "pool": pool, "device": name, "slice": device.slice.name}
    document |= _place(device)
    document |= {member: value for member in ("attributes", "capacity") if (value := device.content.spec.get(member))}
    if taints := list(_taints(listing, device)):
        document["taints"] = taints
    if holdings := listing.holdings.get(device.id):
        document["claims"] = [_holding(one) for one in holdings]
    if patches := patches_of(device):
        document["patches"] = [_effect(one) for one in patch_effects(patches)]
    return document


def _place(device: Device) -> Object:
    name, all_nodes, selector = device.node_selection()
    if name:
        return {"nodeName": name}
    return {"allNodes": True} if all_nodes else {"nodeSelector": selector}


def _taints(listing: Listing, device: Device) -> Iterator[Object]:
    """Yield taints with their source, where the scheduler may have others than the slice."""
    provenance = Provenance(listing.snapshot)
    for taint in (*device.content.taints, *device.added_taints):
        if not listing.is_patched:
            yield dict(taint)
            continue
        source, name = provenance.taint(device, taint)
        yield {**taint, "source": source, **({"name": name} if name else {})}


def _holding(one: Holding) -> Object:
    found: dict[str, Any] = {"claim": one.claim, "request": one.request}
    if one.has_admin_access:
        found["adminAccess"] = True
    return {**found, "shareID": one.share_id} if one.share_id else found


def _effect(effect: PatchEffect) -> Object:
    """Describe what a patch changes, in the form of a patch; ``overridden`` is what a stronger one decides."""
    attributes = {name: {"null": {}} if value is None else value for name, value in effect.attributes.items()}
    found = {
        "attributes": attributes,
        "capacity": effect.capacity,
        "taints": effect.taints,
        "overridden": effect.overridden,
    }
    return {"name": effect.patch.name, **{member: value for member, value in found.items() if value}}
