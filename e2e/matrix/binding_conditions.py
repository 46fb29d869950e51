"""DRADeviceBindingConditions (KEP-5007): devices that are attached only after they were allocated.

The scheduler allocates such a device and binds the pod when a controller, here the story, says that it is ready.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import EVENTS, PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_DRIVER = "fabric.example.com"
_READY, _FAILED = "example.com/attached", "example.com/attach-failed"
_DEVICES = f"""
driver: {_DRIVER}
devices:
- name: fabric-0
  bindsToNode: true
  bindingConditions: [{_READY}]
  bindingFailureConditions: [{_FAILED}]
- name: fabric-1
  bindsToNode: true
  bindingConditions: [{_READY}]
  bindingFailureConditions: [{_FAILED}]
"""
_PENDING = "BindingConditionsPending"  # the event of a pod each time that the scheduler waits for its devices
_NOTHING_FITS = "cannot allocate all claims"
_FIELDS = ("bindingConditions (2)", "bindingFailureConditions (2)", "bindsToNode (2)")


def _one(name: str) -> Object:
    return claim(name, request("device", _DRIVER))


def _attach(stage: Stage, name: str, *, condition: str = _READY) -> None:
    """Wait until a claim is allocated and its pod waits, then set a condition of its device."""
    stage.api.wait_event(name, _PENDING)
    stored = stage.api.get(RESOURCE_CLAIMS, name)
    (result,) = stage.results(name)
    assert result["bindingConditions"] == [_READY]
    assert not stage.api.get(PODS, name)["spec"].get("nodeName")
    told = {
        "type": condition,
        "status": "True",
        "reason": "Attached",
        "message": "by the story",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    device = {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": [told]}
    stage.api.replace({**stored, "status": {**stored["status"], "devices": [device]}}, subresource="status")


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    driver = stage.layout(_DEVICES)
    stage.creates(_one("first"))
    _attach(stage, "first")
    assert stage.started("first") == ["fabric-0"]
    yield

    # A scheduler that cannot wait for a device does not give it out.
    stage.waits(_one("second"), _NOTHING_FITS)
    yield

    line = stage.told(driver, f"pool {stage.node}: the API server dropped spec.devices[].bindingConditions (2)")
    assert [field for field in _FIELDS if f"spec.devices[].{field}" not in line] == []
    assert line.endswith("disabled features there: DRADeviceBindingConditions")
    # Without its conditions it is a device like any other.
    assert stage.started("second") == ["fabric-1"]
    (result,) = stage.results("second")
    assert "bindingConditions" not in result
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps all fields now")
    stage.ends("second")
    stage.creates(_one("third"))
    _attach(stage, "third")
    assert stage.started("third") == ["fabric-1"]


def _times_pending(events: list[Object]) -> int:
    return sum(event.get("count") or 1 for event in events if event.get("reason") == _PENDING)


def restart(stage: Stage) -> Iterator[None]:
    """A pod waits for its device; it still does after a restart of the scheduler, which gives back what fails."""
    stage.layout(_DEVICES)
    stage.creates(_one("patient"))
    stage.api.wait_event("patient", _PENDING)
    (chosen,) = stage.results("patient")
    before = _times_pending(stage.api.objects(EVENTS))
    yield

    stage.api.wait_all(EVENTS, lambda seen: _times_pending(seen) > before, what="told anew by the new scheduler")
    assert stage.results("patient") == [chosen]
    _attach(stage, "patient", condition=_FAILED)
    stage.api.wait(
        RESOURCE_CLAIMS,
        "patient",
        lambda seen: not (seen.get("status") or {}).get("devices"),
        what="given back with its conditions",
    )
    stage.api.wait(RESOURCE_CLAIMS, "patient", lambda seen: bool((seen.get("status") or {}).get("allocation")))
    _attach(stage, "patient")
    stage.started("patient")
