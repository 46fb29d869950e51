"""What each request finds on a node when it is alone there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from drakit_allocator.candidates import Situation
from drakit_allocator.devices.devices import Device
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.inventory import Inventory, name_of
from drakit_allocator.explanation.reasons import (
    CapacityMissing,
    CapacityRefused,
    DeviceReason,
    SelectorFalse,
    WrongNode,
)
from drakit_allocator.explanation.report import RequestExplanation, RuledOut
from drakit_allocator.explanation.trials import Clock
from drakit_allocator.explanation.verdicts import Verdicts, selection_text
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.pools.pools import PoolView, SliceIndex
from drakit_allocator.requests import Request

# A request for all devices does not want those; it fails on any other that it cannot have.
_NOT_WANTED = (SelectorFalse, WrongNode, CapacityMissing)


class RequestStudy:
    """The verdicts on all devices for one request; ``elsewhere`` are devices for other nodes only."""

    def __init__(
        self,
        request: Request,
        situation: Situation,
        verdicts: Verdicts,
        *,
        elsewhere: Sequence[Device] = (),
        clock: Clock | None = None,
    ) -> None:
        """Look at the devices, until the clock's time is over."""
        self.request = request
        # All devices cannot be known while a pool is broken, whichever it is.
        self.is_blocked = request.wants_all and any(pool.problem for pool in situation.pools)
        self.is_cut_short = False
        self.usable: list[Device] = []
        self.ruled_out: dict[DeviceReason, list[Device]] = {}
        for device, reason in self._reasons(situation, verdicts, elsewhere):
            self._add(device, reason)
            # A selector may take a second for each device before it runs into its cost limit.
            if clock is not None and clock.is_over:
                self.is_cut_short = True
                break

    def _reasons(
        self, situation: Situation, verdicts: Verdicts, elsewhere: Sequence[Device]
    ) -> Iterator[tuple[Device, DeviceReason | None]]:
        for pool, device in _devices(situation):
            yield device, verdicts.of(self.request, pool, device)
        for device in elsewhere:
            name, _, selector = device.node_selection()
            reason = verdicts.unselected(self.request, device) or WrongNode(selection_text(name, selector))
            yield device, reason

    def _add(self, device: Device, reason: DeviceReason | None) -> None:
        if reason is None:
            self.usable.append(device)
        else:
            self.ruled_out.setdefault(reason, []).append(device)

    @property
    def total(self) -> int:
        """How many devices were looked at."""
        return len(self.usable) + sum(map(len, self.ruled_out.values()))

    @property
    def wanted(self) -> list[Device]:
        """The devices that a request for all of them must get."""
        blocked = [device for reason, devices in self.ruled_out.items() if _is_wanted(reason) for device in devices]
        return [*self.usable, *blocked]

    @property
    def has_enough(self) -> bool:
        """Whether as many devices can be used as it takes."""
        if self.request.wants_all:
            return bool(self.usable) and len(self.wanted) == len(self.usable) and not self.is_blocked
        return len(self.usable) >= self.request.count

    def report(self) -> RequestExplanation:
        """Make the request's part of an explanation."""
        return RequestExplanation(
            self.request.result_name,
            None if self.request.wants_all else self.request.count,
            self.total,
            self.has_enough,
            _names(self.usable),
            tuple(RuledOut(reason, _names(devices)) for reason, devices in self.ruled_out.items()),
        )


def _is_wanted(reason: DeviceReason) -> bool:
    return not isinstance(reason, _NOT_WANTED) and not (isinstance(reason, CapacityRefused) and not reason.message)


def _names(devices: Iterable[Device]) -> tuple[str, ...]:
    return tuple(device.name for device in devices)


def _devices(situation: Situation) -> Iterable[tuple[PoolView, Device]]:
    return ((pool, device) for pool in situation.pools for device in pool.devices)


def network_devices(inventory: Inventory, index: SliceIndex) -> list[Device]:
    """List the devices of slices that name no node, of the newest generation of each pool.

    Nobody expects the devices of another node's own slice here; these may be thought to be for any node. ``index`` has
    the same slices.
    """
    return [
        device
        for pool in inventory.slices_by_pool
        for one in inventory.newest(pool)
        if not one["spec"].get("nodeName")
        for device in index.seen(name_of(one)).devices
    ]


def unreachable(devices: Iterable[Device], situation: Situation) -> list[Device]:
    """List those of the devices that the node does not see at all, because their slices are for other nodes."""
    if not devices:
        return []
    seen = {device.id for _, device in _devices(situation)}
    return [device for device in devices if device.id not in seen and not _is_reachable(device, situation.node)]


def _is_reachable(device: Device, node: Node) -> bool:
    name, all_nodes, selector = device.node_selection()
    try:
        return is_reachable(node, name or "", all_nodes, selector)
    except AllocationError:
        return False
