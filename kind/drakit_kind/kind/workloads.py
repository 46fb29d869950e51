"""Drivers and scheduler as pods: what ``driver/deploy`` and ``allocator/deploy`` say, for one test.

Rights, security settings, mounts and probes have one place, the manifests that users apply. A test's driver is one of
them with another name, profile, image, and nodes of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import drakit_allocator
import drakit_driver
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import BY_KIND, Resource
from drakit_kind.cluster import DriverSpec
from drakit_kind.clusters.flags import gates_text
from drakit_kind.processes.drivers import driver_name, pools_of

NAMESPACE = "drakit-system"
NAME_LABEL = "app.kubernetes.io/name"
_RBAC, _ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
# The resources of all kinds of object in the manifests.
RESOURCES = BY_KIND | {
    resource.kind: resource
    for resource in (
        Resource(_RBAC, "v1", "roles", "Role"),
        Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
        Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
        Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        Resource(_ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False),
        Resource(
            _ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
        ),
    )
}
_LAYOUT_DIRECTORY = "/etc/drakit-layout"
_LAYOUT_FILE = "layout.yaml"


def access() -> list[Object]:
    """Return the objects that all drivers need: namespace, identity, rights and admission policy."""
    return _documents(drakit_driver, "00-access.yaml")


def scheduler(image: str, *, name: str, gates: Mapping[str, bool], emulated_version: str) -> list[Object]:
    """Make the objects of drakit's scheduler, for pods whose ``schedulerName`` is ``name``."""
    objects = _documents(drakit_allocator, "scheduler.yaml")
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    container = _container(deployment, image)
    container["args"][container["args"].index("--scheduler-name") + 1] = name
    container["args"] += ["--emulated-version", emulated_version, *_gates(gates)]
    return objects


def driver(spec: DriverSpec, image: str) -> list[Object]:
    """Make the objects of one driver instance: a DaemonSet on its nodes, and a publisher for multi-host devices."""
    instance = instance_name(spec)
    if all(pool.node_name is not None for pool in pools_of(spec)):
        (plugin,) = _documents(drakit_driver, "20-gpu.yaml")
        workloads, shared, nodes = [plugin], [], []
    else:
        objects = _documents(drakit_driver, "tpu/tpu-v6e-4x4.yaml")
        workloads = [item for item in objects if item["kind"] in ("Deployment", "DaemonSet")]
        shared = [item for item in objects if item not in workloads and item["kind"] != "DeviceClass"]
        nodes = [word for node in spec.nodes for word in ("--node", node)]
    for workload in workloads:
        _rename(workload, instance + ("-publisher" if workload["kind"] == "Deployment" else ""))
        container = _container(workload, image)
        container["args"] = _arguments(container["args"], spec, nodes)
        if workload["kind"] == "DaemonSet":
            workload["spec"]["template"]["spec"]["affinity"] = _on(spec.nodes)
    if spec.layout is None:
        return [*shared, *workloads]
    for workload in workloads:
        _mount_layout(workload, instance)
    layout = {"name": instance, "namespace": NAMESPACE}
    data = {_LAYOUT_FILE: Path(spec.layout).read_text()}
    return [*shared, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": layout, "data": data}, *workloads]


def instance_name(spec: DriverSpec) -> str:
    """Name the objects of a driver instance: short, and different for different specs of one driver."""
    name = re.sub(r"[^a-z0-9]+", "-", driver_name(spec).lower()).strip("-")[:36]
    return f"drakit-{name}-{hashlib.sha256(repr(spec).encode()).hexdigest()[:6]}"


def _documents(package: Any, path: str) -> list[Object]:
    """Read the manifests of a component, from its package or beside it in a source tree."""
    directory = Path(package.__file__).parent
    file = next(folder / "deploy" / path for folder in (directory, directory.parent) if (folder / "deploy").is_dir())
    return list(yaml.safe_load_all(file.read_text()))


def _container(workload: Object, image: str) -> Object:
    container: Object
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    container["image"] = image
    return container


def _rename(workload: Object, name: str) -> None:
    labels = {NAME_LABEL: name}
    workload["metadata"] |= {"name": name, "labels": dict(labels)}
    workload["spec"]["selector"] = {"matchLabels": dict(labels)}
    workload["spec"]["template"]["metadata"] = {"labels": dict(labels)}


def _arguments(arguments: Sequence[str], spec: DriverSpec, nodes: Sequence[str]) -> list[str]:
    """Change the manifest's command line to the profile, the nodes and the options of a spec."""
    command, rest = list(arguments[:2]), list(arguments[3:])
    while "--node" in rest:
        index = rest.index("--node")
        del rest[index : index + 2]
    layout = [f"{_LAYOUT_DIRECTORY}/{_LAYOUT_FILE}"] if spec.layout else []
    options = ["--driver-name", spec.name] if spec.name else []
    options += ["--gpus", str(spec.gpus)] if spec.gpus else []
    options += ["--plugin-versions", ",".join(spec.plugin_versions)] if spec.plugin_versions else []
    return [*command, spec.profile, *layout, *nodes, *rest, *options, *_gates(spec.gates), "--cleanup"]


def _gates(gates: Mapping[str, bool]) -> list[str]:
    return ["--feature-gates", gates_text(gates)] if gates else []


def _on(nodes: Sequence[str]) -> Object:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _mount_layout(workload: Object, config_map: str) -> None:
    spec = workload["spec"]["template"]["spec"]
    spec.setdefault("volumes", []).append({"name": "layout", "configMap": {"name": config_map}})
    mount = {"name": "layout", "mountPath": _LAYOUT_DIRECTORY, "readOnly": True}
    spec["containers"][0].setdefault("volumeMounts", []).append(mount)
