"""Device taints, from slices and from DeviceTaintRules, and whether a request tolerates them (KEP-5055).

Semantics: ``taintPreventsAllocation`` of the structured allocator, ``resourceclaim/devicetoleration.go`` and
``resourceslice/tracker`` of dynamic-resource-allocation 0.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drakit_allocator.devices import Device

Taint = Mapping[str, Any]
Toleration = Mapping[str, Any]

_PREVENTING = ("NoExecute", "NoSchedule")  # None, and effects that are not known, prevent nothing


def first_untolerated(device: Device, tolerations: Iterable[Toleration]) -> Taint | None:
    """The taint that keeps a request with these tolerations from getting the device."""
    tolerations = tuple(tolerations)
    for taint in (*device.content.taints, *device.rule_taints):
        if taint.get("effect") in _PREVENTING and not any(_tolerates(one, taint) for one in tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def rule_applies(rule: Mapping[str, Any], device: Device) -> bool:
    """Whether a DeviceTaintRule taints the device. A rule without selector taints none."""
    selector = rule["spec"].get("deviceSelector")
    if selector is None:
        return False
    wanted = (selector.get("driver"), selector.get("pool"), selector.get("device"))
    return all(want is None or want == have for want, have in zip(wanted, device.id, strict=True))
