"""Device taints, from slices and from DeviceTaintRules, and whether a request tolerates them (KEP-5055).

Semantics: ``taintPreventsAllocation`` of the structured allocator and ``resourceslice/tracker`` of
dynamic-resource-allocation 0.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drakit_allocator.devices.devices import Device, PublishedSlice
from drakit_api.core.tolerations import Taint, Toleration, is_tolerated

_PREVENTING = ("NoExecute", "NoSchedule")  # None, and effects that are not known, prevent nothing


def first_untolerated(device: Device, tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that keeps a request with these tolerations from getting the device; None if none does."""
    return untolerated((*device.content.taints, *device.rule_taints), tolerations)


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first of the taints that keeps a request with these tolerations away; None if none does."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.get("effect") in _PREVENTING and not is_tolerated(taint, tolerations):
            return taint
    return None


def ruled_positions(rule: Mapping[str, Any], published: PublishedSlice) -> Iterable[int]:
    """Return the positions of the devices that a DeviceTaintRule taints. A rule without selector taints none."""
    selector = rule["spec"].get("deviceSelector")
    if selector is None:
        return ()
    wanted = (selector.get("driver"), selector.get("pool"))
    if not all(want is None or want == have for want, have in zip(wanted, published.pool, strict=True)):
        return ()
    name = selector.get("device")
    if name is None:
        return range(len(published))
    return (position for position, have in enumerate(published.names.values) if have == name)
