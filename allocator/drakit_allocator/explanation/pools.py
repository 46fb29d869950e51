"""What is wrong with the pools of a node: incomplete, invalid, or not seen at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from drakit_allocator.candidates import Situation
from drakit_allocator.devices import PoolID
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.inventory import Inventory, generation_of, name_of
from drakit_allocator.explanation.reasons import PoolHidden, PoolIncomplete, PoolInvalid, PoolReason
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node, is_reachable


def pool_reasons(situation: Situation, inventory: Inventory) -> list[PoolReason]:
    """One reason for each pool of the node from which nothing can be allocated."""
    found: list[PoolReason] = []
    for pool in situation.pools:
        if pool.problem == "invalid":
            found.append(PoolInvalid(pool.name, pool.reason))
        elif pool.problem == "incomplete":
            found.append(_incomplete(pool.id, inventory, situation.node))
    seen = frozenset(pool.id for pool in situation.pools)
    found += _hidden(seen, inventory, situation)
    return found


def _incomplete(pool: PoolID, inventory: Inventory, node: Node) -> PoolIncomplete:
    slices = inventory.newest(pool)
    visible = [one for one in slices if _targets(one["spec"], node)] or slices
    # Slices of one generation agree on it, unless their driver is broken: then the first for the node decides.
    first = min(visible, key=lambda one: one["spec"].get("nodeName") != node.name)
    expected = first["spec"]["pool"].get("resourceSliceCount", 0)
    return PoolIncomplete("/".join(pool), generation_of(first), expected, tuple(map(name_of, slices)))


def _hidden(seen: frozenset[PoolID], inventory: Inventory, situation: Situation) -> Iterator[PoolHidden]:
    for pool in inventory.pools_near(situation.node.name):
        if pool in seen:
            continue
        visible = [one for one in inventory.slices_by_pool[pool] if _targets(one["spec"], situation.node)]
        if visible:
            newest = generation_of(inventory.newest(pool)[0])
            message = _why_hidden(visible[0]["spec"], newest, situation.features)
            yield PoolHidden("/".join(pool), tuple(map(name_of, visible)), message)


def _why_hidden(spec: Mapping[str, Any], newest: int, features: Features) -> str:
    generation = spec["pool"].get("generation", 0)
    if generation < newest:
        return f"generation {generation} is being replaced: other nodes have slices of generation {newest}"
    partitioned = spec.get("perDeviceNodeSelection") is not None or spec.get("sharedCounters")
    if partitioned and not features.partitionable_devices:
        return "needs the feature gate DRAPartitionableDevices, which is off"
    return "needs the feature gate DRADeviceCompatibilityGroups, which is off"


def _targets(spec: Mapping[str, Any], node: Node) -> bool:
    try:
        if spec.get("perDeviceNodeSelection"):
            return any(_is_for(device, node) for device in spec.get("devices") or ())
        return _is_for(spec, node)
    except AllocationError:
        return False


def _is_for(spec: Mapping[str, Any], node: Node) -> bool:
    return is_reachable(node, spec.get("nodeName") or "", bool(spec.get("allNodes")), spec.get("nodeSelector"))
