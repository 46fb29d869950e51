"""Whether a request tolerates the taints of a device, those that administrators add included (KEP-5055).

Semantics: ``taintPreventsAllocation`` of the structured allocator of dynamic-resource-allocation 0.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drakit_allocator.devices.devices import Device
from drakit_api.core.tolerations import Taint, Toleration, is_tolerated

_PREVENTING = ("NoExecute", "NoSchedule")  # None, and effects that are not known, prevent nothing


def first_untolerated(device: Device, tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that keeps a request with these tolerations from getting the device; None if none does."""
    return next(every_untolerated(device, tolerations), None)


def every_untolerated(device: Device, tolerations: Iterable[Toleration]) -> Iterator[Taint]:
    """Yield all taints that keep a request with these tolerations from getting the device."""
    return _untolerated((*device.content.taints, *device.added_taints), tolerations)


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first of the taints that keeps a request with these tolerations away; None if none does."""
    return next(_untolerated(taints, tolerations), None)


def identity(taint: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return key, value and effect of a taint, empty where they are not set."""
    return taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""


def _untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Iterator[Taint]:
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.get("effect") in _PREVENTING and not is_tolerated(taint, tolerations):
            yield taint
