"""What a kubelet is told: its own corner of the machine, who may use it, and gates that it can be told."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.flags import Behaviour
from drakit_kind.nodes.kubelet_config import (
    KubeletSettings,
    health_address,
    kubelet_arguments,
    kubelet_config,
    settable_gates,
)
from drakit_kind.nodes.network import node_address
from drakit_kind.processes.own_addresses import NODE_NETWORKS

DERIVED = "DRADerivedAttributes"
HERE = Path("/h/n/node-1/host")


def config(**options: Any) -> dict[str, Any]:
    return kubelet_config(
        KubeletSettings(
            address="10.213.0.1",
            cgroup_root="/drakit-1/node-1",
            containerd_socket=HERE / "containerd.sock",
            directory=HERE,
            client_ca=Path("/h/pki/ca.crt"),
            certificate=Path("/h/pki/kubelet.crt"),
            key=Path("/h/pki/kubelet.key"),
            **options,
        )
    )


def test_a_kubelet_keeps_to_its_node() -> None:
    made = config()
    assert {made["address"], *made["clusterDNS"]} == {"10.213.0.1"}
    assert (made["port"], made["healthzPort"], made["readOnlyPort"]) == (10250, 10248, 0)
    assert made["cgroupRoot"] == "/drakit-1/node-1"
    assert made["containerRuntimeEndpoint"] == "unix:///h/n/node-1/host/containerd.sock"
    assert all(made[key].startswith(str(HERE)) for key in ("podLogsDir", "volumePluginDir"))
    assert made["makeIPTablesUtilChains"] is False
    assert made["failCgroupV1"] is False
    assert "featureGates" not in made


def test_a_kubelet_answers_those_only_who_have_a_certificate_of_the_cluster() -> None:
    made = config()
    assert made["authentication"] == {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": False},
        "x509": {"clientCAFile": "/h/pki/ca.crt"},
    }
    assert made["authorization"] == {"mode": "AlwaysAllow"}
    assert (made["tlsCertFile"], made["tlsPrivateKeyFile"]) == ("/h/pki/kubelet.crt", "/h/pki/kubelet.key")


def test_health_which_has_no_certificate_is_served_to_this_machine_alone() -> None:
    """Linux answers for all its addresses on each of its interfaces, but for loopback's."""
    assert config()["healthzBindAddress"] == health_address("10.213.0.1") == "127.213.0.1"
    networks = [subnet for each in NODE_NETWORKS for subnet in IPv4Network(each).subnets(new_prefix=20)]
    assert len({health_address(node_address(subnet, 0)) for subnet in networks}) == len(networks)


def test_gates_are_told_by_name() -> None:
    assert config(gates={"DRADeviceTaints": False})["featureGates"] == {"DRADeviceTaints": False}


def test_the_root_directory_is_where_a_simulated_node_has_its_own() -> None:
    arguments = kubelet_arguments(
        "node-1",
        "10.213.0.1",
        config=HERE / "kubelet.yaml",
        kubeconfig=HERE / "kubeconfig",
        root=HERE.parent,
        certificates=HERE / "pki",
    )
    assert "--root-dir=/h/n/node-1" in arguments
    assert "--hostname-override=node-1" in arguments
    assert "--node-ip=10.213.0.1" in arguments


@pytest.mark.parametrize(
    ("version", "emulated", "gates", "told", "left_out"),
    [
        ("1.37.1", None, {"DRADeviceTaints": False}, {"DRADeviceTaints": False}, []),
        # Of a version that does not have them yet.
        ("1.34.3", None, {DERIVED: True, "DRADeviceTaints": True}, {"DRADeviceTaints": True}, [DERIVED]),
        ("1.37.1", None, {DERIVED: True}, {DERIVED: True}, []),
        # Locked in 1.37; the control plane emulates 1.36, where it is not, and a kubelet emulates nothing.
        ("1.37.1", "1.36", {"DRAPrioritizedList": False}, {}, ["DRAPrioritizedList"]),
        ("1.37.1", "1.36", {"DRAPrioritizedList": True}, {"DRAPrioritizedList": True}, []),
        ("1.36.3", None, {"DRAPrioritizedList": False}, {"DRAPrioritizedList": False}, []),
        # Without emulation it is the kubelet's to refuse.
        ("1.37.1", None, {"DRAPrioritizedList": False}, {"DRAPrioritizedList": False}, []),
        # Not a DRA gate: the kubelet knows best.
        ("1.34.3", None, {"AllAlpha": True, "ImageVolume": True}, {"AllAlpha": True, "ImageVolume": True}, []),
        # Which gates these versions have, drakit does not know.
        ("1.38.0", None, {DERIVED: True}, {DERIVED: True}, []),
        ("1.38.0", "1.37", {DERIVED: True}, {DERIVED: True}, []),
        ("1.33.2", None, {}, {}, []),
    ],
)  # fmt: skip
def test_a_kubelet_is_told_of_the_gates_that_it_can_be_told_of(
    version: str, emulated: str | None, gates: dict[str, bool], told: dict[str, bool], left_out: list[str]
) -> None:
    assert settable_gates(Behaviour(version=version, emulated_version=emulated, gates=gates)) == (told, left_out)


def test_a_gate_of_the_kit_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"DRAResourceSliceMixins exists in drakit's own components only"):
        settable_gates(Behaviour(version="1.37.1", gates={"DRAResourceSliceMixins": True}))
