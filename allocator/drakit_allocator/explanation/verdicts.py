"""What rules out one device for one request, whatever else is chosen.

Nothing is decided here: it is the allocator's checks, asked one after the other, with the particulars of the first that
fails. The order is the one in which people think: a device that is not wanted is not worth another word.
"""

from __future__ import annotations

from typing import Any

import msgspec

from drakit_allocator.candidates import Obstacle, Situation
from drakit_allocator.devices.capacity import CapacityError
from drakit_allocator.devices.devices import Device, DeviceContent
from drakit_allocator.devices.selectors import verdict
from drakit_allocator.devices.taints import every_untolerated, identity
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.holdings import Holdings, amount_text
from drakit_allocator.explanation.provenance import Provenance
from drakit_allocator.explanation.reasons import (
    AttributeMissing,
    CapacityMissing,
    CapacityRefused,
    CapacityShort,
    DerivedFails,
    DeviceReason,
    FeatureOff,
    InUse,
    Owner,
    SelectorFails,
    SelectorFalse,
    Tainted,
    WrongNode,
)
from drakit_allocator.nodes import is_reachable
from drakit_allocator.pools.pools import PoolView
from drakit_allocator.requests import Request
from drakit_api.cel import device_view
from drakit_api.cel.readings import Condition, failed_conditions, readings

_BINDING_GATES = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


class Verdicts:
    """Asks about the devices of one node."""

    def __init__(self, situation: Situation, provenance: Provenance) -> None:
        self._situation = situation
        self._provenance = provenance
        self._holdings = Holdings(situation)
        self._unselected: dict[tuple[DeviceContent, Request], SelectorFalse | SelectorFails | None] = {}

    def of(self, request: Request, pool: PoolView, device: Device) -> DeviceReason | None:
        """Find the first reason against the device; None when the request alone could get it."""
        unselected = self.unselected(request, device)
        if isinstance(unselected, SelectorFalse):
            return unselected
        is_kept = not request.has_admin_access and self._situation.is_kept(device, pool)
        if unselected is not None and (request.wants_all or not is_kept):
            return unselected
        if is_kept:
            return InUse(self._holdings.keepers(device.id))
        return (
            self._binding_conditions(device)
            or self._wrong_node(device)
            or self._capacity(request, device)
            or self._groups(request, pool, device)
            or self._obstacle(request, pool, device)
            or self._attributes(request, device)
        )

    def unselected(self, request: Request, device: Device) -> SelectorFalse | SelectorFails | None:
        """Find the first selector that the device does not satisfy; None if it satisfies all."""
        key = device.content, request
        if key not in self._unselected:
            self._unselected[key] = self._first_unselected(request, device)
        return self._unselected[key]

    def _binding_conditions(self, device: Device) -> FeatureOff | None:
        if self._situation.features.device_binding_and_status or not device.content.spec.get("bindingConditions"):
            return None
        return FeatureOff(_BINDING_GATES, "bindingConditions")

    def _wrong_node(self, device: Device) -> WrongNode | None:
        if not device.slice.is_selected_per_device:
            return None
        name, all_nodes, selector = device.node_selection()
        try:
            if is_reachable(self._situation.node, name or "", all_nodes, selector):
                return None
        except AllocationError:
            pass  # A selector that cannot be read selects nothing; what is wrong with it is told with the error.
        return WrongNode(selection_text(name, selector))

    def _capacity(self, request: Request, device: Device) -> DeviceReason | None:
        if self._situation.has_capacity(request, device):
            return None
        amounts, limits = request.amounts(device.content), device.content.limits
        if amounts is None or isinstance(amounts, CapacityError):
            unknown = [name for name in request.capacity if name not in limits]
            if unknown:
                return CapacityMissing(unknown[0])
            requested = tuple((name, str(amount)) for name, amount in request.capacity.items())
            broken = request.kind.passes_over(device.content.traits.capacity)
            patches = self._provenance.capacities(device, request.capacity)
            return CapacityRefused(requested, "" if amounts is None else str(amounts), broken, patches)
        taken = self._situation.allocated.consumed(device.id)
        for name, amount in amounts.items():
            total = limits[name].value.nanos
            free = total - taken.get(name, 0)
            if amount.nanos > free:
                sharers = self._holdings.sharers(device.id)
                patch = self._provenance.capacity(device, name)
                return CapacityShort(name, str(amount), amount_text(free), str(limits[name].value), sharers, patch)
        return None

    def _groups(self, request: Request, pool: PoolView, device: Device) -> DeviceReason | None:
        is_charged = self._situation.charges_once(device) and self._situation.allocated.is_shared(device.id)
        if not device.content.consumption or is_charged or not request.kind.draws_counters:
            return None
        return self._holdings.incompatible(device, pool)

    def _obstacle(self, request: Request, pool: PoolView, device: Device) -> DeviceReason | None:
        match self._situation.obstacle(request, device, pool):
            case None:
                return None
            case Obstacle.TAINTS:
                return self._taint(request, device)
            case Obstacle.COUNTERS:
                return self._holdings.shortage(device, pool)
            case Obstacle.PARTITIONS:
                return FeatureOff(("DRAPartitionableDevices",), "consumesCounters")
            case Obstacle.NODE_OPERATIONS:
                return FeatureOff(("DRAOptionalNodeOperations",), "skipNodeOperations")

    def _first_unselected(self, request: Request, device: Device) -> SelectorFalse | SelectorFails | None:
        selectors, content = request.selectors, device.content
        for position, expression in enumerate(selectors.expressions):
            result = verdict(content, expression)
            if result is True:
                continue
            is_class = position < selectors.from_class
            kind: Owner = "class" if is_class else "request"
            owner = selectors.class_name if is_class else request.result_name
            number = position if is_class else position - selectors.from_class
            if result is False:
                return SelectorFalse(kind, owner, number, expression, self._failed(expression, device))
            read = self._provenance.read(device, readings(expression, device_view(content.driver, content.spec)))
            return SelectorFails(kind, owner, number, expression, str(result), read)
        return None

    def _failed(self, expression: str, device: Device) -> tuple[Condition, ...]:
        failed = failed_conditions(expression, device_view(device.content.driver, device.content.spec))
        return tuple(Condition(one.expression, self._provenance.read(device, one.read)) for one in failed)

    def _taint(self, request: Request, device: Device) -> Tainted | None:
        found = [
            Tainted(*identity(taint), *self._provenance.taint(device, taint))
            for taint in every_untolerated(device, request.spec.get("tolerations") or ())
        ]
        return msgspec.structs.replace(found[0], others=tuple(found[1:])) if found else None

    def _attributes(self, request: Request, device: Device) -> DeviceReason | None:
        """Find the first attribute that a constraint compares and the device does not have; None if it has all."""
        for number, attribute in request.constraints:
            try:
                if attribute.of(device) is None:
                    return AttributeMissing(number, attribute.name, self._provenance.attribute(device, attribute.name))
            except AllocationError as error:
                return DerivedFails(number, attribute.name, error.message)
        return None


def selection_text(node_name: str | None, selector: Any) -> str:
    """Print the nodeName of devices, or without one their nodeSelector as JSON."""
    if node_name:
        return f"nodeName: {node_name}"
    return f"nodeSelector: {msgspec.json.encode(selector).decode()}"
