"""What an API server fills in: allocation mode, count, operator of tolerations, time of taints.

Source: ``k8s.io/kubernetes`` 1.37.1 ``pkg/apis/resource/*/defaults.go`` and ``zz_generated.defaults.go`` beside them.
The allocator takes claims as the server stores them and adds no defaults of its own.
"""

from __future__ import annotations

import copy
from typing import Any

from drakit_api.golang import gotime
from drakit_api.objects.allocations import results


def defaulted(obj: dict[str, Any]) -> dict[str, Any]:
    """Copy a v1 object, which has its ``kind``, with the defaults that an API server would set now."""
    found = copy.deepcopy(obj)
    set_defaults(found["kind"], found, gotime.now())
    return found


def set_defaults(kind: str, obj: dict[str, Any], now: str, version: str = "v1") -> None:
    """Fill in a decoded v1 object, in place. ``now`` is the server's time, such as "2026-01-01T00:00:00Z".

    ``version`` is the one that the object was converted from. A server fills in before it converts; the only rule that
    differs holds as well afterwards: in v1beta1, an exact request without a device class gets no mode and no count.
    """
    spec = obj.get("spec") or {}
    match kind:
        case "ResourceSlice":
            for device in spec.get("devices") or ():
                for taint in device.get("taints") or ():
                    taint.setdefault("timeAdded", now)
        case "DeviceClass":
            obj.setdefault("spec", {})  # no pointer in Go
        case "DeviceTaintRule":
            # The taint is no pointer in Go: it exists, and gets its time, even if nothing was sent.
            taint = obj.setdefault("spec", {}).setdefault("taint", {})
            taint.setdefault("timeAdded", now)
        case "ResourceClaim":
            _requests(spec, version)
            for result in results(obj):
                _tolerations(result)
        case "ResourceClaimTemplate":
            _requests(spec.get("spec") or {}, version)


def _requests(spec: dict[str, Any], version: str) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        if exactly is not None:
            if version != "v1beta1" or exactly.get("deviceClassName"):
                _mode(exactly)
            _tolerations(exactly)
        for subrequest in request.get("firstAvailable") or ():
            _mode(subrequest)
            _tolerations(subrequest)


def _mode(devices: dict[str, Any]) -> None:
    if not devices.get("allocationMode"):
        devices["allocationMode"] = "ExactCount"
    if devices["allocationMode"] == "ExactCount" and not devices.get("count"):
        devices["count"] = 1


def _tolerations(owner: Any) -> None:
    for toleration in owner.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"
