"""Which devices of a node each request may get, before the search decides which of them go together.

Everything that does not change during a search is decided here, once per request instead of once per attempt:
selectors, node selection, what is allocated, counters that are short already, taints. What is fatal stays in the list
as a fault: as with upstream, it fails the allocation only if the search comes to visit the device.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.capacity import CapacityError, fits
from drakit_allocator.devices import Device, PoolID
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.pools import PoolView
from drakit_allocator.requests import MAX_RESULTS, ClaimRequests, Request
from drakit_allocator.taints import first_untolerated

_OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


class Obstacle(enum.Enum):
    """Why nobody can get a device that the selectors let through; the values complete "2 devices ..."."""

    NODE_OPERATIONS = "need node operations that are not offered"
    PARTITIONS = "consume counters, which is disabled"
    COUNTERS = "lack counters"
    TAINTS = "have taints that are not tolerated"


@dataclass(slots=True, eq=False)
class Candidates:
    """The devices for one request on one node, in the order in which they are tried.

    With mode All, ``devices`` are those that it must get, and ``unusable`` are devices among them that nobody can get.
    """

    request: Request
    devices: list[Device]
    faults: dict[Device, AllocationError]
    unusable: frozenset[Device]
    count: int


@dataclass(slots=True)
class Situation:
    """A node at one moment: its pools, what is allocated, and the rules of the game."""

    node: Node
    pools: Sequence[PoolView]
    allocated: AllocatedState
    features: Features

    def candidates(self, claims: Iterable[ClaimRequests]) -> dict[Request, Candidates]:
        """For every request and subrequest. Raises ``AllocationError`` as upstream does before it searches."""
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
        """Candidates of mode ExactCount.

        The search gets past a device with a fault only if a rival took it, so with more faults than rivals it never
        gets to see the devices behind them.
        """
        devices: list[Device] = []
        faults: dict[Device, AllocationError] = {}
        for pool in self.pools:
            devices += self._fitting(request, pool, faults, rivals)
            if len(faults) > rivals:
                break
        return Candidates(request, devices, faults, frozenset(), request.count)

    def _fitting(
        self, request: Request, pool: PoolView, faults: dict[Device, AllocationError], rivals: int
    ) -> Sequence[Device]:
        """The pool's candidates for a request, remembered until an allocation in the pool changes."""
        key, token = (request.signature, self.node.declared_features), self.allocated.token(pool.id)
        known = pool.fitting.get(key)
        if known is not None and known[0] is token:
            return known[1]
        devices: list[Device] = []
        is_faultless = True
        for device, fault in self._selected(request, pool, skips_allocated=not request.has_admin_access):
            if fault is not None or (fault := self._capacity_fault(request, device)) is not None:
                faults[device] = fault
                is_faultless = False
                if len(faults) > rivals:
                    return [*devices, device]
            elif not self.has_capacity(request, device) or self.obstacle(request, device, pool) is not None:
                continue
            devices.append(device)
        if is_faultless and not pool.is_selected_per_device:
            pool.remember_fitting(key, token, devices)
        return devices

    def _everything(self, request: Request) -> Candidates:
        """The devices of mode All."""
        devices: list[Device] = []
        unusable: set[Device] = set()
        for pool in self.pools:
            if pool.problem is not None:
                state = "currently being updated" if pool.problem == "incomplete" else "currently invalid"
                raise AllocationError(
                    f"{request.label}: asks for all devices, but resource pool {pool.name} is {state}"
                )
            for device, fault in self._selected(request, pool, skips_allocated=False):
                if fault is not None or (fault := self._capacity_fault(request, device)) is not None:
                    raise fault
                if self.has_capacity(request, device, counts_consumed=False):
                    devices.append(device)
                    in_use = not request.has_admin_access and device.id in self.allocated.holders
                    if in_use or self.obstacle(request, device, pool) is not None:
                        unusable.add(device)
        return Candidates(request, devices, {}, frozenset(unusable), len(devices))

    def _selected(
        self, request: Request, pool: PoolView, *, skips_allocated: bool
    ) -> Iterator[tuple[Device, AllocationError | None]]:
        """Devices that the selectors and the node selection of single devices let through, or fail on."""
        holders = self.allocated.holders
        matches = pool.matches(request.selectors.expressions)
        for device in matches:
            if skips_allocated and device.id in holders:
                continue
            if matches.faulty and device in matches.faulty:
                yield device, request.selectors.fault(device, *matches.faulty[device])
            elif not pool.is_selected_per_device or not device.slice.is_selected_per_device:
                yield device, None
            else:
                try:
                    name, all_nodes, selector = device.node_selection()
                    if is_reachable(self.node, name or "", all_nodes, selector):
                        yield device, None
                except AllocationError as error:
                    yield device, error

    def _capacity_fault(self, request: Request, device: Device) -> AllocationError | None:
        if not self.features.consumable_capacity:
            return None
        amounts = request.amounts(device.content)
        if not isinstance(amounts, CapacityError):
            return None
        name = device.id[2] if request.wants_all else device.name
        return AllocationError(f"{request.label}: checking capacity for device {name}: {amounts}")

    def has_capacity(self, request: Request, device: Device, *, counts_consumed: bool = True) -> bool:
        """Whether the device has what the request asks of its capacities, at all or next to the shares given out."""
        if not self.features.consumable_capacity:
            return True
        amounts = request.amounts(device.content)
        if amounts is None or isinstance(amounts, CapacityError):
            return False
        taken = self.allocated.consumed(device.id) if counts_consumed else {}
        return fits(device.content.limits, amounts, taken)

    def obstacle(self, request: Request, device: Device, pool: PoolView) -> Obstacle | None:
        """Why the request cannot get the selected device whatever else is chosen, or None."""
        if device.slice.skip_node_operations and self.features.variant == "experimental":
            if not self.features.optional_node_operations:
                return Obstacle.NODE_OPERATIONS
            if _OPTIONAL_NODE_OPERATIONS not in self.node.declared_features:
                return Obstacle.NODE_OPERATIONS
        if device.content.consumption:
            if not self.features.partitionable_devices:
                return Obstacle.PARTITIONS
            if self._is_short(device, pool):
                return Obstacle.COUNTERS
        if self.features.device_taints and (device.content.taints or device.rule_taints):
            tolerations = request.spec.get("tolerations") or ()
            if first_untolerated(device, tolerations) is not None:
                return Obstacle.TAINTS
        return None

    def _is_short(self, device: Device, pool: PoolView) -> bool:
        """Whether counters lack what the device needs. Further shares of a shared device need none."""
        if self.charges_once(device) and self.allocated.is_shared(device.id):
            return False
        availability, layout = pool.availability(self.allocated), pool.counters.layout
        return availability.overdrawn or availability.shortage(device.content.needs(layout)) is not None

    def pool(self, pool_id: PoolID) -> PoolView:
        """The pool of one of the candidates."""
        return next(pool for pool in self.pools if pool.id == pool_id)

    def charges_once(self, device: Device) -> bool:
        """Whether several requests may share the device, and only the first share draws counters."""
        return self.features.consumable_capacity and device.content.is_shareable
