"""What an object loses, keeps and gains between a request and the store."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from drakit_api import validation
from drakit_api.features import FeatureGates
from drakit_api.objects import lifecycle, schema
from drakit_api.objects.defaults import set_defaults
from drakit_api.objects.equality import comparison
from drakit_api.objects.raw_extensions import Embedded
from tests.vectors.exchanges import GATES

NOW, EARLIER = "2026-02-02T00:00:00Z", "2026-01-01T00:00:00Z"
ON = FeatureGates()
ALPHA = GATES["alpha"]
OFF = FeatureGates("1.34", {"AllBeta": False})

SLICE_FEATURES: dict[str, dict[str, Any]] = {
    "taints": {"devices": [{"name": "a", "taints": [{"key": "k", "effect": "None", "timeAdded": EARLIER}]}]},
    "counters": {"sharedCounters": [{"name": "c", "counters": {"m": {"value": "1"}}}]},
    "consumed counters": {"devices": [{"name": "a", "consumesCounters": [{"counterSet": "c", "counters": {}}]}]},
    "device nodes": {"perDeviceNodeSelection": True, "devices": [{"name": "a", "nodeName": "n"}]},
    "binding conditions": {"devices": [{"name": "a", "bindingConditions": ["x"], "bindingFailureConditions": ["y"]}]},
    "binds to node": {"devices": [{"name": "a", "bindsToNode": True}]},
    "sharing": {"devices": [{"name": "a", "allowMultipleAllocations": True}]},
    "request policy": {"devices": [{"name": "a", "capacity": {"m": {"value": "1", "requestPolicy": {}}}}]},
    "node allocatable": {"devices": [{"name": "a", "nodeAllocatableResources": {"cpu": {}}}]},
    "lists": {"devices": [{"name": "a", "attributes": {"x": {"ints": [1]}}}]},
    "partition type": {"partitionTypeAttribute": "d.example/x"},
    "skipped operations": {"skipNodeOperations": ["*"]},
}
CLAIM_FEATURES: dict[str, dict[str, Any]] = {
    "alternatives": {"requests": [{"name": "r", "firstAvailable": [{"name": "a", "count": 1}]}]},
    "tolerations": {"requests": [{"name": "r", "exactly": {"tolerations": [{"operator": "Exists"}]}}]},
    "admin access": {"requests": [{"name": "r", "exactly": {"adminAccess": True}}]},
    "capacity": {"requests": [{"name": "r", "exactly": {"capacity": {"requests": {"m": "1"}}}}]},
    "distinct attribute": {"constraints": [{"distinctAttribute": "d.example/x"}]},
    "derived attributes": {"requests": [{"name": "r", "exactly": {"derivedAttributes": [{"name": "d.example/x"}]}}]},
}


def of_kind(kind: str, spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "x", **meta}, "spec": copy.deepcopy(spec)}


@pytest.mark.parametrize("spec", SLICE_FEATURES.values(), ids=SLICE_FEATURES)
def test_slice_fields_live_and_die_with_their_gates(spec: dict[str, Any]) -> None:
    created = lifecycle.prepare_create("ResourceSlice", of_kind("ResourceSlice", spec), ALPHA)
    assert created["spec"] == spec
    dropped = lifecycle.prepare_create("ResourceSlice", of_kind("ResourceSlice", spec), OFF)
    assert dropped["spec"] != spec
    kept = lifecycle.prepare_update("ResourceSlice", of_kind("ResourceSlice", spec), created, OFF, now=NOW)
    assert kept["spec"] == spec
    added = lifecycle.prepare_update("ResourceSlice", of_kind("ResourceSlice", spec), dropped, OFF, now=NOW)
    assert added["spec"] == dropped["spec"]


def test_compatibility_groups_have_a_gate_of_their_own() -> None:
    consumption = {"counterSet": "c", "counters": {"m": {"value": "1"}}}
    spec = {"devices": [{"name": "a", "consumesCounters": [consumption | {"compatibilityGroups": ["g"]}]}]}
    kept = lifecycle.prepare_create("ResourceSlice", of_kind("ResourceSlice", spec), ALPHA)
    assert kept["spec"] == spec
    dropped = lifecycle.prepare_create("ResourceSlice", of_kind("ResourceSlice", spec), ON)
    assert dropped["spec"]["devices"] == [{"name": "a", "consumesCounters": [consumption]}]


@pytest.mark.parametrize("devices", CLAIM_FEATURES.values(), ids=CLAIM_FEATURES)
def test_claim_fields_live_and_die_with_their_gates(devices: dict[str, Any]) -> None:
    def prepare(gates: FeatureGates) -> dict[str, Any]:
        claim = of_kind("ResourceClaim", {"devices": devices})
        kept: dict[str, Any] = lifecycle.prepare_create("ResourceClaim", claim, gates)["spec"]["devices"]
        return kept

    def in_template(gates: FeatureGates) -> dict[str, Any]:
        template = of_kind("ResourceClaimTemplate", {"spec": {"devices": devices}})
        created = lifecycle.prepare_create("ResourceClaimTemplate", template, gates)
        kept: dict[str, Any] = created["spec"]["spec"]["devices"]
        return kept

    assert prepare(ALPHA) == in_template(ALPHA)
    assert prepare(OFF) == in_template(OFF)
    assert prepare(OFF) != prepare(ALPHA)


def test_a_class_keeps_the_extended_resource_that_it_had() -> None:
    spec = {"extendedResourceName": "example.com/gpu"}
    dropped = lifecycle.prepare_create("DeviceClass", of_kind("DeviceClass", spec), OFF)
    assert dropped["spec"] == {}
    old = of_kind("DeviceClass", spec)
    assert lifecycle.prepare_update("DeviceClass", of_kind("DeviceClass", spec), old, OFF, now=NOW)["spec"] == spec


def test_defaults_of_a_claim() -> None:
    requests = [
        {"name": "a", "exactly": {"tolerations": [{"key": "k"}]}},
        {"name": "b", "firstAvailable": [{"name": "all", "allocationMode": "All"}, {"name": "one", "count": 0}]},
    ]
    claim = of_kind("ResourceClaim", {"devices": {"requests": requests}})
    set_defaults("ResourceClaim", claim, NOW)
    first, second = claim["spec"]["devices"]["requests"]
    tolerations = [{"key": "k", "operator": "Equal"}]
    assert first["exactly"] == {"allocationMode": "ExactCount", "count": 1, "tolerations": tolerations}
    assert second["firstAvailable"] == [
        {"name": "all", "allocationMode": "All"},
        {"name": "one", "allocationMode": "ExactCount", "count": 1},
    ]


def test_a_new_object_has_no_status_and_the_first_generation() -> None:
    claim = of_kind("ResourceClaim", {}) | {"status": {"reservedFor": [{"uid": "u"}]}}
    assert "status" not in lifecycle.prepare_create("ResourceClaim", claim, ON)
    assert "generation" not in claim["metadata"]
    rule = lifecycle.prepare_create("DeviceTaintRule", of_kind("DeviceTaintRule", {}, generation=7), ON)
    assert rule["metadata"]["generation"] == 1


def test_a_taint_gets_its_time_even_if_nothing_was_sent() -> None:
    rule = of_kind("DeviceTaintRule", {})
    set_defaults("DeviceTaintRule", rule, NOW)
    assert rule["spec"]["taint"] == {"timeAdded": NOW}


@pytest.mark.parametrize(("driver", "generation"), [("d", 3), ("e", 4)])
def test_the_generation_counts_changes_of_the_spec(driver: str, generation: int) -> None:
    old = of_kind("ResourceSlice", {"driver": "d", "devices": []}, generation=3)
    new = of_kind("ResourceSlice", {"driver": driver}, generation=99)
    assert lifecycle.prepare_update("ResourceSlice", new, old, ON, now=NOW)["metadata"]["generation"] == generation


def test_a_write_to_the_object_leaves_the_status_alone() -> None:
    old = of_kind("ResourceClaim", {}) | {"status": {"reservedFor": [{"uid": "u"}]}}
    new = of_kind("ResourceClaim", {}) | {"status": {}}
    assert lifecycle.prepare_update("ResourceClaim", new, old, ON, now=NOW)["status"] == old["status"]


def test_a_write_to_the_status_changes_nothing_else() -> None:
    old = of_kind("ResourceClaim", {"devices": {}}, labels={"a": "b"}, finalizers=["f"], uid="u")
    new = of_kind("ResourceClaim", {"devices": {"requests": []}}, labels={"c": "d"}) | {"status": {"devices": []}}
    prepared = lifecycle.prepare_status_update("ResourceClaim", new, old, ON)
    assert prepared["spec"] == old["spec"]
    assert prepared["metadata"] == old["metadata"]


def test_device_statuses_go_with_their_devices() -> None:
    gone, kept = ({"driver": "d", "pool": "p", "device": name} for name in ("gone", "kept"))
    old = of_kind("ResourceClaim", {}) | {"status": {"allocation": {"devices": {"results": [gone, kept]}}}}
    status = {"allocation": {"devices": {"results": [kept]}}, "devices": [gone, kept]}
    prepared = lifecycle.prepare_status_update(
        "ResourceClaim", of_kind("ResourceClaim", {}) | {"status": status}, old, ON
    )
    assert prepared["status"]["devices"] == [kept]


@pytest.mark.parametrize(
    ("effect", "time", "expected"),
    [("NoExecute", EARLIER, NOW), ("NoSchedule", EARLIER, EARLIER), ("NoExecute", "2026-01-15T00:00:00Z", None)],
    ids=["another effect", "the same effect", "another effect and time"],
)
def test_a_taint_of_another_effect_starts_anew(effect: str, time: str, expected: str | None) -> None:
    old = of_kind("DeviceTaintRule", {"taint": {"key": "k", "effect": "NoSchedule", "timeAdded": EARLIER}})
    new = of_kind("DeviceTaintRule", {"taint": {"key": "k", "effect": effect, "timeAdded": time}})
    prepared = lifecycle.prepare_update("DeviceTaintRule", new, old, ON, now=NOW)
    assert prepared["spec"]["taint"]["timeAdded"] == (expected or time)


def test_an_update_keeps_the_old_object_as_it_is() -> None:
    old = of_kind("ResourceSlice", SLICE_FEATURES["taints"], generation=1)
    before = copy.deepcopy(old)
    lifecycle.prepare_update("ResourceSlice", of_kind("ResourceSlice", {"driver": "d"}), old, OFF, now=NOW)
    assert old == before


@pytest.mark.parametrize(
    ("struct", "left", "right", "same"),
    [
        ("ExactDeviceRequest", {"deviceClassName": "", "selectors": [], "tolerations": None}, {}, True),
        ("ExactDeviceRequest", {"count": 0}, {}, True),
        ("ExactDeviceRequest", {"count": 1}, {}, False),
        ("ExactDeviceRequest", {"adminAccess": False}, {}, False),
        ("ExactDeviceRequest", {"capacity": {}}, {}, False),
        ("ExactDeviceRequest", {"capacity": {}}, {"capacity": {"requests": {}}}, True),
        ("ExactDeviceRequest", {"tolerations": [{"value": ""}]}, {"tolerations": [{}]}, True),
        ("ExactDeviceRequest", {"tolerations": [{}]}, {"tolerations": [{}, {}]}, False),
        ("ExactDeviceRequest", {"mine": 1, "count": 0}, {"mine": 1}, True),
        ("ExactDeviceRequest", {"mine": 1}, {}, False),
        ("ResourceSliceSpec", {"nodeName": ""}, {}, False),
        ("ResourceSliceSpec", {"pool": {"generation": 0}}, {}, True),
        ("CapacityRequirements", {"requests": {"a": "1Ki"}}, {"requests": {"a": "1024"}}, True),
        ("CapacityRequirements", {"requests": {"a": "1Ki"}}, {"requests": {"a": "1k"}}, False),
        ("CapacityRequirements", {"requests": {"a": "1"}}, {"requests": {"b": "1"}}, False),
        ("Counter", {"value": "0"}, {}, True),
        ("CapacityRequestPolicy", {"default": "0"}, {}, False),
        ("DeviceAttribute", {"version": "1.10"}, {"version": "1.1"}, False),
        ("DeviceAttribute", {"int": 0}, {}, False),
        ("OpaqueDeviceConfiguration", {"parameters": {"a": 1}}, {"parameters": {"a": 1}}, True),
        ("OpaqueDeviceConfiguration", {"parameters": {"a": 1}}, {"parameters": {"a": True}}, False),
        ("OpaqueDeviceConfiguration", {"parameters": {"a": 1}}, {"parameters": Embedded({"a": 1}, '{"a": 1}')}, False),
        ("OpaqueDeviceConfiguration", {"parameters": {}}, {}, False),
    ],
)
def test_what_is_no_change(struct: str, left: dict[str, Any], right: dict[str, Any], same: bool) -> None:
    compare = comparison(schema.load(), f"resource/v1.{struct}")
    assert compare(left, right) is same
    assert compare(right, left) is same


def test_a_resource_without_rules_is_the_callers_mistake() -> None:
    with pytest.raises(LookupError, match="no validation for pods"):
        validation.validate_create("pods", {}, ON)
    with pytest.raises(LookupError, match="deviceclasses have no status"):
        validation.validate_status_update("deviceclasses", {}, {}, ON)
