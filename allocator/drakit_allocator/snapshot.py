"""What the allocator knows of the cluster: slices, device classes and taint rules, kept up to date by events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.defects import Defect
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.devices.selectors import expressions_of
from drakit_allocator.devices.taints import ruled_positions
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.pools import SliceIndex
from drakit_allocator.pools.views import PoolView
from drakit_allocator.results.answers import Answers
from drakit_api.kubernetes_objects import ReadOnlyObject


class Snapshot:
    """Objects by name. Given objects are kept and never changed.

    A slice or rule that changes is taken in at once, in time proportional to its own size; nothing is rebuilt per pod.
    """

    def __init__(
        self,
        features: Features,
        *,
        slices: Iterable[ReadOnlyObject] = (),
        classes: Iterable[ReadOnlyObject] = (),
        taint_rules: Iterable[ReadOnlyObject] = (),
    ) -> None:
        self.features = features
        self.slices = SliceIndex(features)
        self.pools: Callable[[Node], Sequence[PoolView]] = self.slices.pools  # as a node sees them
        self.answers = Answers()
        self.classes: dict[str, ReadOnlyObject] = {}
        self._taint_rules: dict[str, ReadOnlyObject] = {}
        self._under: dict[frozenset[Defect], Snapshot] = {}
        for rule in taint_rules:
            self._taint_rules[rule["metadata"]["name"]] = rule
        for device_class in classes:
            self.put_class(device_class)
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

    def put_slice(self, resource_slice: ReadOnlyObject) -> None:
        """Add or replace a ResourceSlice."""
        published = self.slices.put(resource_slice)
        if published is not None:
            self._taint(published)

    def remove_slice(self, name: str) -> None:
        """Forget a ResourceSlice."""
        self.slices.remove(name)

    def put_class(self, device_class: ReadOnlyObject) -> None:
        """Add or replace a DeviceClass."""
        self.classes[device_class["metadata"]["name"]] = device_class

    def remove_class(self, name: str) -> None:
        """Forget a DeviceClass."""
        self.classes.pop(name, None)

    def put_taint_rule(self, rule: ReadOnlyObject) -> None:
        """Add or replace a DeviceTaintRule."""
        name = rule["metadata"]["name"]
        touched = [self._taint_rules[name]] if name in self._taint_rules else []
        self._taint_rules[name] = rule
        self._taint_again([*touched, rule])

    def remove_taint_rule(self, name: str) -> None:
        """Forget a DeviceTaintRule."""
        rule = self._taint_rules.pop(name, None)
        if rule is not None:
            self._taint_again([rule])

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

    def _taint_again(self, rules: list[ReadOnlyObject]) -> None:
        for published in self.slices.slices():
            if any(any(True for _ in ruled_positions(rule, published)) for rule in rules):
                self._taint(published)
                self.slices.retainted(published)

    def _taint(self, published: PublishedSlice) -> None:
        taints: dict[int, tuple[ReadOnlyObject, ...]] = {}
        for rule in self._taint_rules.values() if self.features.device_taints else ():
            for position in ruled_positions(rule, published):
                taints[position] = (*taints.get(position, ()), rule["spec"]["taint"])
        published.rule_taints = taints


def _expressions(device_class: ReadOnlyObject) -> tuple[str, ...]:
    return tuple([one for one in expressions_of(device_class["spec"].get("selectors")) if one is not None])


class _Restated(Snapshot):
    """Another snapshot under other rules: nothing is read again, and answers are its own."""

    def __init__(self, original: Snapshot, features: Features) -> None:
        super().__init__(features)
        self.classes = original.classes
        self.pools = lambda node: [pool.under(features) for pool in original.pools(node)]
