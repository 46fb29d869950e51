"""What the allocator knows of the cluster: slices, classes, taint rules and patches, kept up to date by events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.defects import Defect
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.overlays.overlay import Overlay
from drakit_allocator.pools.pools import Changes, SliceIndex, nobody
from drakit_allocator.pools.views import PoolView
from drakit_allocator.results.answers import Answers
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects.device_selectors import expressions_of
from drakit_api.slice_patches.patch import DeviceFilter, PatchFault


class Snapshot:
    """Objects by name. Given objects are kept and never changed.

    A slice that changes is taken in at once, in time proportional to its own size. What rules and patches select is
    found out when somebody looks at a pool that they may concern; nothing is rebuilt per pod.
    """

    def __init__(
        self,
        features: Features,
        *,
        slices: Iterable[ReadOnlyObject] = (),
        classes: Iterable[ReadOnlyObject] = (),
        taint_rules: Iterable[ReadOnlyObject] = (),
        patches: Iterable[ReadOnlyObject] = (),
        changed: Changes = nobody,
        failed: Callable[[PatchFault], None] | None = None,
    ) -> None:
        """Take the objects in. ``changed`` is told of changes as by ``SliceIndex``, ``failed`` of faults of patches."""
        self.features = features
        self.classes: dict[str, ReadOnlyObject] = {}
        self.overlay = Overlay(features, self.classes, self._reconsider, failed)
        self.slices = SliceIndex(features, self.overlay, changed)
        self.pools: Callable[[Node], Sequence[PoolView]] = self.slices.pools  # as a node sees them
        self.answers = Answers()
        self._under: dict[frozenset[Defect], Snapshot] = {}
        for device_class in classes:
            self.put_class(device_class)
        for rule in taint_rules:
            self.put_taint_rule(rule)
        for patch in patches:
            self.put_patch(patch)
        for resource_slice in slices:
            self.put_slice(resource_slice)

    def under(self, defects: frozenset[Defect]) -> Snapshot:
        """Return a read-only view of this snapshot for an allocator with these defects; it follows all changes."""
        if defects == self.features.defects:
            return self
        found = self._under.get(defects)
        if found is None:
            found = self._under[defects] = _Restated(self, self.features.having(defects))
        return found

    def patched(self, patches: Iterable[ReadOnlyObject]) -> Snapshot:
        """Return a snapshot of the same objects as they are now, with these ResourceSlicePatches besides."""
        other = Snapshot(self.features, classes=self.classes.values())
        other.overlay.adopt(self.overlay)
        for published in self.slices.slices():
            other.slices.put_published(published)
        for patch in patches:
            other.put_patch(patch)
        return other

    def put_slice(self, resource_slice: ReadOnlyObject) -> None:
        """Add or replace a ResourceSlice."""
        self.slices.put(resource_slice)

    def remove_slice(self, name: str) -> None:
        """Forget a ResourceSlice."""
        self.slices.remove(name)

    def put_class(self, device_class: ReadOnlyObject) -> None:
        """Add or replace a DeviceClass."""
        name = device_class["metadata"]["name"]
        self.classes[name] = device_class
        self.overlay.class_changed(name)

    def remove_class(self, name: str) -> None:
        """Forget a DeviceClass."""
        if self.classes.pop(name, None) is not None:
            self.overlay.class_changed(name)

    def put_taint_rule(self, rule: ReadOnlyObject) -> None:
        """Add or replace a DeviceTaintRule."""
        self.overlay.put_rule(rule)

    def remove_taint_rule(self, name: str) -> None:
        """Forget a DeviceTaintRule."""
        self.overlay.remove_rule(name)

    def put_patch(self, patch: ReadOnlyObject) -> None:
        """Add or replace a ResourceSlicePatch."""
        self.overlay.put_patch(patch)

    def remove_patch(self, name: str) -> None:
        """Forget a ResourceSlicePatch."""
        self.overlay.remove_patch(name)

    def _reconsider(self, wanted: DeviceFilter) -> None:
        self.slices.reconsider(wanted)

    def warm_up(self, nodes: Iterable[Node], allocated: AllocatedState) -> None:
        """Look ahead at nodes of which something has changed; whoever comes first would do it otherwise.

        It gathers what the nodes see of the pools, counts what is allocated in them, and lets the selectors of classes
        decide on their devices. Raises ``AllocationError`` for a broken node selector.
        """
        expressions = [_expressions(device_class) for device_class in self.classes.values()]
        for node in nodes:
            for pool in self.slices.pools(node):
                pool.occupation(allocated)
                for one in expressions:
                    pool.selection(one).is_clean()


def _expressions(device_class: ReadOnlyObject) -> tuple[str, ...]:
    return tuple([one for one in expressions_of(device_class["spec"].get("selectors")) if one is not None])


class _Restated(Snapshot):
    """Another snapshot under other rules: nothing is read again, and answers are its own."""

    def __init__(self, original: Snapshot, features: Features) -> None:
        super().__init__(features)
        self._original = original
        self.classes, self.overlay, self.slices = original.classes, original.overlay, original.slices
        self.pools = lambda node: [pool.under(features) for pool in original.pools(node)]

    def patched(self, patches: Iterable[ReadOnlyObject]) -> Snapshot:
        """Return a view of the patched original, by the same rules as this one."""
        return self._original.patched(patches).under(self.features.defects)
