"""A DeviceTaintRule or ResourceSlicePatch in one form: whom it is about, and what it says of them.

A rule is a patch that adds a taint, as ``resourceslice/tracker`` of dynamic-resource-allocation 0.37.1 reads it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from drakit_allocator.devices.columns import AttributeValue, attribute_of, remember
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.devices.selections import Part, new_selection, part_of
from drakit_allocator.devices.traits import capacities_of
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.slice_patches.patch import DeviceFilter, FilterFault, PatchFault, SlicePatch

# Slices that differ in what a statement reads, and of which it knows the devices that it is about.
_REMEMBERED = 64
# Causes for which a statement fails, and which are told: an error may have a value of the device in it.
_CAUSES = 16

_numbers = itertools.count(1)
Failed = Callable[[PatchFault], None]


class Statement:
    """Compared by identity: a statement whose object or class has changed is another one.

    ``criteria`` is one object for all statements that a patch has made one after the other about the same devices.
    ``faults``: why it does not apply to devices that it was evaluated on, each cause once, and told ``failed`` once, a
    few causes at most; ``patch`` is None for rules.
    """

    __slots__ = (
        "_failed",
        "_fault",
        "_known",
        "attributes",
        "capacity",
        "criteria",
        "expressions",
        "faults",
        "filter",
        "is_idle",
        "number",
        "patch",
        "taints",
    )

    def __init__(
        self,
        wanted: DeviceFilter,
        taints: tuple[Mapping[str, Any], ...],
        patch: SlicePatch | None = None,
        expressions: tuple[str, ...] = (),
        failed: Failed | None = None,
    ) -> None:
        self.number = next(_numbers)
        self.criteria = object()
        self.filter = wanted
        self.expressions = expressions
        self.patch = patch
        said = {} if patch is None else patch.attributes
        # None removes an attribute.
        self.attributes: Mapping[str, AttributeValue | None] = {
            name: None if value is None else attribute_of(value) for name, value in said.items()
        }
        self.capacity = {} if patch is None else patch.capacity
        self.taints = taints
        self.is_idle = not (self.attributes or self.capacity or taints)  # whether it says nothing of any device
        self.faults: dict[tuple[str, str], PatchFault] = {}
        self._failed = failed
        self._fault: PatchFault | None = None  # why it is about no device at all, once somebody asks
        # By what it reads of slices. Not with the columns, as selections of requests are: there are as many statements
        # as administrators like, and most of them are evaluated on each slice but once.
        self._known: dict[Hashable, int] = {}

    @staticmethod
    def of_rule(rule: ReadOnlyObject) -> Statement | None:
        """Read a DeviceTaintRule; None for one without selector, which taints nothing."""
        selector = rule["spec"].get("deviceSelector")
        if selector is None:
            return None
        wanted = DeviceFilter(None, selector.get("driver"), selector.get("pool"), selector.get("device"))
        return Statement(wanted, (rule["spec"]["taint"],))

    @staticmethod
    def of_patch(patch: SlicePatch, classes: Mapping[str, ReadOnlyObject], failed: Failed | None = None) -> Statement:
        """Read a patch; without its class it has a fault and says nothing."""
        try:
            return Statement(patch.filter, patch.taints, patch, patch.filter.criteria(classes), failed)
        except FilterFault as error:
            mute = Statement(patch.filter, (), patch, (), failed)
            mute.attributes, mute.capacity, mute.is_idle = {}, {}, True
            mute._fault = PatchFault(patch, "", "", str(error))
            return mute

    def has_criteria_of(self, other: Statement) -> bool:
        """Tell whether another statement is about the same devices, be they known or not."""
        is_mute, was_mute = self._fault is not None, other._fault is not None
        return (self.filter, self.expressions, is_mute) == (other.filter, other.expressions, was_mute)

    def follow(self, before: Statement) -> None:
        """Take over what was found out about the devices of an earlier statement of the patch, if they are the same."""
        if self.patch is None or not self.has_criteria_of(before):
            return
        self.criteria = before.criteria
        for fault in before.faults.values():
            self._tell(fault._replace(patch=self.patch))

    @property
    def is_uniform(self) -> bool:
        """Whether it is about all devices of whatever slice it may concern."""
        return not self.expressions and self.filter.device is None

    def selected(self, published: PublishedSlice) -> int:
        """Return the devices of a slice that it is about, as bits.

        Nobody is to ask it about other drivers and pools than its filter names: it does not look at these again.
        """
        if self._fault is not None:
            self._tell(self._fault)
            return 0
        among = published.schema.everything
        if self.filter.device is not None:
            position = published.names.positions.get(self.filter.device)
            among = 0 if position is None else 1 << position
        if not self.expressions or not among:
            return among
        part = part_of(published.schema, self.expressions)
        numbers = [column.number for column in published.columns_at(part.positions)]
        if part.reads_capacity:
            numbers.append(capacities_of(published.traits).number)
        key = (published.schema.number, among, *numbers)
        mask = self._known.get(key)
        if mask is None:
            mask = remember(self._known, key, self._matching(published, part, among), _REMEMBERED)
        return mask

    def _matching(self, published: PublishedSlice, part: Part, among: int) -> int:
        selection = new_selection(published, part, among)
        if selection.is_clean():
            return selection.mask
        mask = 0
        for position, fault in selection.visit():
            if fault is None:
                mask |= 1 << position
            else:
                device = "/".join((*published.pool, published.names.values[position]))
                if self.patch is not None:
                    expression = self.expressions[fault.position]
                    self._tell(PatchFault.of_selector(self.patch, device, expression, fault.error))
        return mask

    def _tell(self, fault: PatchFault) -> None:
        cause = fault.expression, fault.error
        if cause in self.faults or len(self.faults) >= _CAUSES:
            return
        self.faults[cause] = fault
        if self._failed is not None:
            self._failed(fault)
