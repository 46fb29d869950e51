"""Patches in the library: of one call, of a snapshot, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from drakit import AllocatedState, AllocationError, Features, Snapshot, allocate
from drakit_allocator.defects import SAFE
from drakit_allocator.scheduler.queue import DEFAULT_BACKOFF
from drakit_allocator.scheduler.state import State
from drakit_api.features import MIXINS_GATE, FeatureGates

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


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        pytest.param({"metadata": {"name": "p"}}, "ResourceSlicePatch p: spec: Required value", id="no spec"),
        pytest.param({"spec": {}}, "name or generateName is required", id="no name"),
        pytest.param(_patch("p", "gpu-1", {"int": "5"}), r"tier.int: Invalid value: .*integer", id="a wrong type"),
        pytest.param(
            {"metadata": {"name": "p"}, "spec": {"devices": {"attributes": {"tier": _GOLD}}}},
            "must be a domain and a C identifier",
            id="a name without domain",
        ),
    ],
)
def test_a_patch_that_an_api_server_would_refuse_is_an_error(patch: Object, complaint: str) -> None:
    """Else it would be overlooked, or be an error of Python that names nothing."""
    snapshot = Snapshot(_FEATURES, slices=[_slice()], classes=[_CLASS])
    with pytest.raises(AllocationError, match=complaint):
        _devices(snapshot, patch)


def test_a_patched_snapshot_does_not_follow_the_original() -> None:
    snapshot = Snapshot(_FEATURES, slices=[_slice()], classes=[_CLASS])
    patched = snapshot.patched([_patch("a", "gpu-1", _GOLD)])
    snapshot.remove_slice("slice")
    assert _devices(patched) == ["gpu-1"]


def test_a_view_with_other_defects_is_patched_as_the_snapshot_is() -> None:
    snapshot = Snapshot(_FEATURES, slices=[_slice()], classes=[_CLASS]).under(SAFE)
    assert _devices(snapshot, _patch("a", "gpu-1", _GOLD)) == ["gpu-1"]
    assert snapshot.patched([]).features.defects == SAFE


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("DRADeviceTaints", {"taints": [{"key": "example.com/closed", "effect": "NoSchedule"}]}),
        ("DRAListTypeAttributes", {"attributes": {"gpu.example.com/tier": {"strings": ["gold"]}}}),
    ],
)
def test_what_a_patch_says_without_its_feature_is_overlooked(lacking: str, says: Object) -> None:
    def eligible(features: Features) -> bool:
        patch = {"metadata": {"name": "a"}, "spec": {"devices": says}}
        snapshot = Snapshot(features, slices=[_slice()], classes=[_CLASS], patches=[patch])
        untouched = "!('tier' in device.attributes['gpu.example.com'])"
        return allocate(_NODE, [_claim(untouched)], snapshot, AllocatedState(features)) is not None

    assert not eligible(_FEATURES)
    assert eligible(_FEATURES.without_gates([lacking]))


def test_the_scheduler_applies_mixins_before_patches() -> None:
    gates = FeatureGates(overrides={MIXINS_GATE: True})
    state = State("test", gates, DEFAULT_BACKOFF, 10.0)
    published = _slice()
    published["spec"]["mixins"] = {"device": [{"name": "big", "attributes": {"size": {"string": "big"}}}]}
    published["spec"]["devices"][1]["includes"] = ["big"]
    state.on_slice(None, published)
    patch = _patch("a", "gpu-1", _GOLD)
    expression = "device.attributes['gpu.example.com'].?size.orValue('') == 'big'"
    patch["spec"]["devices"]["filter"] = {"selectors": [{"cel": {"expression": expression}}]}
    state.on_patch(None, patch)
    devices = state.searches.snapshot.slices.seen("slice").devices
    assert [sorted(device.content.attributes) for device in devices] == [[], ["gpu.example.com/tier", "size"]]


def _request(name: str = "r", **fields: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **fields}}


def _says(device: str | None = None, **says: Any) -> Object:
    on = {} if device is None else {"device": device}
    return {"metadata": {"name": f"on-{device}"}, "spec": {"devices": {"filter": on, **says}}}


def _given(spec: Object, *patches: Object, claims: int = 1) -> list[list[Object]] | None:
    """The results of claims that a pod has, on devices with patches."""
    snapshot = Snapshot(_FEATURES, slices=[_slice()], classes=[_CLASS])
    objects = [{"metadata": {"name": f"claim-{number}"}, "spec": {"devices": spec}} for number in range(claims)]
    found = allocate(_NODE, objects, snapshot, AllocatedState(_FEATURES), patches=patches)
    return None if found is None else [list(map(dict, one["devices"]["results"])) for one in found]


_ZONE = "gpu.example.com/zone"


def test_constraints_compare_patched_values() -> None:
    def zones(first: str, second: str) -> list[Object]:
        return [
            _says("gpu-0", attributes={_ZONE: {"string": first}}),
            _says("gpu-1", attributes={_ZONE: {"string": second}}),
        ]

    for constraint, fitting, other in (
        ({"matchAttribute": _ZONE}, zones("a", "a"), zones("a", "b")),
        ({"distinctAttribute": _ZONE}, zones("a", "b"), zones("a", "a")),
    ):
        two = {"requests": [_request(count=2)], "constraints": [{**constraint, "requests": ["r"]}]}
        assert _given(two) is None  # none has the attribute
        assert _given(two, *other) is None
        found = _given(two, *fitting)
        assert found is not None
        assert [one["device"] for one in found[0]] == ["gpu-0", "gpu-1"]


def test_a_prioritized_list_takes_what_patches_make_of_the_first_choice() -> None:
    def choice(tier: str) -> Object:
        selectors = [{"cel": {"expression": f"device.attributes['gpu.example.com'].?tier.orValue('') == '{tier}'"}}]
        return {**_request(selectors=selectors)["exactly"], "name": tier}

    listed = {"requests": [{"name": "r", "firstAvailable": [choice("gold"), choice("")]}]}
    for patches, request, device in (
        ([], "r/", "gpu-0"),
        ([_patch("a", "gpu-1", _GOLD)], "r/gold", "gpu-1"),
    ):
        found = _given(listed, *patches)
        assert found is not None
        assert [(one["request"], one["device"]) for one in found[0]] == [(request, device)]


def test_shares_are_given_out_by_the_patched_capacity_and_policy() -> None:
    published = _slice()
    for device in published["spec"]["devices"]:
        device |= {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi"}}}
    snapshot = Snapshot(_FEATURES, slices=[published], classes=[_CLASS])
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "2Gi"}}
    # The policy is the patch's, and the name is the driver's, which the request knows.
    larger = _says("gpu-1", capacity={"gpu.example.com/memory": {"value": "20Gi", "requestPolicy": policy}})
    wanted = {"requests": [_request(capacity={"requests": {"memory": "12Gi"}})]}
    claim = {"metadata": {"name": "claim"}, "spec": {"devices": wanted}}
    allocated = AllocatedState(_FEATURES)
    assert allocate(_NODE, [claim], snapshot, allocated) is None
    found = allocate(_NODE, [claim], snapshot, allocated, patches=[larger])
    assert found is not None
    (result,) = found[0]["devices"]["results"]
    assert (result["device"], result["consumedCapacity"]) == ("gpu-1", {"memory": "13Gi"})
    # What was given out counts against the capacity as it is patched, and as it is published when the patch is gone.
    allocated.add_claim({**claim, "status": {"allocation": found[0]}})
    assert allocate(_NODE, [claim], snapshot, allocated, patches=[larger]) is None
    small = {"metadata": {"name": "small"}, "spec": {"devices": {"requests": [_request()]}}}
    (other,) = allocate(_NODE, [small], snapshot, allocated) or [{}]
    assert [one["device"] for one in other["devices"]["results"]] == ["gpu-0"]
