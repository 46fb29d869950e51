"""Patches in the library: of one call, of a snapshot, and what they leave alone."""

from __future__ import annotations

from typing import Any

from drakit import AllocatedState, Features, Snapshot, allocate

Object = dict[str, Any]
_FEATURES = Features.all()
_NODE = {"metadata": {"name": "node-1"}}
_CLASS = {"metadata": {"name": "gpu"}, "spec": {}}


def _slice() -> Object:
    return {
        "metadata": {"name": "slice"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
        },
    }


def _claim(expression: str) -> Object:
    exactly = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {"metadata": {"name": "claim"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}


def _patch(name: str, device: str, value: Object, priority: int = 0) -> Object:
    said = {"filter": {"device": device}, "priority": priority, "attributes": {"gpu.example.com/tier": value}}
    return {"metadata": {"name": name}, "spec": {"devices": said}}


_GOLDEN = "device.attributes['gpu.example.com'].?tier.orValue('') == 'gold'"
_GOLD: Object = {"string": "gold"}
_NONE: Object = {"null": {}}


def _devices(snapshot: Snapshot, *patches: Object) -> list[str] | None:
    found = allocate(_NODE, [_claim(_GOLDEN)], snapshot, AllocatedState(_FEATURES), patches=patches)
    return None if found is None else [one["device"] for one in found[0]["devices"]["results"]]


def test_patches_of_a_call_hold_for_that_call() -> None:
    snapshot = Snapshot(_FEATURES, slices=[_slice()], classes=[_CLASS])
    assert _devices(snapshot) is None
    assert _devices(snapshot, _patch("a", "gpu-1", _GOLD)) == ["gpu-1"]
    assert _devices(snapshot) is None


def test_they_stand_beside_those_of_the_snapshot() -> None:
    snapshot = Snapshot(_FEATURES, slices=[_slice()], classes=[_CLASS], patches=[_patch("a", "gpu-1", _GOLD)])
    assert _devices(snapshot) == ["gpu-1"]
    assert _devices(snapshot, _patch("b", "gpu-0", _GOLD)) == ["gpu-0"]
    assert _devices(snapshot, _patch("b", "gpu-1", _NONE, priority=1)) is None


def test_a_patched_snapshot_does_not_follow_the_original() -> None:
    snapshot = Snapshot(_FEATURES, slices=[_slice()], classes=[_CLASS])
    patched = snapshot.patched([_patch("a", "gpu-1", _GOLD)])
    snapshot.remove_slice("slice")
    assert _devices(patched) == ["gpu-1"]
