"""The configuration of one kubelet, for any version from 1.34 on.

After k8s.io/kubelet/config/v1beta1 (types.go); every field here exists in all of these versions. What is not said is
the kubelet's own default: the closer to an ordinary node, the better a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drakit_api.features import NEWEST_EMULATED
from drakit_kind.cluster import minor_version
from drakit_kind.clusters.flags import Behaviour, gates_flag
from drakit_kind.clusters.known_gates import gates_of

PORT = 10250
HEALTH_PORT = 10248
# Among other things, how soon a failed preparation is retried; the default is a minute.
SYNC_FREQUENCY = "5s"


@dataclass(frozen=True, kw_only=True)
class KubeletSettings:
    """What differs between the kubelets of one machine.

    ``certificate`` and ``key`` are what it serves https with; ``client_ca`` has signed the certificates of those who
    may ask for logs and run commands.
    """

    address: str
    cgroup_root: str
    containerd_socket: Path
    directory: Path
    client_ca: Path
    certificate: Path
    key: Path
    gates: Mapping[str, bool] = field(default_factory=dict)


def kubelet_config(settings: KubeletSettings) -> dict[str, Any]:
    """Make the KubeletConfiguration of a node."""
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": settings.address,
        "port": PORT,
        "readOnlyPort": 0,
        "healthzBindAddress": health_address(settings.address),
        "healthzPort": HEALTH_PORT,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(settings.client_ca)},
        },
        # A certificate of the cluster's authority is enough, as only components have one.
        "authorization": {"mode": "AlwaysAllow"},
        "tlsCertFile": str(settings.certificate),
        "tlsPrivateKeyFile": str(settings.key),
        "containerRuntimeEndpoint": f"unix://{settings.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": settings.cgroup_root,
        "enforceNodeAllocatable": [],
        # Since 1.35 a kubelet refuses machines with cgroup v1 otherwise.
        "failCgroupV1": False,
        "failSwapOn": False,
        # The machine's packet filter is not a node's.
        "makeIPTablesUtilChains": False,
        # What a kubelet without CAP_SYS_RESOURCE can set; the default is lower than its parent's.
        "oomScoreAdj": 0,
        "podLogsDir": str(settings.directory / "pod-logs"),
        "volumePluginDir": str(settings.directory / "volume-plugins"),
        # Without a name server, each pod would get a warning. Where this machine runs none, looking up a name fails at
        # once, as the address is its own.
        "clusterDNS": [settings.address],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "syncFrequency": SYNC_FREQUENCY,
        # A full disk of a developer's machine is no reason to evict the pods of a test.
        "evictionHard": dict.fromkeys(
            ("imagefs.available", "imagefs.inodesFree", "nodefs.available", "nodefs.inodesFree"), "0%"
        ),
        "imageGCHighThresholdPercent": 100,
    }
    if settings.gates:
        config["featureGates"] = dict(settings.gates)
    return config


def health_address(address: str) -> str:
    """Return the address at which the kubelet with this node address serves /healthz to anybody.

    It is one for each node, below 127.0.0.0/8: any other address would answer on each interface of this machine.
    """
    return "127." + address.partition(".")[2]


def kubelet_arguments(
    node: str, address: str, *, config: Path, kubeconfig: Path, root: Path, certificates: Path
) -> list[str]:
    """Return the command line flags for settings that a KubeletConfiguration cannot have."""
    flags = {
        "config": config,
        "kubeconfig": kubeconfig,
        "root-dir": root,
        "cert-dir": certificates,
        "hostname-override": node,
        "node-ip": address,
    }
    return [f"--{name}={value}" for name, value in flags.items()]


def settable_gates(behaviour: Behaviour) -> tuple[dict[str, bool], list[str]]:
    """Return the cluster's gates that a kubelet of this version accepts, and the names of the others.

    A kubelet refuses gates that it does not know. It also emulates no other version, so a gate that a control plane
    turns off by emulation may be locked in it; administrators of such a cluster omit these gates on its nodes, as this
    does. Anything else that Kubernetes refuses, such as a locked gate without emulation, the kubelet refuses itself.
    Raises ``ClusterError`` for a gate of drakit's own.
    """
    gates_flag(behaviour.gates)
    known, out = _known_gates(behaviour.version, behaviour.gates)
    if behaviour.minor != minor_version(behaviour.version):
        fixed = {gate.name: gate.spec.default for gate in gates_of(behaviour.version).values() if gate.spec.locked}
        locked = [name for name, on in known.items() if fixed.get(name, on) != on]
        return {name: on for name, on in known.items() if name not in locked}, sorted([*out, *locked])
    return known, out


def _known_gates(version: str, gates: Mapping[str, bool]) -> tuple[dict[str, bool], list[str]]:
    """Return the gates that a kubelet of this version knows, and the names of the DRA gates that it does not know.

    A kubelet does not start with a gate that only a later version has ("unrecognized feature gate"). If drakit does not
    know the version's gates, all gates are returned.
    """
    at_version = gates_of(version)
    later = gates_of(NEWEST_EMULATED).keys() - at_version.keys() if at_version else ()
    unknown = sorted(name for name in gates if name in later)
    return {name: on for name, on in gates.items() if name not in unknown}, unknown
