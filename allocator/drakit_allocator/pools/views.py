"""A pool as one or more nodes see it, and which of its devices a request can get.

Answers are masks: bit i stands for device i of the pool in the order in which devices are tried. They hold as long as
neither a slice of the pool changes nor what administrators say of it, and nothing in it is allocated or released.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.defects import Defect
from drakit_allocator.devices.columns import Column, bits, remember
from drakit_allocator.devices.counters import Availability, Draw, PoolCounters
from drakit_allocator.devices.devices import Device, PoolID, PublishedSlice
from drakit_allocator.devices.request_kinds import RequestKind
from drakit_allocator.devices.selections import PoolSelection, PoolSelections
from drakit_allocator.devices.tables import Table
from drakit_allocator.devices.taints import untolerated
from drakit_allocator.devices.traits import Traits
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.occupation import Drawing, Occupation
from drakit_allocator.pools.reach import Reach
from drakit_allocator.pools.shapes import Shape, shape_of

_REMEMBERED = 64  # kinds of requests for which each pool keeps its answer
_OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"
_numbers = itertools.count(1)


def skips_operations(published: PublishedSlice, features: Features) -> bool:
    """Tell whether a slice wants the kubelet to leave out operations, as far as anybody looks at that."""
    return bool(published.skip_node_operations) and features.variant == "experimental"


class _Answer:
    """The devices eligible for a kind of request, and which of them fit while the allocations have a token."""

    __slots__ = ("eligible", "mask", "token")

    def __init__(self, eligible: int | None) -> None:
        self.eligible = eligible
        self.token: object = None
        self.mask: int | None = None


class _Lasting:
    """What of a view stays whatever administrators say of devices: who draws what, and which nodes reach them."""

    __slots__ = ("counters", "depends_on_node", "drawing", "has_others", "is_selected_per_device", "skipping")

    def __init__(
        self,
        table: Table,
        others: Sequence[PublishedSlice],
        counters: PoolCounters | None,
        shape: Shape,
        features: Features,
    ) -> None:
        """Find out what devices draw. Raises ``KeyError`` for ``others`` that draw from unknown counters."""
        self.counters = counters
        self.has_others = any(map(len, others))
        self.is_selected_per_device = any(one.is_selected_per_device for one in table.slices)
        # The devices whose slices want operations left out.
        self.skipping = table.of_slices(lambda one: skips_operations(one, features))
        # Whether nodes with this view may differ in which of the devices they can have.
        self.depends_on_node = self.is_selected_per_device or bool(self.skipping)
        self.drawing = Drawing(
            shape.counters,
            shape.consumers,
            shape.shareable if features.consumable_capacity else 0,
            shape.overdraft_blocks,
            Defect.SHARES_ARE_NOT_IN_USE not in features.defects,
            table.names.positions,
            shape.draws,
            _draws_by_name(others, counters) if others else {},
        )


def _shape(traits: Column[Traits], counters: PoolCounters | None, features: Features) -> Shape:
    return shape_of(traits, counters, overdraft_blocks=Defect.OVERDRAFT_BLOCKS_POOL in features.defects)


class PoolView:
    """A pool as one or more nodes see it. Compared by identity: a change of the pool makes a new view.

    ``others`` are slices that do not target the node, but whose devices draw from the same counters.
    """

    def __init__(
        self,
        pool_id: PoolID,
        features: Features,
        slices: Sequence[PublishedSlice] = (),
        others: Sequence[PublishedSlice] = (),
        counters: PoolCounters | None = None,
        before: PoolView | None = None,
    ) -> None:
        """Put the slices together. Raises ``KeyError`` for devices that draw from unknown counters.

        ``before`` is a view of the same slices, from which they differ in what administrators make of them: attributes,
        capacities and taints. What devices draw and which are allocated is not found out again.
        """
        self.id = pool_id
        self.features = features
        self.problem: Literal["incomplete", "invalid"] | None = None
        self.reason = ""
        self._others = others
        if before is None:
            self.table = Table(slices)
            self.shape = _shape(self.table.traits, counters, features)
            self._lasting = _Lasting(self.table, others, counters, self.shape, features)
            self._occupation: tuple[object, Occupation] = (None, self.shape.untouched)
        else:
            self.table = before.table.relaid(slices)
            is_same = self.table.traits is before.table.traits
            self.shape = before.shape if is_same else _shape(self.table.traits, counters, features)
            self._lasting = before._lasting
            self._occupation = before._occupation
        self.names: Column[str] = self.table.names
        self.counters = self.shape.counters
        self.has_binding_conditions = self.shape.has_binding_conditions
        self.depends_on_node = self._lasting.depends_on_node
        self.has_others = self._lasting.has_others
        self._selections = PoolSelections(slices, self.shape.capacities, self.selectable_mask)
        self._answers: dict[RequestKind, _Answer] = {}
        self.number = next(_numbers)  # stands for the view where a reference would keep it alive
        self.findings: dict[Hashable, Any] = {}  # what others have found out about it; to be filled with ``remember``

    def defective(self, problem: Literal["incomplete", "invalid"], reason: str) -> PoolView:
        """Return the pool, incomplete or invalid, as one with nothing to allocate from."""
        view = PoolView(self.id, self.features)
        view.problem, view.reason = problem, reason
        return view

    def relaid(self, seen: Mapping[str, PublishedSlice]) -> PoolView:
        """Return the view with its slices, by name, as administrators make them look now.

        It is itself if there is nothing to see.
        """
        if self.problem is not None:
            return self
        slices = [*map(seen.__getitem__, self.table.slice_names)]
        others = [seen[one.name] for one in self._others] if self._others else ()
        return PoolView(self.id, self.features, slices, others, self._lasting.counters, self)

    def under(self, features: Features) -> PoolView:
        """Return the same pool for an allocator with other defects."""
        view: PoolView | None = self.findings.get(features)
        if view is None:
            view = PoolView(self.id, features, self.table.slices, self._others, self._lasting.counters)
            view.problem, view.reason = self.problem, self.reason
            remember(self.findings, features, view)
        return view

    @property
    def name(self) -> str:
        """driver/pool, as messages print it."""
        return "/".join(self.id)

    @property
    def devices(self) -> Sequence[Device]:
        """The devices in the order in which they are tried."""
        return self.table.devices

    @cached_property
    def others(self) -> tuple[Device, ...]:
        """Devices that the node does not see, but that draw from the same counters."""
        return tuple(Table(self._others).devices)

    @cached_property
    def has_groups(self) -> bool:
        """Whether compatibility groups decide which of the devices go together."""
        elsewhere = {traits for one in self._others for traits in one.traits.values}
        return self.shape.has_groups or any(draw.compatibility_groups for one in elsewhere for draw in one.consumption)

    @property
    def selectable_mask(self) -> int:
        """The devices that anybody may have: those with binding conditions only with ``device_binding_and_status``."""
        without_conditions = not self.features.device_binding_and_status
        return self.shape.everything & ~self.shape.bound if without_conditions else self.shape.everything

    def position(self, device: Device) -> int:
        """Return the position of one of the devices in the masks."""
        return self.names.positions[device.id[2]]

    def selection(self, expressions: tuple[str, ...]) -> PoolSelection:
        """Return the selectable devices that satisfy all expressions."""
        return self._selections.of(expressions)

    def occupation(self, allocated: AllocatedState) -> Occupation:
        """Return what the allocated devices leave of the pool."""
        token = allocated.token(self.id)
        known, occupation = self._occupation
        if known is not token:
            changed = allocated.changes(self.id, known)
            if changed is None:
                changed, occupation = allocated.in_pool(self.id), self.shape.untouched
            occupation = occupation.after(changed, allocated, self._lasting.drawing)
            self._occupation = (token, occupation)
        return occupation

    def availability(self, allocated: AllocatedState) -> Availability:
        """Return what the allocated devices leave of the counters."""
        return self.occupation(allocated).availability

    def fitting(self, kind: RequestKind, allocated: AllocatedState, node: Node) -> int | None:
        """Return the devices that a request of this kind can get, if it gets one of them and is alone.

        None where some device may make the allocation fail: then it matters which devices are visited.
        """
        answer = self._answers.get(kind)
        if answer is None:
            answer = remember(self._answers, kind, _Answer(self._eligible(kind)), _REMEMBERED)
        token = allocated.token(self.id)
        if answer.token is not token:
            answer.mask = self._fit(kind, answer.eligible, allocated)
            answer.token = token
        mask = answer.mask
        if mask is None or not self.depends_on_node:
            return mask
        reached = self.reached(self.selection(kind.expressions).mask, node)
        return None if reached is None else mask & reached & ~self.unoffered(node)

    def may_fail(self, kind: RequestKind, node: Node) -> bool:
        """Tell whether there is a device that ends an allocation when a request of this kind comes to visit it."""
        selection = self.selection(kind.expressions)
        if not selection.is_clean() or self.reached(selection.mask, node) is None:
            return True
        return self.features.consumable_capacity and bool(selection.mask & self.shape.room(kind)[1])

    def _eligible(self, kind: RequestKind) -> int | None:
        """Return the devices that a request of this kind can get if nothing is allocated and they are for the node.

        None as for ``fitting``.
        """
        selection = self.selection(kind.expressions)
        if not selection.is_clean():
            return None
        mask = selection.mask & ~self.barred(kind)
        if not self.features.consumable_capacity:
            return mask
        enough, failing = self.shape.room(kind)
        return None if selection.mask & failing else mask & enough

    def _fit(self, kind: RequestKind, eligible: int | None, allocated: AllocatedState) -> int | None:
        """Return those of the eligible devices that the allocated ones leave."""
        if eligible is None:
            return None
        occupation = self.occupation(allocated)
        mask = eligible & ~self._unavailable(kind, occupation)
        if occupation.shared & mask and self.features.consumable_capacity:
            return self._with_shares_left(mask, kind, allocated, occupation)
        return mask

    def _with_shares_left(self, mask: int, kind: RequestKind, allocated: AllocatedState, occupation: Occupation) -> int:
        """Remove the devices of which others have consumed too much."""
        for position in bits(mask & occupation.shared):
            consumed = allocated.consumed((*self.id, self.names.values[position]))
            if not kind.has_room(self.shape.capacities.values[position], consumed):
                mask ^= 1 << position
        return mask

    def every(self, kind: RequestKind, allocated: AllocatedState, node: Node) -> tuple[int, int] | None:
        """Return the devices that a request for all of this kind must get, and those among them that it cannot get.

        None as for ``fitting``.
        """
        selection = self.selection(kind.expressions)
        mask = self.reached(selection.mask, node) if selection.is_clean() else None
        if mask is not None and self.features.consumable_capacity:
            enough, failing = self.shape.room(kind)
            mask = None if mask & failing else mask & enough
        if mask is None:
            return None
        unusable = self.barred(kind) | self._unavailable(kind, self.occupation(allocated)) | self.unoffered(node)
        return mask, mask & unusable

    def _unavailable(self, kind: RequestKind, occupation: Occupation) -> int:
        """Return the devices that a request cannot get because of what is allocated."""
        lacking = occupation.unaffordable if self.features.partitionable_devices and kind.draws_counters else 0
        return lacking if kind.has_admin_access else lacking | occupation.kept

    def barred(self, kind: RequestKind) -> int:
        """Return the devices that nobody can get, or nobody with these tolerations, whatever is allocated."""
        mask = 0 if self.features.partitionable_devices else self.shape.consumers.mask
        if self.features.device_taints:
            mask |= self.shape.untolerated(kind)
            if self.table.added_taints:
                mask |= self._untolerated_of_added(kind)
        return mask

    def _untolerated_of_added(self, kind: RequestKind) -> int:
        return sum(
            1 << position
            for position, taints in self.table.added_taints.items()
            if untolerated(taints, kind.tolerations) is not None
        )

    def unoffered(self, node: Node) -> int:
        """Return the devices that need node operations which the node does not offer."""
        offered = self.features.optional_node_operations and _OPTIONAL_NODE_OPERATIONS in node.declared_features
        return 0 if offered else self._lasting.skipping

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.table.slices)

    def reached(self, mask: int, node: Node) -> int | None:
        """Return those of the devices that the node can reach; None if for one of them that cannot be told."""
        if not self._lasting.is_selected_per_device:
            return mask
        reachable, broken = self._reach.masks(node)
        return None if broken & mask else mask & reachable


def _draws_by_name(others: Sequence[PublishedSlice], counters: PoolCounters | None) -> dict[str, list[Draw]]:
    """Return what the pool's devices on other nodes draw, by name. Raises ``KeyError`` for unknown counters."""
    found: dict[str, list[Draw]] = {}
    if counters is None:
        return found
    for one in others:
        for name, traits in zip(one.names.values, one.traits.values, strict=True):
            if traits.consumption:
                found.setdefault(name, []).append(counters.layout.draw(traits.consumption))
    return found


def by_pool(mask: int, pools: Iterable[PoolView]) -> Iterator[tuple[PoolView, int]]:
    """Yield each pool with its own part of bits that are counted over all pools, as a search does."""
    for pool in pools:
        yield pool, mask & pool.shape.everything
        mask >>= pool.shape.size
