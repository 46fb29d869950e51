"""To which devices a ResourceSlicePatch applies, and what its filter names that nobody has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.explanation.phrases import joined, some_of
from drakit_allocator.overlays.statements import Statement
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.slice_patches.patch import DeviceFilter, SlicePatch

_NAMES = 10


class Reach:
    """Finds devices to which a patch applies, also if it says nothing of them, of which the overlay keeps no record."""

    def __init__(self, patch: SlicePatch, classes: Mapping[str, ReadOnlyObject]) -> None:
        self.patch = patch
        self._statement = Statement.of_patch(patch, classes)

    @property
    def is_idle(self) -> bool:
        """Whether the patch says nothing of any device."""
        return self._statement.is_idle

    def devices(self, published: PublishedSlice) -> int:
        """Return the devices of a slice to which the patch applies, as bits."""
        if not self.patch.filter.may_concern(*published.pool):
            return 0
        return self._statement.selected(published)


class KnownNames:
    """The pools that there are, by driver, and their devices; finds names in filters that nothing has."""

    def __init__(self, slices: Iterable[PublishedSlice]) -> None:
        self._slices = list(slices)
        self._by_driver: dict[str, set[str]] = {}
        for one in self._slices:
            driver, pool = one.pool
            self._by_driver.setdefault(driver, set()).add(pool)

    def lacks(self, wanted: DeviceFilter) -> str:
        """Say which driver or pool a filter names that is not there; empty if it is, or if there is none at all."""
        if not self._by_driver:
            return ""
        driver, pool = wanted.driver, wanted.pool
        if driver is not None and driver not in self._by_driver:
            return f"no slice is of driver {driver}; there are {_some(self._by_driver)}"
        pools = self._by_driver[driver] if driver is not None else set[str]().union(*self._by_driver.values())
        if pool is not None and pool not in pools:
            whose = "there is no pool" if driver is None else f"driver {driver} has no pool"
            return f"{whose} {pool}; there are {_some(pools)}"
        return ""

    def lacks_device(self, wanted: DeviceFilter) -> str:
        """Say that no pool that a filter may concern has the device that it names; empty if it names none."""
        if wanted.device is None:
            return ""
        concerned = (one for one in self._slices if wanted.may_concern(*one.pool))
        known = {name for one in concerned for name in one.names.values}
        if wanted.device in known:
            return ""
        like = difflib.get_close_matches(wanted.device, sorted(known), n=3)
        return f"no device there is called {wanted.device}{f'; similar: {joined(sorted(like))}' if like else ''}"


def _some(names: Iterable[str]) -> str:
    return some_of(sorted(names), _NAMES)
