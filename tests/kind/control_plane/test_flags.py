"""How a cluster's versions and gates reach a Kubernetes component."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.features import KIT_GATES, FeatureGateError
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component, DriverSpec
from drakit_kind.clusters.flags import Behaviour, Change, arguments
from drakit_kind.clusters.known_gates import ACTING, driver_gates


@pytest.mark.parametrize(
    ("behaviour", "flags"),
    [
        (Behaviour(version="1.37.1"), []),
        (Behaviour(version="1.37.1", emulated_version="1.37"), []),
        (Behaviour(version="1.37.1", emulated_version="1.36"), ["--emulated-version=kube=1.36"]),
        (
            Behaviour(version="1.36.3", gates={"DRAPrioritizedList": False, "DRADeviceTaints": True}),
            ["--feature-gates=DRADeviceTaints=true,DRAPrioritizedList=false"],
        ),
    ],
    ids=["as it is", "its own version", "an older one", "gates"],
)
def test_a_real_component_is_told_what_differs_from_its_default(behaviour: Behaviour, flags: list[str]) -> None:
    assert arguments(behaviour.flags()) == flags


@pytest.mark.parametrize("gate", ["DRAAdminControlledDeviceAttributes", "DRAResourceSliceMixins"])
def test_a_gate_of_the_kit_is_for_its_own_components_only(gate: str) -> None:
    with pytest.raises(ClusterError, match=f"feature gate {gate} exists in drakit's own components"):
        Behaviour(version="1.37.1", gates={gate: True}).flags()


_PATCHES, _MIXINS = "DRAAdminControlledDeviceAttributes", "DRAResourceSliceMixins"


@pytest.mark.parametrize(
    ("real", "fields", "gate", "is_left_out"),
    [
        (["apiserver", "controllers"], {}, _PATCHES, True),
        (["apiserver", "controllers", "kubelet"], {}, _PATCHES, True),
        (["scheduler"], {}, _PATCHES, True),
        (["scheduler", "kubelet"], {}, _MIXINS, True),
        # Nobody is left who acts by it.
        (["apiserver", "controllers", "scheduler"], {}, _PATCHES, False),
        (["apiserver", "controllers"], {"scheduler": False}, _PATCHES, False),
        (COMPONENTS, {}, _PATCHES, False),
        (["apiserver", "controllers"], {}, _MIXINS, False),
    ],
)
def test_a_gate_of_the_kit_is_left_out_where_a_component_of_ours_acts_by_it(
    real: list[Component], fields: dict[str, Any], gate: str, is_left_out: bool
) -> None:
    gates = {"DRADeviceTaints": True, gate: True}
    spec = ClusterSpec(real=frozenset(real), gates=gates, nodes=["node-1"], **fields)
    for component in set(COMPONENTS) - set(real):
        assert Behaviour.of(spec, component).gates == gates
    for component in real:
        behaviour = Behaviour.of(spec, component)
        if is_left_out:
            assert behaviour.flags() == {"feature-gates": "DRADeviceTaints=true"}
        else:
            with pytest.raises(ClusterError, match=f"feature gate {gate} exists in drakit's own components only"):
                behaviour.flags()


def test_a_gate_of_the_kit_is_refused_where_a_real_component_is_told_of_it() -> None:
    spec = ClusterSpec(real=frozenset({"apiserver", "controllers"}), gates={_PATCHES: True})
    change = Change(gates={_PATCHES: False})
    assert Behaviour.of(spec, "scheduler", change).gates == {_PATCHES: False}
    says = f"{_PATCHES} exists in drakit's own components only, for apiserver and scheduler; leave it out"
    with pytest.raises(ClusterError, match=says):
        Behaviour.of(spec, "apiserver", change).flags()


def test_of_every_gate_of_the_kit_it_is_known_who_acts_by_it() -> None:
    assert ACTING.keys() == KIT_GATES


def test_one_of_ours_behaves_as_the_minor_version_that_it_is_said_to_be() -> None:
    off = {"DRAPrioritizedList": False}
    assert not Behaviour(version="1.36.3", gates=off).feature_gates().enabled("DRAPrioritizedList")
    with pytest.raises(FeatureGateError, match="locked to true"):
        Behaviour(version="1.37.1", gates=off).feature_gates()


def test_each_component_can_have_a_version_of_its_own() -> None:
    spec = ClusterSpec(version="1.37.1", versions={"kubelet": "1.34.3"})
    assert (spec.behaves_as("kubelet"), spec.behaves_as("apiserver")) == ("1.34", "1.37")
    with pytest.raises(ClusterError, match=r"Kubernetes version 'latest': write it as 1\.37\.1"):
        ClusterSpec(version="latest").behaves_as("scheduler")


@pytest.mark.parametrize(
    ("fields", "minor", "gates"),
    [
        ({"gates": {"DRAPartitionableDevices": False}}, "1.37", {"DRAPartitionableDevices": False}),
        ({"gates": {"ImageVolume": True, "AllBeta": True}}, "1.37", {"AllBeta": True}),
        ({"version": "1.38.0"}, "1.37", {}),
        ({"version": "1.33.2", "gates": {"DRAPartitionableDevices": True}}, "1.34", {"DRAPartitionableDevices": True}),
        ({"versions": {"kubelet": "1.34.3"}, "gates": {"DRADerivedAttributes": True}}, "1.34", {}),
        ({"version": "1.38.0", "emulated_version": "1.36"}, "1.36", {}),
    ],
    ids=["known", "not of DRA", "too new", "too old", "newer than its kubelets", "emulated"],
)
def test_a_driver_beside_real_components_has_those_of_their_gates_that_drakit_knows(
    fields: dict[str, Any], minor: str, gates: dict[str, bool]
) -> None:
    spec = ClusterSpec(real=frozenset(COMPONENTS), nodes=["node-1"], **fields)
    made = driver_gates(spec, DriverSpec(profile="a30", nodes=["node-1"]))
    assert (made.emulated_version, made.overrides) == (minor, gates)


def test_a_gate_of_a_drivers_own_that_is_none_is_refused() -> None:
    driver = DriverSpec(profile="a30", nodes=["node-1"], gates={"ImageVolume": True})
    with pytest.raises(ClusterError, match="driver a30: unrecognized feature gate: ImageVolume"):
        driver_gates(ClusterSpec(nodes=["node-1"]), driver)
