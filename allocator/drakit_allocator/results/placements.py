"""A solution in terms of devices: what a search chose, by number, for the pools of one node.

Nodes that are alike have the same solution by number; written down for each of them it names that node's devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drakit_allocator.devices.capacity import Amounts
from drakit_allocator.devices.columns import bits
from drakit_allocator.devices.devices import Device
from drakit_allocator.pools.views import PoolView, by_pool
from drakit_allocator.requests import ClaimRequests, Request
from drakit_allocator.search import Choice


@dataclass(frozen=True, slots=True)
class Placement:
    """A device given to a request; ``amounts`` of its capacities for a share of it."""

    request: Request
    device: Device
    amounts: Amounts | None


def placements(claims: Sequence[ClaimRequests], choice: Choice, pools: Sequence[PoolView]) -> list[list[Placement]]:
    """List the devices of each claim, in the order of its requests."""
    chosen = iter(choice)
    found = []
    for claim in claims:
        of_claim: list[Placement] = []
        for alternatives in claim.requests:
            number, mask = next(chosen)
            of_claim += _of_request(alternatives[number], mask, pools)
        found.append(of_claim)
    return found


def _of_request(request: Request, mask: int, pools: Sequence[PoolView]) -> list[Placement]:
    found = []
    for pool, inside in by_pool(mask, pools):
        is_shared = pool.shape.shareable if pool.features.consumable_capacity else 0
        for position in bits(inside):
            amounts = None
            if is_shared >> position & 1:
                given = request.kind.amounts(pool.shape.capacities.values[position])
                assert isinstance(given, dict)
                amounts = given
            found.append(Placement(request, pool.devices[position], amounts))
    return found
