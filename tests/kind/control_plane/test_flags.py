"""How a cluster's versions and gates reach a Kubernetes component."""

from __future__ import annotations

import pytest

from drakit_api.features import FeatureGateError
from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.control_plane.flags import Behaviour, arguments


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


def test_a_gate_of_the_kit_is_for_its_own_components_only() -> None:
    with pytest.raises(ClusterError, match="feature gate DRAResourceSliceMixins exists in drakit's own components"):
        Behaviour(version="1.37.1", gates={"DRAResourceSliceMixins": True}).flags()


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
