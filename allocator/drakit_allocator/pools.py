"""Resource pools: an index of ResourceSlices that slice events update, and the view of the pools that a node has.

Upstream gathers the pools of a node again for every pod; here a view is built when a node asks for the first time after
a slice of the pool changed. Semantics: ``GatherPools`` of ``structured/internal/{stable,incubating,experimental}``:
which generation counts, when a pool is complete or invalid, and in which order pools, slices and devices are tried.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.counters import Availability, DuplicateCounterSet, PoolCounters
from drakit_allocator.devices import Device, DeviceID, PoolID, PublishedSlice
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.selectors import Matches

_REMEMBERED_SELECTIONS = 64  # distinct selector lists whose matches are kept per pool
_NO_COUNTERS = PoolCounters.of(())


class PoolView:
    """A pool as one or more nodes see it. Compared by identity: a change of the pool makes a new view."""

    def __init__(self, pool_id: PoolID, devices: Iterable[Device] = (), others: Iterable[Device] = ()) -> None:
        self.id = pool_id
        self.problem: Literal["incomplete", "invalid"] | None = None
        self.reason = ""
        self.devices = tuple(devices)
        self.others = tuple(others)  # of slices that do not target the node, but draw from the same counters
        self.selectable = self.devices
        self.counters = _NO_COUNTERS
        self.has_binding_conditions = any(d.content.spec.get("bindingConditions") is not None for d in self.devices)
        self.is_selected_per_device = any(d.slice.is_selected_per_device for d in self.devices)
        self.fitting: dict[Hashable, tuple[object, Sequence[Device]]] = {}
        self._matches: dict[tuple[str, ...], Matches] = {}
        self._consumers: dict[DeviceID, list[Device]] | None = None
        self._availability: tuple[object, Availability] | None = None

    def defective(self, problem: Literal["incomplete", "invalid"], reason: str) -> PoolView:
        """The same pool with nothing to allocate from."""
        view = PoolView(self.id)
        view.problem, view.reason = problem, reason
        return view

    @property
    def name(self) -> str:
        """driver/pool, as messages print it."""
        return "/".join(self.id)

    def matches(self, expressions: tuple[str, ...]) -> Matches:
        """The selectable devices that satisfy all expressions; remembered as long as the pool does not change."""
        found = self._matches.get(expressions)
        if found is None:
            if len(self._matches) >= _REMEMBERED_SELECTIONS:
                self._matches.pop(next(iter(self._matches)), None)
            found = self._matches[expressions] = Matches(self.selectable, expressions)
        return found

    def remember_fitting(self, key: Hashable, token: object, devices: Sequence[Device]) -> None:
        """Keep what was found out about a kind of request, for as long as the allocations have this token."""
        if len(self.fitting) >= _REMEMBERED_SELECTIONS:
            self.fitting.pop(next(iter(self.fitting)), None)
        self.fitting[key] = (token, devices)

    def availability(self, allocated: AllocatedState) -> Availability:
        """What the allocated devices leave of the counters; computed anew only when they changed in this pool."""
        token = allocated.token(self.id)
        known = self._availability
        if known is None or known[0] is not token:
            consumers, layout = self._counter_consumers(), self.counters.layout
            drawn = (
                device.content.needs(layout)
                for device_id in allocated.in_pool(self.id)
                for device in consumers.get(device_id, ())
            )
            known = self._availability = (token, Availability(self.counters, drawn))
        return known[1]

    def _counter_consumers(self) -> dict[DeviceID, list[Device]]:
        if self._consumers is None:
            consumers: dict[DeviceID, list[Device]] = {}
            for device in (*self.devices, *self.others):
                if device.content.consumption:
                    consumers.setdefault(device.id, []).append(device)
            self._consumers = consumers
        return self._consumers


class _Pool:
    """All slices of one pool, of any generation and for any node, in the order in which they were first seen."""

    def __init__(self, pool_id: PoolID, features: Features) -> None:
        self.id = pool_id
        self.features = features
        self.slices: dict[str, PublishedSlice] = {}
        self._views: dict[tuple[PublishedSlice, ...], PoolView | None] = {}
        self._by_node: dict[str, tuple[Mapping[str, str], PoolView | None]] = {}

    def changed(self) -> None:
        """Forget the views; some slice changed."""
        self._views.clear()
        self._by_node.clear()

    def view(self, node: Node) -> PoolView | None:
        """The pool as the node sees it, or None when it has nothing for the node or is being replaced."""
        known = self._by_node.get(node.name)
        if known is not None and known[0] == node.labels:
            return known[1]
        visible = tuple(self._visible(node))
        if visible not in self._views:
            self._views[visible] = self._build(visible) if visible else None
        view = self._views[visible]
        self._by_node[node.name] = (node.labels, view)
        return view

    def _visible(self, node: Node) -> Iterable[PublishedSlice]:
        on_node = [one for one in self.slices.values() if one.node_name and one.node_name == node.name]
        shared = [one for one in self.slices.values() if not one.node_name or self._is_for_all(one)]
        return (one for one in dict.fromkeys(on_node + shared) if self._is_known(one) and self._targets(one, node))

    def _is_for_all(self, one: PublishedSlice) -> bool:
        """The stable variant takes counter sets from everywhere."""
        return self.features.variant == "stable" and bool(one.spec.get("sharedCounters"))

    def _is_known(self, one: PublishedSlice) -> bool:
        """Whether the enabled features understand the slice; others are as if they did not exist."""
        partitioned = one.spec.get("perDeviceNodeSelection") is not None or one.spec.get("sharedCounters")
        if partitioned and not self.features.partitionable_devices:
            return False
        return self.features.compatibility_groups or not one.uses_compatibility_groups

    def _targets(self, one: PublishedSlice, node: Node) -> bool:
        all_nodes, selector = bool(one.spec.get("allNodes")), one.spec.get("nodeSelector")
        if self._is_for_all(one):
            return True
        try:
            if one.node_name or all_nodes or selector is not None:
                return is_reachable(node, one.node_name, all_nodes, selector)
            if one.is_selected_per_device:
                return any(_is_device_reachable(device, node) for device in one.devices)
        except AllocationError as error:
            where = f"gather pool information: failed to perform node selection for slice {one.name}"
            raise AllocationError(f"{where}: {error.message}") from None
        return False

    def _build(self, visible: tuple[PublishedSlice, ...]) -> PoolView | None:
        generation = max(one.generation for one in visible)
        current = [one for one in visible if one.generation == generation]
        others: list[PublishedSlice] = []
        if len(current) != current[0].slice_count:
            # Only now does upstream look at the slices for other nodes.
            if any(one.generation > generation for one in self.slices.values()):
                return None
            everywhere = [one for one in self.slices.values() if one.generation == generation]
            if not self.features.compatibility_groups:
                everywhere = [one for one in everywhere if not one.uses_compatibility_groups]
            if len(everywhere) != current[0].slice_count:
                seen = f"{len(everywhere)} of {current[0].slice_count} slices of generation {generation}"
                return PoolView(self.id).defective("incomplete", seen)
            others = [one for one in everywhere if one not in current]
        return self._assemble(sorted(current, key=lambda one: one.name), others)

    def _assemble(self, current: list[PublishedSlice], others: list[PublishedSlice]) -> PoolView:
        def is_counter_slice(one: PublishedSlice) -> bool:
            return self.features.partitionable_devices and bool(one.spec.get("sharedCounters"))

        view = PoolView(
            self.id,
            (device for one in current if not is_counter_slice(one) for device in one.devices),
            (device for one in others if not is_counter_slice(one) for device in one.devices),
        )
        if duplicate := _first_duplicate(device.id[2] for device in view.devices):
            return view.defective("invalid", f"duplicate device name {duplicate}")
        if not self.features.device_binding_and_status:
            view.selectable = tuple(d for d in view.devices if not d.content.spec.get("bindingConditions"))
        if self.features.partitionable_devices:
            sets = [counters for one in (*current, *others) for counters in one.spec.get("sharedCounters") or ()]
            try:
                view.counters = PoolCounters.of(sets)
                for device in (*view.devices, *view.others):
                    device.content.needs(view.counters.layout)
            except (DuplicateCounterSet, KeyError) as error:
                return view.defective("invalid", error.args[0])
        return view


def _is_device_reachable(device: Device, node: Node) -> bool:
    name, all_nodes, selector = device.node_selection()
    return is_reachable(node, name or "", all_nodes, selector)


def _first_duplicate(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


class SliceIndex:
    """All ResourceSlices, by pool, kept up to date by ``put`` and ``remove``."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._pools: dict[PoolID, _Pool] = {}
        self._known: dict[str, tuple[PublishedSlice, str | None]] = {}  # by slice name, with its resourceVersion
        self._on_node: dict[str, dict[PoolID, int]] = {}  # node -> pools, with the number of their slices for it
        self._shared: dict[PoolID, int] = {}  # pools with slices that are not for a single node

    def put(self, resource_slice: Mapping[str, Any]) -> list[Device]:
        """Add or replace a slice; its devices, or none if this resourceVersion is known already."""
        metadata = resource_slice["metadata"]
        name, version = metadata.get("name", ""), metadata.get("resourceVersion")
        if name in self._known:
            if version is not None and self._known[name][1] == version:
                return []
            old = self._known[name][0]
        else:
            old = None
        new = PublishedSlice(resource_slice, hides_sharing=self._features.variant == "stable")
        if old is not None and old.pool != new.pool:
            self.remove(name)
            old = None
        pool = self._pools.setdefault(new.pool, _Pool(new.pool, self._features))
        if old is not None:
            self._count(old, -1)
        pool.slices[name] = new
        self._known[name] = (new, version)
        self._count(new, 1)
        pool.changed()
        return list(new.devices)

    def remove(self, name: str) -> None:
        """Forget a slice; one that is not known is ignored."""
        old, _ = self._known.pop(name, (None, None))
        if old is None:
            return
        pool = self._pools[old.pool]
        del pool.slices[name]
        self._count(old, -1)
        pool.changed()
        if not pool.slices:
            del self._pools[old.pool]

    def _count(self, one: PublishedSlice, change: int) -> None:
        by_pool = self._shared
        if one.node_name and not (self._features.variant == "stable" and one.spec.get("sharedCounters")):
            by_pool = self._on_node.setdefault(one.node_name, {})
        by_pool[one.pool] = by_pool.get(one.pool, 0) + change
        if not by_pool[one.pool]:
            del by_pool[one.pool]
            if by_pool is not self._shared and not by_pool:
                del self._on_node[one.node_name]

    def devices(self) -> Iterable[Device]:
        """Every device of every slice, of any generation."""
        return (device for one, _ in self._known.values() for device in one.devices)

    def retainted(self, devices: Iterable[Device]) -> None:
        """The taints of these devices changed; what was remembered about their pools no longer holds."""
        for pool_id in {device.slice.pool for device in devices}:
            self._pools[pool_id].changed()

    def pools(self, node: Node) -> list[PoolView]:
        """The node's pools in the order in which they are tried: by driver and name, binding conditions last.

        Raises ``AllocationError`` for a broken node selector.
        """
        visible = {**self._on_node.get(node.name, {}), **self._shared}
        views = [view for pool_id in visible if (view := self._pools[pool_id].view(node)) is not None]
        return sorted(views, key=lambda view: (view.has_binding_conditions, view.id))
