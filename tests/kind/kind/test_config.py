"""What kind is told: each component gets the gates and the version that its program takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component
from drakit_kind.clusters.flags import Change
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kind.backend import KindCluster
from drakit_kind.kind.config import behaviour_of, check_components, gates_of_our_scheduler, kind_config

SPEC = ClusterSpec(name="story", nodes=["a", "b"], real=frozenset(COMPONENTS))
IMAGES = {"1.37.1": "local:1.37", "1.34.3": "local:1.34"}


def _config(spec: ClusterSpec, *, dns: bool = True) -> dict[str, Any]:
    return kind_config(spec, IMAGES, dns=dns)


def _patch(config: dict[str, Any], kind: str) -> dict[str, Any]:
    patches = [yaml.safe_load(text) for text in config["kubeadmConfigPatches"]]
    return next((patch for patch in patches if patch["kind"] == kind), {})


def _flags(config: dict[str, Any], section: str) -> dict[str, str]:
    flags: dict[str, str] = _patch(config, "ClusterConfiguration")[section]["extraArgs"]
    return flags


def test_workers_carry_the_names_that_stories_use() -> None:
    control_plane, *workers = _config(SPEC)["nodes"]
    assert control_plane == {"role": "control-plane", "image": "local:1.37"}
    assert [worker["role"] for worker in workers] == ["worker", "worker"]
    joins = [yaml.safe_load(patch) for worker in workers for patch in worker["kubeadmConfigPatches"]]
    assert joins == [
        {"kind": "JoinConfiguration", "nodeRegistration": {"name": "a"}},
        {"kind": "JoinConfiguration", "nodeRegistration": {"name": "b"}},
    ]


def test_gates_go_to_each_component_by_itself() -> None:
    """kind's own featureGates would give them to kubelets that may refuse them."""
    config = _config(replace(SPEC, gates={"DRADerivedAttributes": True, "DRADeviceTaints": False}))
    assert "featureGates" not in config
    for section in ("apiServer", "controllerManager", "scheduler"):
        assert _flags(config, section)["feature-gates"] == "DRADerivedAttributes=true,DRADeviceTaints=false"
    kubelet = _patch(config, "KubeletConfiguration")
    assert kubelet["featureGates"] == {"DRADerivedAttributes": True, "DRADeviceTaints": False}
    assert kubelet["apiVersion"] == "kubelet.config.k8s.io/v1beta1"


def test_a_gate_that_is_locked_in_the_kubelets_own_version_is_for_the_control_plane_that_emulates_another() -> None:
    config = _config(replace(SPEC, emulated_version="1.34", gates={"DRAPrioritizedList": False}))
    assert _flags(config, "apiServer")["feature-gates"] == "DRAPrioritizedList=false"
    assert "featureGates" not in _patch(config, "KubeletConfiguration")


def test_an_emulated_version_is_for_the_control_plane_only() -> None:
    config = _config(replace(SPEC, emulated_version="1.36"))
    for section in ("apiServer", "controllerManager", "scheduler"):
        assert _flags(config, section)["emulated-version"] == "kube=1.36"
    assert "1.36" not in yaml.safe_dump(_patch(config, "KubeletConfiguration"))


def test_older_kubelets_have_an_image_of_their_own_and_no_gate_that_they_do_not_know() -> None:
    config = _config(replace(SPEC, versions={"kubelet": "1.34.3"}, gates={"DRADerivedAttributes": True}))
    assert [node["image"] for node in config["nodes"]] == ["local:1.37", "local:1.34", "local:1.34"]
    assert "featureGates" not in _patch(config, "KubeletConfiguration")
    assert _flags(config, "apiServer")["feature-gates"] == "DRADerivedAttributes=true"


def test_a_component_of_another_version_gets_its_gates_when_it_gets_that_version() -> None:
    config = _config(replace(SPEC, versions={"scheduler": "1.34.3"}, gates={"DRADerivedAttributes": True}))
    assert [node["image"] for node in config["nodes"]] == ["local:1.37"] * 3
    assert _flags(config, "scheduler") == {"leader-elect": "false"}
    assert _flags(config, "controllerManager")["feature-gates"] == "DRADerivedAttributes=true"


def test_without_dns_kubeadm_leaves_it_out_and_still_checks_nothing() -> None:
    assert _patch(_config(SPEC, dns=True), "InitConfiguration") == {}
    skipped = _patch(_config(SPEC, dns=False), "InitConfiguration")["skipPhases"]
    assert skipped == ["preflight", "addon/coredns"]


def test_api_versions_and_the_port_are_kinds_own_fields() -> None:
    config = _config(replace(SPEC, runtime_config={"resource.k8s.io/v1beta1": "true"}, port=40000))
    assert config["runtimeConfig"] == {"resource.k8s.io/v1beta1": "true"}
    assert config["networking"] == {"apiServerAddress": "127.0.0.1", "apiServerPort": 40000}
    assert _config(SPEC)["networking"] == {"apiServerAddress": "127.0.0.1"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (replace(SPEC, real=frozenset({"apiserver", "controllers"})), "real must have kubelet too"),
        (replace(SPEC, real=frozenset()), "real must have apiserver, controllers, kubelet too"),
        (replace(SPEC, nodes=["a", "a"]), "each node needs a name of its own"),
        (replace(SPEC, scheduler=False), "scheduler must be True"),
        (replace(SPEC, token="t"), "leave token and tls as they are"),
        (replace(SPEC, tls=False), "leave token and tls as they are"),
        (replace(SPEC, name="a" * 36), "in kind use at most 35 characters"),
        (replace(SPEC, gates={"DRAResourceSliceMixins": True}), "exists in drakit's own components only"),
        (
            replace(SPEC, gates={"DRAAdminAccess": False}),
            "scheduler.*: cannot set feature gate DRAAdminAccess to false",
        ),
        (replace(SPEC, version="1.36.3", gates={"DRADerivedAttributes": True}), "DRADerivedAttributes .* PreAlpha"),
        (replace(SPEC, version="1.33.4"), r"scheduler.*: emulation version 1\.33 is not between \[1\.34"),
    ],
    ids=[
        "simulated kubelets",
        "nothing real",
        "two nodes of one name",
        "no scheduler",
        "a token",
        "no TLS",
        "a name that makes host names too long",
        "a gate of the kit",
        "a locked gate",
        "a gate of a later version",
        "a version that drakit does not know",
    ],
)
def test_what_kind_cannot_do_is_refused_before_docker_is_asked(
    spec: ClusterSpec, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=message):
        KindCluster(spec, ClusterHome(tmp_path / "cluster")).start()


def test_a_node_image_of_another_version_is_refused_before_docker_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    other = "kindest/node:v1.35.4@sha256:12"
    with pytest.raises(
        ClusterError, match=rf"^--drakit-kind-image {other} is Kubernetes 1\.35\.4, and .* shall be 1\.37\.1"
    ):
        KindCluster(SPEC, ClusterHome(tmp_path / "cluster"), image=other).start()


def test_a_gate_of_the_kit_is_refused() -> None:
    with pytest.raises(ClusterError, match="exists in drakit's own components only"):
        _config(replace(SPEC, gates={"DRAResourceSliceMixins": True}))


@pytest.mark.parametrize("real", [COMPONENTS, ("apiserver", "controllers", "kubelet")], ids=["beside", "instead"])
def test_a_gate_of_the_kit_for_schedulers_is_for_drakits_alone(real: tuple[Component, ...]) -> None:
    patches = "DRAAdminControlledDeviceAttributes"
    spec = replace(SPEC, real=frozenset(real), gates={patches: True, "DRADerivedAttributes": True})
    check_components(spec)
    assert gates_of_our_scheduler(spec).enabled(patches)
    config = _config(spec)
    for section in ("apiServer", "controllerManager"):
        assert _flags(config, section)["feature-gates"] == "DRADerivedAttributes=true"
    assert _patch(config, "KubeletConfiguration")["featureGates"] == {"DRADerivedAttributes": True}
    with pytest.raises(ClusterError, match=f"{patches} exists in drakit's own components only, for apiserver and"):
        behaviour_of(spec, "apiserver", Change(gates={patches: True})).flags()


def test_drakits_scheduler_gets_the_gates_that_it_knows_and_the_other_components_all() -> None:
    spec = replace(SPEC, gates={"AllBeta": False, "DRADerivedAttributes": True, "InPlacePodVerticalScaling": True})
    check_components(spec)
    ours = gates_of_our_scheduler(spec)
    assert ours.overrides == {"AllBeta": False, "DRADerivedAttributes": True}
    assert ours.emulated_version == "1.37"
    flag = "AllBeta=false,DRADerivedAttributes=true,InPlacePodVerticalScaling=true"
    assert _flags(_config(spec), "scheduler")["feature-gates"] == flag


def test_a_name_may_be_as_long_as_those_of_its_nodes_allow() -> None:
    name = "a" * 35
    check_components(replace(SPEC, name=name))
    assert len(f"drakit-{name}-abcdef-control-plane") == 63


def test_etcd_does_not_wait_for_the_disk() -> None:
    local = _patch(_config(SPEC), "ClusterConfiguration")["etcd"]["local"]
    assert local == {"extraArgs": {"unsafe-no-fsync": "true"}}
