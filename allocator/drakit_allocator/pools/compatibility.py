"""Compatibility groups: which partitions of a physical device may exist side by side (DRADeviceCompatibilityGroups).

All devices on one counter set must have a group in common, or all have none. A device without groups is taken to be in
one of its own kind, ``UNGROUPED``, which makes both rules one.
Semantics: ``structured/internal/experimental/compatibility_groups.go``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.devices.columns import bits
from drakit_allocator.devices.counters import Consumption
from drakit_allocator.pools.views import PoolView

Groups = frozenset[str]

UNGROUPED: Groups = frozenset(("",))


class PoolGroups:
    """What the devices on each counter set of a pool have in common: allocated ones and those of the running search."""

    __slots__ = ("_common",)

    def __init__(self, pool: PoolView, allocated: AllocatedState) -> None:
        self._common: dict[str, Groups] = {}
        occupation = pool.occupation(allocated)
        for position in bits(occupation.in_use | occupation.shared):
            for entry in pool.shape.traits.values[position].consumption:
                self._join(entry)
        for device in pool.others:
            if device.id[2] in occupation.charged_others:
                for entry in device.content.consumption:
                    self._join(entry)

    def _join(self, entry: Consumption) -> None:
        """Count an allocated device; it changes nothing if it has groups and those before have none, or the reverse."""
        groups = entry.compatibility_groups or UNGROUPED
        common = self._common.get(entry.counter_set)
        if common is None:
            self._common[entry.counter_set] = groups
        elif UNGROUPED not in (common, groups):
            self._common[entry.counter_set] = common & groups

    def admit(self, consumption: Iterable[Consumption]) -> dict[str, Groups | None] | None:
        """Return what the counter sets have in common with one more device; None when it is not compatible."""
        after: dict[str, Groups | None] = {}
        for entry in consumption:
            groups = entry.compatibility_groups or UNGROUPED
            common = after.get(entry.counter_set, self._common.get(entry.counter_set))
            if common is not None and not (groups := common & groups):
                return None
            after[entry.counter_set] = groups
        return after

    def summary(self) -> Hashable:
        """Return a key that is equal for equal states."""
        return frozenset(self._common.items())

    def swap(self, common: Mapping[str, Groups | None]) -> dict[str, Groups | None]:
        """Put the given values in place (None: no device on the set) and give back those that were there."""
        before = {name: self._common.get(name) for name in common}
        for name, groups in common.items():
            if groups is None:
                self._common.pop(name, None)
            else:
                self._common[name] = groups
        return before
