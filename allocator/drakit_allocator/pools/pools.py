"""Resource pools: an index of ResourceSlices that slice events update, and the view of the pools that a node has.

Upstream gathers the pools of a node again for every pod; here a view is built when a node asks for the first time after
a slice of the pool changed. Semantics: ``GatherPools`` of ``structured/internal/{stable,incubating,experimental}``:
which generation counts, when a pool is complete or invalid, and in which order pools, slices and devices are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from drakit_allocator.devices.columns import remember
from drakit_allocator.devices.counters import DuplicateCounterSet, PoolCounters
from drakit_allocator.devices.devices import PoolID, PublishedSlice
from drakit_allocator.devices.traits import Traits
from drakit_allocator.devices.turns import TurnOver
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.overlays.outcomes import Outcome
from drakit_allocator.overlays.overlay import Concerned, Overlay
from drakit_allocator.pools.views import PoolView as PoolView
from drakit_api.slice_patches.patch import DeviceFilter

_Key = TypeVar("_Key", PoolID, str)
_Visible = tuple[PublishedSlice, ...]

# Nodes, known by name, of which it is remembered what they see. Names of nodes that have gone make room some day.
_REMEMBERED_NODES = 16384

COMPATIBILITY_GROUPS = "DRADeviceCompatibilityGroups"
PARTITIONABLE_DEVICES = "DRAPartitionableDevices"


def gates_missing(one: PublishedSlice, features: Features) -> tuple[str, ...]:
    """Name the feature gates that are off, and because of which the allocator ignores the slice; empty if it counts."""
    missing: tuple[str, ...] = ()
    if not features.partitionable_devices and (one.spec.get("perDeviceNodeSelection") is not None or one.counters.sets):
        missing = (PARTITIONABLE_DEVICES,)
    if not features.compatibility_groups and one.uses_compatibility_groups:
        missing = (*missing, COMPATIBILITY_GROUPS)
    return missing


class _Pool:
    """All slices of one pool, of any generation and for any node, in the order in which they were first seen.

    ``published`` are as their driver has made them, ``slices`` as administrators make them look, once somebody looks.
    """

    def __init__(self, pool_id: PoolID, features: Features, overlay: Overlay) -> None:
        self.id = pool_id
        self.features = features
        self.published: dict[str, PublishedSlice] = {}
        self.slices: dict[str, PublishedSlice] = self.published
        self._with_any_devices: dict[str, PublishedSlice] = {}  # of those that are published
        self._is_stable = features.variant == "stable"
        self._overlay = overlay
        self._concerned: Concerned | None = None  # the statements of which ``_outcomes`` are known
        self._outcomes: dict[str, Outcome] = {}  # by names of slices
        # Those of other statements, as far as they were evaluated when a turn was over.
        self._unfinished: tuple[Concerned, dict[str, Outcome]] | None = None
        self._is_current = True
        self.nodes: dict[str, int] = {}  # those that slices name, with the number of their slices
        # Views and the slices for each node, as published: administrators do not change which node sees a slice.
        self._views: dict[_Visible, PoolView | None] = {}
        self._by_node: dict[str, tuple[Mapping[str, str], _Visible]] = {}
        # Views of the same published slices, from which the next ones are made.
        self._outdated: dict[_Visible, PoolView | None] = {}
        # Earlier views: what they have in common with the next must not vanish in between.
        self._replaced: object = None

    def put(self, one: PublishedSlice) -> None:
        """Add or replace a slice."""
        self.published[one.name] = one
        self._with_any_devices.pop(one.name, None)
        if len(one):
            self._with_any_devices[one.name] = one
        self._forget_views(one.name)

    def remove(self, name: str) -> None:
        """Forget a slice."""
        del self.published[name]
        self._with_any_devices.pop(name, None)
        self._forget_views(name)

    def _forget_views(self, name: str) -> None:
        """Forget the views: the slice of this name has come, changed or gone."""
        self._outcomes.pop(name, None)
        if self._unfinished is not None:
            self._unfinished[1].pop(name, None)
        self._is_current = False
        if self._views or self._outdated:
            self._replaced = self._views, self._outdated
        self._views, self._outdated = {}, {}
        self._by_node.clear()

    def reconsider(self) -> None:
        """Look at the slices again, as what administrators say may be something else."""
        self._is_current = False

    def look(self) -> None:
        """Look at the slices through the overlay, if anything has changed; the views stay if no slice does."""
        if self._is_current:
            return
        concerned = self._overlay.concerning(self.id)
        if concerned is not None or self.slices is not self.published:
            self._lay(concerned)
        self._concerned = concerned
        self._is_current = True

    def _lay(self, concerned: Concerned | None) -> None:
        outcomes: dict[str, Outcome] = {}
        if concerned is not None:
            if self._unfinished is None or self._unfinished[0] is not concerned:
                self._unfinished = concerned, outcomes
            outcomes = self._unfinished[1]
            concerned.judge(self._with_any_devices, self._outcomes, self._concerned, outcomes)
        self._unfinished = None
        slices = {**self.published, **self._changed_slices(outcomes)}
        if slices != self.slices:  # slices are compared by identity
            self._outdated |= self._views
            self._views = {}
        self.slices = slices if outcomes else self.published
        self._outcomes = outcomes

    def _changed_slices(self, outcomes: Mapping[str, Outcome]) -> dict[str, PublishedSlice]:
        """Return the slices that statements change; the same objects as before if the change is the same."""
        known, published, slices = self._outcomes, self.published, self.slices
        return {
            name: slices[name] if name in known and known[name].change is change else published[name].changed(change)
            for name, after in outcomes.items()
            if (change := after.change) is not None
        }

    def view(self, node: Node) -> PoolView | None:
        """Return the pool as the node sees it; None when it has nothing for the node or is being replaced."""
        self.look()
        known = self._by_node.get(node.name)
        if known is not None and (known[0] is node.labels or known[0] == node.labels):
            visible = known[1]
        else:
            visible = tuple(self._visible(node))
            remember(self._by_node, node.name, (node.labels, visible), _REMEMBERED_NODES)
        if visible not in self._views:
            self._views[visible] = self._view(visible)
            self._replaced = None
        return self._views[visible]

    def _view(self, visible: _Visible) -> PoolView | None:
        if visible not in self._outdated:
            return self._build(visible) if visible else None
        before = self._outdated.pop(visible)
        return before and before.relaid(self.slices)

    def _as_seen(self, slices: Iterable[PublishedSlice]) -> list[PublishedSlice]:
        """Return slices of the pool as administrators make them look."""
        return [self.slices[one.name] for one in slices]

    def _visible(self, node: Node) -> Iterable[PublishedSlice]:
        slices = self.published.values()
        on_node = [one for one in slices if one.node_name and one.node_name == node.name]
        shared = [one for one in slices if not one.node_name or self._is_for_all(one)]
        return (one for one in dict.fromkeys(on_node + shared) if self._is_known(one) and self._targets(one, node))

    def _is_for_all(self, one: PublishedSlice) -> bool:
        """Tell whether the slice is for all nodes: the stable variant takes counter sets from everywhere."""
        return self._is_stable and bool(one.counters.sets)

    def _is_known(self, one: PublishedSlice) -> bool:
        """Tell whether the enabled features understand the slice; others are as if they did not exist."""
        return not gates_missing(one, self.features)

    def hidden_by(self, node: Node) -> tuple[str, ...]:
        """Name the feature gates without which the node sees nothing of the pool, though there are slices for it."""
        ignored = [one for one in self.published.values() if not self._is_known(one) and self._targets(one, node)]
        if not ignored or self.view(node) is not None:
            return ()
        return tuple(dict.fromkeys(gate for one in ignored for gate in gates_missing(one, self.features)))

    def _targets(self, one: PublishedSlice, node: Node) -> bool:
        all_nodes, selector = bool(one.spec.get("allNodes")), one.spec.get("nodeSelector")
        if self._is_for_all(one):
            return True
        try:
            if one.node_name or all_nodes or selector is not None:
                return is_reachable(node, one.node_name, all_nodes, selector)
            if one.is_selected_per_device:
                return any(_is_traits_reachable(traits, node) for traits in one.traits.values)
        except AllocationError as error:
            where = f"gather pool information: failed to perform node selection for slice {one.name}"
            raise AllocationError(f"{where}: {error.message}") from None
        return False

    def _build(self, visible: _Visible) -> PoolView | None:
        generation = max(one.generation for one in visible)
        current = [one for one in visible if one.generation == generation]
        others: list[PublishedSlice] = []
        if len(current) != current[0].slice_count:
            # Upstream looks at the slices for other nodes only at this point.
            if any(one.generation > generation for one in self.published.values()):
                return None
            everywhere = [one for one in self.published.values() if one.generation == generation]
            ignored: list[PublishedSlice] = []
            if not self.features.compatibility_groups:
                ignored = [one for one in everywhere if one.uses_compatibility_groups]
                everywhere = [one for one in everywhere if not one.uses_compatibility_groups]
            if len(everywhere) != current[0].slice_count:
                seen = f"{len(everywhere)} of {current[0].slice_count} slices of generation {generation}"
                if ignored:
                    seen += f", {len(ignored)} ignored: feature gate {COMPATIBILITY_GROUPS} is off"
                return PoolView(self.id, self.features).defective("incomplete", seen)
            others = [one for one in everywhere if one not in current]
        return self._assemble(sorted(current, key=lambda one: one.name), others)

    def _assemble(self, current: list[PublishedSlice], others: list[PublishedSlice]) -> PoolView:
        slices = self._as_seen(self._with_devices(current))
        elsewhere = self._as_seen(self._with_devices(others))
        if duplicate := _first_duplicate([name for one in slices for name in one.names.values]):
            return PoolView(self.id, self.features).defective("invalid", f"duplicate device name {duplicate}")
        try:
            counters = None
            if self.features.partitionable_devices:
                counters = PoolCounters.joined(one.counters for one in (*current, *others))
            return PoolView(self.id, self.features, slices, elsewhere, counters)
        except (DuplicateCounterSet, KeyError) as error:
            return PoolView(self.id, self.features).defective("invalid", error.args[0])

    def _with_devices(self, slices: list[PublishedSlice]) -> list[PublishedSlice]:
        """Return the slices that are there for their devices; one with counter sets has none, whatever it says."""
        if not self.features.partitionable_devices:
            return slices
        return [one for one in slices if not one.counters.sets]


def _is_traits_reachable(traits: Traits, node: Node) -> bool:
    spec = traits.spec
    return is_reachable(node, spec.get("nodeName") or "", bool(spec.get("allNodes")), spec.get("nodeSelector"))


def _first_duplicate(names: list[str]) -> str | None:
    if len(set(names)) == len(names):
        return None
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


# Told the names of nodes; "" stands for any node.
Changes = Callable[[Collection[str]], None]


def nobody(nodes: Collection[str]) -> None:
    """Tell nobody of a change."""


class SliceIndex:
    """All ResourceSlices, by pool, kept up to date by ``put`` and ``remove``."""

    def __init__(self, features: Features, overlay: Overlay, changed: Changes = nobody) -> None:
        """Begin without slices. ``changed`` is told the nodes whose devices may look otherwise, after each change."""
        self._features = features
        self._overlay = overlay
        self._tell = changed
        self._unseen: dict[PoolID, None] = {}  # pools that nobody has looked at since they changed
        self._pools: dict[PoolID, _Pool] = {}
        self._known: dict[str, tuple[PublishedSlice, str | None]] = {}  # by slice name, with its resourceVersion
        self._on_node: dict[str, dict[PoolID, int]] = {}  # node -> pools, with the number of their slices for it
        self._shared: dict[PoolID, int] = {}  # pools with slices that are not for a single node
        self._seen: dict[str, tuple[Mapping[str, str], list[PoolView]]] = {}  # by node name, with the node's labels

    def put(self, resource_slice: Mapping[str, Any]) -> PublishedSlice | None:
        """Add or replace a slice; None if this resourceVersion is known already."""
        metadata = resource_slice["metadata"]
        name, version = metadata.get("name", ""), metadata.get("resourceVersion")
        _, known_version = self._known.get(name, (None, None))
        if version is not None and known_version == version:
            return None
        new = PublishedSlice(resource_slice, hides_sharing=self._features.variant == "stable")
        self.put_published(new, version)
        return new

    def put_published(self, new: PublishedSlice, version: str | None = None) -> None:
        """Add or replace a slice that has been read."""
        name = new.name
        old, _ = self._known.get(name, (None, None))
        if old is not None and old.pool != new.pool:
            self.remove(name)
            old = None
        pool = self._pools.get(new.pool)
        if pool is None:
            pool = self._pools[new.pool] = _Pool(new.pool, self._features, self._overlay)
        seeing = set() if old is None else {self._count(pool, old, -1)}
        pool.put(new)
        self._known[name] = (new, version)
        seeing.add(self._count(pool, new, 1))
        self._tell(seeing.union(self._look_again(pool)))

    def remove(self, name: str) -> None:
        """Forget a slice; one that is not known is ignored."""
        old, _ = self._known.pop(name, (None, None))
        if old is None:
            return
        pool = self._pools[old.pool]
        pool.remove(name)
        seeing = {self._count(pool, old, -1)}
        nodes = seeing.union(self._look_again(pool))
        if not pool.published:
            del self._pools[old.pool]
            self._unseen.pop(old.pool, None)
        self._tell(nodes)

    def _count(self, pool: _Pool, one: PublishedSlice, change: int) -> str:
        """Keep account of which nodes see the pool because of this slice; those that do are to look again.

        Returns the one that does, "" for any node.
        """
        if not one.node_name or (self._features.variant == "stable" and one.counters.sets):
            self._seen.clear()
            _add(self._shared, pool.id, change)
            return ""
        self._seen.pop(one.node_name, None)
        _add(pool.nodes, one.node_name, change)
        on_node = self._on_node.setdefault(one.node_name, {})
        _add(on_node, pool.id, change)
        if not on_node:
            del self._on_node[one.node_name]
        return one.node_name

    def _look_again(self, pool: _Pool) -> Iterable[str]:
        """Make all nodes that see the pool look again; return them."""
        self._unseen[pool.id] = None
        for node_name in pool.nodes:
            self._seen.pop(node_name, None)
        if pool.id not in self._shared:
            return pool.nodes
        self._seen.clear()
        return (*pool.nodes, "")

    def look_ahead(self) -> bool:
        """Look at a pool that has changed as administrators make it look; False when there is none left.

        Raises ``TurnOver``: then another pool is the next one. One that fails otherwise is left alone until it changes.
        """
        if not self._unseen:
            return False
        pool_id = next(iter(self._unseen))
        del self._unseen[pool_id]
        try:
            self._pools[pool_id].look()
        except TurnOver:
            self._unseen[pool_id] = None
            raise
        return True

    def hidden(self, node: Node) -> list[tuple[PoolID, tuple[str, ...]]]:
        """List the pools whose slices for the node are all ignored, with the feature gates that are off."""
        visible = sorted({**self._on_node.get(node.name, {}), **self._shared})
        found = [(pool_id, self._pools[pool_id].hidden_by(node)) for pool_id in visible]
        return [(pool_id, gates) for pool_id, gates in found if gates]

    def slices(self) -> Iterable[PublishedSlice]:
        """Return the slices of all pools, of any generation, as published."""
        return (one for one, _ in self._known.values())

    def reconsider(self, wanted: DeviceFilter) -> None:
        """Look again at pools that may have devices which a filter selects."""
        nodes: set[str] = set()
        for pool in self._pools.values():
            if wanted.may_concern(*pool.id):
                pool.reconsider()
                nodes.update(self._look_again(pool))
        if nodes:
            self._tell(nodes)

    def devices(self, pool_id: PoolID, name: str) -> Iterator[tuple[PublishedSlice, int]]:
        """Yield the slices, as seen, that have a device of this name in the pool, with its position; newest first."""
        pool = self._pools.get(pool_id)
        if pool is None:
            return
        pool.look()
        for one in sorted(pool.slices.values(), key=lambda one: one.generation, reverse=True):
            position = one.names.positions.get(name)
            if position is not None:
                yield one, position

    def published(self, name: str) -> PublishedSlice:
        """Return a slice as its driver has published it. Raises ``KeyError`` for one that is not known."""
        return self._known[name][0]

    def seen(self, name: str) -> PublishedSlice:
        """Return a slice as administrators make it look. Raises ``KeyError`` for one that is not known."""
        pool = self._pools[self._known[name][0].pool]
        pool.look()
        return pool.slices[name]

    def pools(self, node: Node) -> list[PoolView]:
        """Return the node's pools in the order in which they are tried: by driver and name, binding conditions last.

        The same list, which is not to be changed, as long as nothing that the node sees changes. Raises
        ``AllocationError`` for a broken node selector.
        """
        seen = self._seen.get(node.name)
        if seen is not None and (seen[0] is node.labels or seen[0] == node.labels):
            return seen[1]
        visible = {**self._on_node.get(node.name, {}), **self._shared}
        views = [view for pool_id in visible if (view := self._pools[pool_id].view(node)) is not None]
        views.sort(key=lambda view: (view.has_binding_conditions, view.id))
        remember(self._seen, node.name, (node.labels, views), _REMEMBERED_NODES)
        return views


def _add(counts: dict[_Key, int], key: _Key, change: int) -> None:
    """Add to a count; drop the key when the count is 0."""
    counts[key] = counts.get(key, 0) + change
    if not counts[key]:
        del counts[key]
