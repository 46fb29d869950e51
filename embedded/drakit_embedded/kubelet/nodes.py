"""Node objects as a kubelet registers them, and the leases that say that it is alive."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drakit_api import formats
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import AlreadyExists, NotFound
from drakit_client.resources import LEASES, NODES
from drakit_embedded.kubelet.pod_run import NODE_IP
from drakit_embedded.kubelet.release import Release

LEASE_NAMESPACE = "kube-node-lease"

_CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node to simulate. ``capacity`` replaces entries of the default one; allocatable is the same."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        # A node's name becomes a directory, so this check is also what keeps untrusted names inside the root.
        if formats.dns_subdomain(self.name):
            raise ValueError(
                f"node name {self.name!r}: write lower case letters, digits, '-' and '.', at most 253 of them, "
                "with a letter or digit at the start, at the end and beside each dot"
            )


def node_object(spec: NodeSpec, port: int, release: Release) -> Object:
    """Build the Node as it is registered, status included; ``port`` serves the logs."""
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    labels = {
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": architecture,
        **spec.labels,
    }
    node: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": spec.name, "labels": labels},
        "spec": {"taints": [dict(taint) for taint in spec.taints]} if spec.taints else {},
    }
    capacity = {**_CAPACITY, **spec.capacity}
    node["status"] = {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": _conditions(),
        "addresses": [{"type": "InternalIP", "address": NODE_IP}, {"type": "Hostname", "address": spec.name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": _info(spec.name, architecture, release.version),
        "declaredFeatures": release.declared_features,
    }
    return node


def _info(name: str, architecture: str, version: str) -> Object:
    # The same at each start, as on a real machine.
    machine = uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.drakit.dev")
    return {
        "machineID": machine.hex,
        "systemUUID": str(machine),
        "bootID": str(machine),
        "kernelVersion": platform.release(),
        "osImage": "drakit simulated node",
        "containerRuntimeVersion": "drakit://0",
        "kubeletVersion": f"v{version}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": architecture,
    }


def _conditions() -> list[Object]:
    now = gotime.now()
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}

    def condition(kind: str, status: str, reason: str, message: str) -> Object:
        return {"type": kind, "status": status, "reason": reason, "message": message, **times}

    return [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]


async def register(connection: Connection, spec: NodeSpec, port: int, release: Release) -> Object:
    """Create the Node, or bring an existing one up to date; the Node as stored."""
    node = node_object(spec, port, release)
    try:
        return await connection.create(NODES, node)
    except AlreadyExists:
        await connection.patch(NODES, spec.name, {"metadata": {"labels": node["metadata"]["labels"]}})
        body = {"status": node["status"]}
        return await connection.patch(NODES, spec.name, body, patch_type="strategic-merge", subresource="status")


async def renew_lease(connection: Connection, node: Object, seconds: int) -> None:
    """Renew the node's lease, or create it if there is none."""
    name = node["metadata"]["name"]
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": seconds,
        "renewTime": gotime.now(micro=True),
    }
    try:
        await connection.patch(LEASES, name, {"spec": spec}, LEASE_NAMESPACE)
    except NotFound:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        lease = {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec}
        await connection.create(LEASES, lease, LEASE_NAMESPACE)
