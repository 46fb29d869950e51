"""What is wrong with the pools of a node: incomplete, invalid, or not seen at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from drakit_allocator.candidates import Situation
from drakit_allocator.devices.devices import PoolID, PublishedSlice
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.inventory import Inventory, generation_of, name_of
from drakit_allocator.explanation.phrases import needs_gates
from drakit_allocator.explanation.reasons import PoolHidden, PoolIncomplete, PoolInvalid, PoolReason
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.pools.pools import COMPATIBILITY_GROUPS, SliceIndex, gates_missing


def pool_reasons(situation: Situation, index: SliceIndex, inventory: Inventory) -> list[PoolReason]:
    """List a reason for each pool of the node from which nothing can be allocated; ``index`` has the same slices."""
    found: list[PoolReason] = []
    for pool in situation.pools:
        if pool.problem == "invalid":
            found.append(PoolInvalid(pool.name, pool.reason))
        elif pool.problem == "incomplete":
            found.append(_incomplete(pool.id, inventory, situation.node))
    seen = frozenset(pool.id for pool in situation.pools)
    found += _hidden(seen, dict(index.hidden(situation.node)), inventory, situation.node)
    return found


def _incomplete(pool: PoolID, inventory: Inventory, node: Node) -> PoolIncomplete:
    ignored = {
        name_of(one): gates
        for one in inventory.newest(pool)
        if COMPATIBILITY_GROUPS in (gates := gates_missing(PublishedSlice(one), inventory.features))
    }
    slices = [one for one in inventory.newest(pool) if name_of(one) not in ignored]
    visible = [one for one in slices if _targets(one["spec"], node)] or slices
    # Slices of one generation agree on it, unless their driver is broken: then the first for the node decides.
    first = min(visible, key=lambda one: one["spec"].get("nodeName") != node.name)
    expected = first["spec"]["pool"].get("resourceSliceCount", 0)
    return PoolIncomplete(
        "/".join(pool),
        generation_of(first),
        expected,
        tuple(map(name_of, slices)),
        tuple(ignored),
        (COMPATIBILITY_GROUPS,) if ignored else (),
    )


def _hidden(
    seen: frozenset[PoolID], gates: Mapping[PoolID, tuple[str, ...]], inventory: Inventory, node: Node
) -> Iterator[PoolHidden]:
    for pool in inventory.pools_near(node.name):
        if pool in seen:
            continue
        visible = [one for one in inventory.slices_by_pool[pool] if _targets(one["spec"], node)]
        if visible:
            off = gates.get(pool, ())
            newest = generation_of(inventory.newest(pool)[0])
            message = needs_gates(off) if off else _replaced(generation_of(visible[0]), newest)
            yield PoolHidden("/".join(pool), tuple(map(name_of, visible)), message, off)


def _replaced(generation: int, newest: int) -> str:
    return f"generation {generation} is being replaced: other nodes have slices of generation {newest}"


def _targets(spec: Mapping[str, Any], node: Node) -> bool:
    try:
        if spec.get("perDeviceNodeSelection"):
            return any(_is_for(device, node) for device in spec.get("devices") or ())
        return _is_for(spec, node)
    except AllocationError:
        return False


def _is_for(spec: Mapping[str, Any], node: Node) -> bool:
    return is_reachable(node, spec.get("nodeName") or "", bool(spec.get("allNodes")), spec.get("nodeSelector"))
