"""Which devices of a node each request may get, before the search decides which of them go together.

Everything that does not change during a search is decided here, once per request instead of once per attempt:
selectors, node selection, what is allocated, counters that are short already, taints. What is fatal stays in the list
as a fault: as with upstream, it fails the allocation only if the search comes to visit the device.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.devices.capacity import CapacityError, fits
from drakit_allocator.devices.columns import bits
from drakit_allocator.devices.devices import Device
from drakit_allocator.devices.taints import first_untolerated
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.pools.views import PoolView, by_pool, skips_operations
from drakit_allocator.requests import MAX_RESULTS, ClaimRequests, Request


class Obstacle(enum.Enum):
    """Why nobody can get a device that the selectors let through; the values complete "2 devices ..."."""

    NODE_OPERATIONS = "need node operations that are not offered"
    PARTITIONS = "consume counters, which is disabled"
    COUNTERS = "lack counters"
    TAINTS = "have taints that are not tolerated"


@dataclass(eq=False)
class Candidates:
    """The devices for one request on one node, in the order in which they are tried.

    With mode All, ``devices`` are those that it must get, and ``unusable`` are devices among them that nobody can get.
    Both are there as bits as well: bit i stands for device i of the node, counted through its pools.
    """

    request: Request
    pools: Sequence[PoolView]
    mask: int
    faults: dict[Device, AllocationError]
    unusable_mask: int
    count: int

    @cached_property
    def devices(self) -> list[Device]:
        """The devices of ``mask``."""
        return list(_devices_of(self.pools, self.mask))

    @cached_property
    def unusable(self) -> frozenset[Device]:
        """The devices of ``unusable_mask``."""
        return frozenset(_devices_of(self.pools, self.unusable_mask))


def _devices_of(pools: Iterable[PoolView], mask: int) -> Iterator[Device]:
    for pool, inside in by_pool(mask, pools):
        for position in bits(inside):
            yield pool.devices[position]


@dataclass(slots=True)
class Situation:
    """A node at one moment: its pools, what is allocated, and the rules of the game."""

    node: Node
    pools: Sequence[PoolView]
    allocated: AllocatedState
    features: Features

    def candidates(self, claims: Iterable[ClaimRequests]) -> dict[Request, Candidates]:
        """Find candidates for requests and subrequests. Raises ``AllocationError`` as upstream before it searches."""
        found: dict[Request, Candidates] = {}
        rivals = 0  # how many devices earlier requests may have taken at most
        for claim in claims:
            total = 0
            for alternatives in claim.requests:
                for request in alternatives:
                    found[request] = self._everything(request) if request.wants_all else self._choice(request, rivals)
                rivals += max(found[request].count for request in alternatives)
                smallest = min(found[request].count for request in alternatives)
                if smallest > MAX_RESULTS - total:
                    name = alternatives[0].parent or alternatives[0].name
                    raise AllocationError(
                        f"claim {claim.name}, request {name}: adding {smallest} devices exceeds the claim limit of "
                        f"{MAX_RESULTS}, with {total} already accounted for"
                    )
                total += smallest
            if claim.fault is not None:
                for request in claim.unfinished:
                    if request.wants_all:
                        self._everything(request)
                raise claim.fault
        return found

    def _choice(self, request: Request, rivals: int) -> Candidates:
        """Find the candidates of a request of mode ExactCount.

        The search gets past a device with a fault only if a rival took it, so with more faults than rivals it never
        gets to see the devices behind them.
        """
        faults: dict[Device, AllocationError] = {}
        mask = offset = 0
        for pool in self.pools:
            mask |= self._fitting(request, pool, faults, rivals) << offset
            offset += pool.shape.size
            if len(faults) > rivals:
                break
        return Candidates(request, self.pools, mask, faults, 0, request.count)

    def _fitting(self, request: Request, pool: PoolView, faults: dict[Device, AllocationError], rivals: int) -> int:
        """Return the pool's candidates for a request as bits; add those that make the allocation fail to ``faults``."""
        known = pool.fitting(request.kind, self.allocated, self.node)
        if known is not None:
            return known
        mask = 0
        kept = 0 if request.has_admin_access else pool.occupation(self.allocated).kept
        for position, device, fault in self._selected(request, pool, kept):
            if fault is not None or (fault := self._capacity_fault(request, device)) is not None:
                faults[device] = fault
                if len(faults) > rivals:
                    return mask | 1 << position
            elif not self.has_capacity(request, device) or self.obstacle(request, device, pool) is not None:
                continue
            mask |= 1 << position
        return mask

    def _everything(self, request: Request) -> Candidates:
        """Find the devices that a request of mode All must get."""
        mask = unusable = offset = 0
        for pool in self.pools:
            if pool.problem is not None:
                state = "currently being updated" if pool.problem == "incomplete" else "currently invalid"
                raise AllocationError(
                    f"{request.label}: asks for all devices, but resource pool {pool.name} is {state}"
                )
            known = pool.every(request.kind, self.allocated, self.node) or self._every(request, pool)
            mask |= known[0] << offset
            unusable |= known[1] << offset
            offset += pool.shape.size
        return Candidates(request, self.pools, mask, {}, unusable, mask.bit_count())

    def _every(self, request: Request, pool: PoolView) -> tuple[int, int]:
        """Return the devices of a pool that the request must get, and those among them that it cannot get, as bits."""
        mask = unusable = 0
        kept = 0 if request.has_admin_access else pool.occupation(self.allocated).kept
        for position, device, fault in self._selected(request, pool):
            if fault is not None or (fault := self._capacity_fault(request, device)) is not None:
                raise fault
            if self.has_capacity(request, device, counts_consumed=False):
                mask |= 1 << position
                if kept >> position & 1 or self.obstacle(request, device, pool) is not None:
                    unusable |= 1 << position
        return mask, unusable

    def _selected(
        self, request: Request, pool: PoolView, skipped: int = 0
    ) -> Iterator[tuple[int, Device, AllocationError | None]]:
        """Yield the devices that the selectors and the node selection of single devices let through, or fail on."""
        for position, failed in pool.selection(request.selectors.expressions).visit():
            if skipped >> position & 1:
                continue
            device = pool.devices[position]
            if failed is not None:
                yield position, device, request.selectors.fault(device, failed.position, failed.error)
            elif not device.slice.is_selected_per_device:
                yield position, device, None
            else:
                try:
                    name, all_nodes, selector = device.node_selection()
                    if is_reachable(self.node, name or "", all_nodes, selector):
                        yield position, device, None
                except AllocationError as error:
                    yield position, device, error

    def _capacity_fault(self, request: Request, device: Device) -> AllocationError | None:
        if not self.features.consumable_capacity:
            return None
        amounts = request.amounts(device.content)
        if not isinstance(amounts, CapacityError):
            return None
        name = device.id[2] if request.wants_all else device.name
        return AllocationError(f"{request.label}: checking capacity for device {name}: {amounts}")

    def has_capacity(self, request: Request, device: Device, *, counts_consumed: bool = True) -> bool:
        """Tell whether the device has the capacity that is asked for, at all or next to the shares given out."""
        if not self.features.consumable_capacity:
            return True
        amounts = request.amounts(device.content)
        if amounts is None or isinstance(amounts, CapacityError):
            return False
        taken = self.allocated.consumed(device.id) if counts_consumed else {}
        return fits(device.content.limits, amounts, taken)

    def obstacle(self, request: Request, device: Device, pool: PoolView) -> Obstacle | None:
        """Say why the request cannot get the selected device whatever else is chosen; None if it can."""
        if pool.unoffered(self.node) and skips_operations(device.slice, self.features):
            return Obstacle.NODE_OPERATIONS
        if device.content.consumption:
            if not self.features.partitionable_devices:
                return Obstacle.PARTITIONS
            if request.kind.draws_counters and self._is_short(device, pool):
                return Obstacle.COUNTERS
        if self.features.device_taints and (device.content.taints or device.added_taints):
            tolerations = request.spec.get("tolerations") or ()
            if first_untolerated(device, tolerations) is not None:
                return Obstacle.TAINTS
        return None

    def _is_short(self, device: Device, pool: PoolView) -> bool:
        """Tell whether counters lack what the device needs. Further shares of a shared device need none."""
        return bool(pool.occupation(self.allocated).unaffordable >> pool.position(device) & 1)

    def is_kept(self, device: Device, pool: PoolView) -> bool:
        """Tell whether others have the device, so that nobody can get it but for admin access."""
        return bool(pool.occupation(self.allocated).kept >> pool.position(device) & 1)

    def charges_once(self, device: Device) -> bool:
        """Tell whether several requests may share the device, and only the first share draws counters."""
        return self.features.consumable_capacity and device.content.is_shareable
