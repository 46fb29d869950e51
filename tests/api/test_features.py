"""Gates have Kubernetes' defaults in each emulated version and are refused in Kubernetes' words."""

from __future__ import annotations

import re

import pytest

from drakit_api.features import FeatureGateError, FeatureGates, parse_gates

ON_BY_DEFAULT = {
    "1.34": {
        "DRAAdminAccess",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
        "DRASchedulerFilterTimeout",
        "DynamicResourceAllocation",
    },
    "1.37": {
        "DRAAdminAccess",
        "DRAConsumableCapacity",
        "DRADeviceBindingConditions",
        "DRADeviceTaintRules",
        "DRADeviceTaints",
        "DRAExtendedResource",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
        "DRAResourceClaimGranularStatusAuthorization",
        "DRASchedulerFilterTimeout",
        "DynamicResourceAllocation",
        "NodeDeclaredFeatures",
        "ResourceHealthStatus",
        "ResourceHealthStatusMessage",
    },
}
# Outside of DRA: what depends on NodeDeclaredFeatures.
ON_BY_DEFAULT["1.37"] |= {
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
}
# Who may do what.
ON_BY_DEFAULT["1.37"] |= {"ConstrainedImpersonation", "PodCertificateRequest"}
ON_BY_DEFAULT["1.37"] |= {"AuthorizePodWebsocketUpgradeCreatePermission"}
ON_BY_DEFAULT["1.35"] = ON_BY_DEFAULT["1.34"] | {"AuthorizePodWebsocketUpgradeCreatePermission"}
ON_BY_DEFAULT["1.36"] = ON_BY_DEFAULT["1.37"] - {"DRADeviceTaintRules", "PodCertificateRequest"}
LOCKED = {
    "1.34": set(),
    "1.35": {"DynamicResourceAllocation"},
    "1.36": {"DynamicResourceAllocation", "DRAAdminAccess"},
    "1.37": {
        "DynamicResourceAllocation",
        "DRAAdminAccess",
        "DRAExtendedResource",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
        "InPlacePodVerticalScalingInitContainers",
        "NodeDeclaredFeatures",
    },
}


@pytest.mark.parametrize("version", sorted(ON_BY_DEFAULT))
def test_defaults_by_emulated_version(version: str) -> None:
    known = FeatureGates(version).known()
    assert {gate.name for gate in known if gate.enabled} == ON_BY_DEFAULT[version]
    assert {gate.name for gate in known if gate.spec.locked} == LOCKED[version]


def test_gates_of_later_versions_do_not_exist_earlier() -> None:
    names = {gate.name for gate in FeatureGates("1.35").known()}
    assert "DRADeviceTaintRules" in names
    assert not names & {"DRAListTypeAttributes", "DRADerivedAttributes", "DRAWorkloadResourceClaims"}


def test_a_default_can_wait_for_the_minimum_compatibility_version() -> None:
    assert not FeatureGates("1.37").enabled("DRAFractionalCapacityRange")
    assert FeatureGates("1.37", min_compatibility_version="1.37").enabled("DRAFractionalCapacityRange")


@pytest.mark.parametrize(
    ("version", "overrides", "message"),
    [
        pytest.param(
            "1.37",
            {"DRAPrioritizedList": False},
            "cannot set feature gate DRAPrioritizedList to false, feature is locked to true",
            id="locked",
        ),
        pytest.param("1.37", {"DRAMagic": True}, "unrecognized feature gate: DRAMagic", id="unknown"),
        pytest.param(
            "1.36",
            {"DRADerivedAttributes": True},
            "cannot set feature gate DRADerivedAttributes to true, feature is PreAlpha at emulated version 1.36, "
            "min compatibility version 1.35",
            id="newer than the emulated version",
        ),
        pytest.param(
            "1.37",
            {"DRADeviceTaints": False},
            "DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]",
            id="dependency off",
        ),
        pytest.param(
            "1.37",
            {"DRAPartitionableDevices": False, "DRAPartitionableDevicesType": True},
            "DRAPartitionableDevicesType is enabled, but depends on features that are disabled: "
            "[DRAPartitionableDevices DRAResourcePoolStatus]",
            id="two dependencies off",
        ),
        pytest.param(
            "1.37",
            {"DRAAdminAccess": False, "DRAExtendedResource": False},
            "[cannot set feature gate DRAAdminAccess to false, feature is locked to true, "
            "cannot set feature gate DRAExtendedResource to false, feature is locked to true]",
            id="several errors",
        ),
        pytest.param("1.33", {}, "emulation version 1.33 is not between [1.34, 1.37.0]", id="too old"),
        pytest.param("latest", {}, '"latest" is not a version: give major and minor, as in "1.37"', id="no version"),
    ],
)
def test_refuses_in_the_words_of_kubernetes(version: str, overrides: dict[str, bool], message: str) -> None:
    with pytest.raises(FeatureGateError) as refused:
        FeatureGates(version, overrides)
    assert str(refused.value) == message


def test_the_minimum_compatibility_version_has_a_floor_and_a_ceiling() -> None:
    with pytest.raises(FeatureGateError, match=r"emulated version 1\.34, min compatibility version 1\.34$"):
        FeatureGates("1.34", {"DRADerivedAttributes": True})
    with pytest.raises(FeatureGateError) as refused:
        FeatureGates("1.36", min_compatibility_version="1.37")
    assert str(refused.value) == "minCompatibilityVersion version 1.37 is not between [1.34, 1.36]"


def test_a_locked_gate_may_be_set_to_its_default() -> None:
    assert FeatureGates("1.37", {"DRAPrioritizedList": True}).enabled("DRAPrioritizedList")


def test_a_gate_locked_in_1_37_toggles_before() -> None:
    assert not FeatureGates("1.36", {"DRAPrioritizedList": False}).enabled("DRAPrioritizedList")


def test_taints_and_their_rules_go_off_together() -> None:
    gates = FeatureGates("1.37", {"DRADeviceTaints": False, "DRADeviceTaintRules": False})
    assert not gates.enabled("DRADeviceTaints")


def test_all_beta_off_spares_what_is_ga_or_set() -> None:
    gates = FeatureGates("1.36", {"AllBeta": False, "DRAPartitionableDevices": True})
    assert gates.enabled("DRAPrioritizedList")
    assert gates.enabled("DRAPartitionableDevices")
    assert not gates.enabled("DRAConsumableCapacity")


def test_all_alpha_needs_what_alpha_gates_depend_on() -> None:
    with pytest.raises(FeatureGateError, match=r"depends on features that are disabled: \[GenericWorkload\]"):
        FeatureGates("1.37", {"AllAlpha": True})
    gates = FeatureGates("1.37", {"AllAlpha": True, "GenericWorkload": True})
    assert gates.enabled("DRADerivedAttributes")


def test_the_gates_of_the_kit_are_its_own() -> None:
    own = [gate.name for gate in FeatureGates("1.34").known() if gate.kit_only]
    assert own == ["DRAAdminControlledDeviceAttributes", "DRAResourceSliceMixins"]


@pytest.mark.parametrize("name", ["DRAAdminControlledDeviceAttributes", "DRAResourceSliceMixins"])
def test_a_gate_of_the_kit_is_on_only_where_it_is_named(name: str) -> None:
    assert not FeatureGates("1.34").enabled(name)
    assert not FeatureGates("1.37", {"AllAlpha": True, "GenericWorkload": True}).enabled(name)
    assert FeatureGates("1.34", {name: True}).enabled(name)


def test_asking_for_a_gate_that_is_none_is_an_error() -> None:
    with pytest.raises(FeatureGateError, match='feature "DRAPrioritisedList" is not registered'):
        FeatureGates().enabled("DRAPrioritisedList")


@pytest.mark.parametrize(
    ("text", "gates"),
    [("", {}), ("A=true,B=false", {"A": True, "B": False}), (" A = T , B=0,", {"A": True, "B": False})],
)
def test_parse_gates(text: str, gates: dict[str, bool]) -> None:
    assert parse_gates(text) == gates


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A", "missing bool value for A"),
        ("A=yes", 'invalid value of A=yes, err: strconv.ParseBool: parsing "yes": invalid syntax'),
    ],
)
def test_parse_gates_refuses(text: str, message: str) -> None:
    with pytest.raises(FeatureGateError) as refused:
        parse_gates(text)
    assert str(refused.value) == message


def test_what_depends_on_declared_features_cannot_do_without_them() -> None:
    """kube-apiserver 1.37.1 emulating 1.36 names the same four, in any order."""
    with pytest.raises(FeatureGateError) as refused:
        FeatureGates("1.36", {"NodeDeclaredFeatures": False})
    told = re.findall(r"(\w+) is enabled, but depends on features that are disabled: \[(\w+)\]", str(refused.value))
    assert sorted(told) == [
        ("ExtendWebSocketsToKubelet", "NodeDeclaredFeatures"),
        ("InPlacePodLevelResourcesVerticalScaling", "NodeDeclaredFeatures"),
        ("InPlacePodVerticalScalingInitContainers", "NodeDeclaredFeatures"),
        ("RestartAllContainersOnContainerExits", "NodeDeclaredFeatures"),
    ]
