"""ResourceSlices as patches make them look, for whoever prints devices; the scheduler merges in a form of its own.

What is patched is not stored anywhere: slices stay as their drivers have published them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from drakit_api.cel import CelError, DeviceView, compile_selector, device_view
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.objects.device_attributes import overridden
from drakit_api.slice_patches.patch import FilterFault, PatchFault, SlicePatch, in_order

_T = TypeVar("_T")


@dataclass(slots=True)
class PatchedSlices:
    """The slices, for each device by ``driver/pool/device`` the patches that apply, the first one first; and faults."""

    slices: list[Object] = field(default_factory=list)
    applied: dict[str, tuple[SlicePatch, ...]] = field(default_factory=dict)
    faults: list[PatchFault] = field(default_factory=list)


def patched(
    slices: Iterable[ReadOnlyObject], patches: Iterable[SlicePatch], classes: Iterable[ReadOnlyObject] = ()
) -> PatchedSlices:
    """Merge patches into v1 slices, which are copied where they change; mixins must have been applied."""
    known = {one["metadata"]["name"]: one for one in classes}
    merging = _Merging([_Criteria(patch, known) for patch in in_order(patches)])
    found = merging.found
    found.faults += [fault for one in merging.criteria if (fault := one.fault) is not None]
    found.slices = [merging.slice(one) for one in slices]
    return found


def merged(device: Mapping[str, Any], driver: str, patches: Sequence[SlicePatch]) -> Object:
    """Return a v1 device with patches that apply to it, given in their order (``in_order``)."""
    result: Object = dict(device)
    attributes, capacity = _first(patch.attributes for patch in patches), _first(patch.capacity for patch in patches)
    for member, values in (("attributes", attributes), ("capacity", capacity)):
        if values:
            result[member] = overridden(device.get(member) or {}, values, driver)
    if taints := [taint for patch in patches for taint in patch.taints]:
        result["taints"] = [*(device.get("taints") or ()), *taints]
    return result


def _first(said: Iterable[Mapping[str, _T]]) -> dict[str, _T]:
    decided: dict[str, _T] = {}
    for one in said:
        for name, value in one.items():
            decided.setdefault(name, value)
    return decided


class _Criteria:
    """The filter of a patch with the selectors of its class."""

    def __init__(self, patch: SlicePatch, classes: Mapping[str, ReadOnlyObject]) -> None:
        self.patch = patch
        self.fault: PatchFault | None = None
        self._expressions: tuple[str, ...] = ()
        try:
            self._expressions = patch.filter.criteria(classes)
        except FilterFault as error:
            self.fault = PatchFault(patch, "", "", str(error))

    def hold(self, driver: str, pool: str, device: str, view: DeviceView) -> bool | PatchFault:
        """Tell whether the patch applies to a device, or why that cannot be told."""
        wanted = self.patch.filter
        if self.fault is not None or not wanted.may_concern(driver, pool) or wanted.device not in (None, device):
            return False
        for expression in self._expressions:
            try:
                if not compile_selector(expression).matches(view):
                    return False
            except CelError as error:
                return PatchFault.of_selector(self.patch, f"{driver}/{pool}/{device}", expression, error)
        return True


class _Merging:
    def __init__(self, criteria: Sequence[_Criteria]) -> None:
        self.criteria = criteria
        self.found = PatchedSlices()

    def slice(self, published: ReadOnlyObject) -> Object:
        spec = published["spec"]
        driver, pool = spec["driver"], spec["pool"]["name"]
        devices = [self._device(one, driver, pool) for one in spec.get("devices") or ()]
        return {**published, "spec": {**spec, "devices": devices}} if devices else dict(published)

    def _device(self, device: Mapping[str, Any], driver: str, pool: str) -> Object:
        view, applied = device_view(driver, device), []
        for one in self.criteria:
            verdict = one.hold(driver, pool, device["name"], view)
            if verdict is True:
                applied.append(one.patch)
            elif verdict is not False:
                self.found.faults.append(verdict)
        self.found.applied[f"{driver}/{pool}/{device['name']}"] = tuple(applied)
        return merged(device, driver, applied)
