"""What makes a device look as it does: its driver, or a ResourceSlicePatch or DeviceTaintRule of an administrator.

The allocator sees merged devices and does not ask; whoever explains what it sees has to say whose word a value is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from drakit_allocator.devices.devices import Device, PublishedSlice
from drakit_allocator.explanation.reasons import PatchedReading
from drakit_allocator.snapshot import Snapshot
from drakit_api.cel.readings import Reading
from drakit_api.slice_patches.patch import SlicePatch

Source = Literal["slice", "rule", "patch"]
_Field = Literal["attributes", "capacity"]


class Provenance:
    """Looks up who has said something of a device; names are fully qualified, and a name that is empty is nobody's."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def attribute(self, device: Device, name: str) -> str:
        """Name the patch that sets or removes an attribute; none if removing it makes no difference."""
        return self._decider(device, "attributes", name)

    def capacity(self, device: Device, name: str) -> str:
        """Name the patch that sets a capacity, which may be named as it is published."""
        return self._decider(device, "capacity", _qualified(name, device.content.driver))

    def capacities(self, device: Device, names: Iterable[str]) -> tuple[str, ...]:
        """Name the patches that set any of several capacities."""
        return tuple(dict.fromkeys(filter(None, (self.capacity(device, name) for name in names))))

    def taint(self, device: Device, taint: Mapping[str, Any]) -> tuple[Source, str]:
        """Say where one of a device's taints comes from, and which rule or patch it is."""
        # The same taint may come from several; these are the objects themselves.
        if any(taint is one for one in device.content.taints):
            return "slice", ""
        for patch in patches_of(device):
            if any(taint is one for one in patch.taints):
                return "patch", patch.name
        return "rule", self._snapshot.overlay.rule_with(taint)

    def read(self, device: Device, readings: Sequence[Reading]) -> tuple[Reading, ...]:
        """Add the patches to what an expression has read of a device."""
        if not patches_of(device):
            return tuple(readings)
        return tuple(self._reading(device, one) for one in readings)

    def _reading(self, device: Device, reading: Reading) -> Reading:
        match reading:
            case Reading("attributes" | "capacity" as field, domain, name) if name:
                patches = [self._decider(device, field, f"{domain}/{name}")]
            case Reading("attributes" | "capacity" as field, domain):
                patches = [self._decider(device, field, name) for name in self._differing(device, field, domain)]
            case _:
                patches = []
        found = tuple(dict.fromkeys(filter(None, patches)))
        if not found:
            return reading
        return PatchedReading(reading.field, reading.domain, reading.name, reading.value, found)

    def _differing(self, device: Device, field: _Field, domain: str) -> list[str]:
        """List the names that only one of the published and the patched device has; with a domain, those in there.

        Without one, those in domains of which that is true.
        """
        seen, published = _names(device, field), _names(self._published(device), field)
        if domain:
            return sorted(name for name in seen ^ published if _domain(name) == domain)
        domains = set(map(_domain, seen)) ^ set(map(_domain, published))
        return sorted(name for name in seen ^ published if _domain(name) in domains)

    def _decider(self, device: Device, field: _Field, name: str) -> str:
        deciding = [one for one in patches_of(device) if name in _said(one, field)]
        if not deciding:
            return ""
        is_there = any(_said(one, field)[name] is not None for one in deciding)
        return deciding[0].name if is_there or name in _names(self._published(device), field) else ""

    def _published(self, device: Device) -> Device:
        """Return the device as its driver has published it."""
        return self._snapshot.slices.published(device.slice.name).device(device.position)


def patches_of(device: Device) -> list[SlicePatch]:
    """List the patches that apply to a device, in the order in which they win."""
    change = device.slice.change
    return [] if change is None else change.patches_of(device.position)


def patches_applied(slices: Iterable[PublishedSlice]) -> list[SlicePatch]:
    """List the patches that apply to devices of the slices."""
    changes = dict.fromkeys(one.change for one in slices)
    return list(dict.fromkeys(patch for one in changes if one is not None for patch, _ in one.patches))


def _said(patch: SlicePatch, field: _Field) -> Mapping[str, Any]:
    return patch.attributes if field == "attributes" else patch.capacity


def _names(device: Device, field: _Field) -> set[str]:
    content = device.content
    published: Iterable[str] = content.attributes if field == "attributes" else content.traits.capacity.spec
    return {_qualified(name, content.driver) for name in published}


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _domain(name: str) -> str:
    return name.partition("/")[0]
