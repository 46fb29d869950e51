"""What ``drakit cluster status`` prints: the few figures that tell whether a cluster is what one expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from drakit_api.core.conditions import is_ready
from drakit_api.kubernetes_objects import Object
from drakit_client.processes.counts import counted
from drakit_client.resources import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.cli.cluster.endings import lines as lines_of_endings
from drakit_kind.cluster import COMPONENTS, ClusterSpec, Component, minor_version
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.flags import Behaviour, gates_text
from drakit_kind.local.backend import LocalCluster
from drakit_kind.processes.supervision import Ending, endings

Status = Mapping[str, Any]


def status(cluster: LocalCluster) -> Status:
    """Return the figures as an object, the one of ``-o json``.

    It asks the API server and the cluster's process, so it also shows that they answer.
    """
    with Api(cluster.kubeconfig, namespace="") as api:
        serves = api.version()
        nodes = api.objects(NODES)
        slices = api.objects(RESOURCE_SLICES)
        claims = api.objects(RESOURCE_CLAIMS)
        phases = Counter(pod.get("status", {}).get("phase", "Pending") for pod in api.objects(PODS))
    behaviours = cluster.behaviours()
    return {
        "name": cluster.spec.name,
        "state": "running",
        "url": cluster.url,
        "serves": serves,
        "startedAs": {"version": cluster.spec.version, **_behaviour(cluster.spec.emulated_version, cluster.spec.gates)},
        "components": {
            name: {
                "real": name in cluster.spec.real,
                "version": behaviours[name].version,
                **_behaviour(behaviours[name].emulated_version, behaviours[name].gates),
            }
            for name in COMPONENTS
            if name in behaviours
        },
        "nodes": {"ready": sum(is_ready(node) for node in nodes), "total": len(nodes)},
        "drivers": [_driver(driver, slices) for driver in sorted({item["spec"]["driver"] for item in slices})],
        "claims": {
            "allocated": sum("allocation" in claim.get("status", {}) for claim in claims),
            "total": len(claims),
        },
        "pods": dict(sorted(phases.items())),
        "endings": [msgspec.to_builtins(ending) for ending in endings(cluster.home.endings)],
        "kubeconfig": str(cluster.kubeconfig),
    }


def _behaviour(emulated_version: str | None, gates: Mapping[str, bool]) -> dict[str, Any]:
    return {"emulatedVersion": emulated_version, "featureGates": dict(gates)}


def _driver(driver: str, slices: list[Object]) -> dict[str, Any]:
    mine = [item["spec"] for item in slices if item["spec"]["driver"] == driver]
    return {
        "name": driver,
        "pools": len({spec["pool"]["name"] for spec in mine}),
        "slices": len(mine),
        "devices": sum(len(spec.get("devices") or []) for spec in mine),
    }


def summary(cluster: LocalCluster) -> str:
    """Write the status as several lines of text."""
    seen = status(cluster)
    lines = [
        f"cluster {seen['name']}: running at {seen['url']}, Kubernetes {_versions(seen['serves'], cluster.spec)}",
        f"feature gates: {_gates(cluster.spec.gates)}",
        *(f"  {line}" for line in _changed(seen["components"], cluster.spec)),
        f"nodes: {seen['nodes']['ready']} of {seen['nodes']['total']} ready",
        *(f"driver {each['name']}: {_published(each)}" for each in seen["drivers"]),
        f"claims: {seen['claims']['allocated']} of {seen['claims']['total']} allocated",
        "pods: " + (", ".join(f"{count} {phase}" for phase, count in seen["pods"].items()) or "none"),
        *lines_of_endings(Ending(**each) for each in seen["endings"]),
        f"kubeconfig: {seen['kubeconfig']}",
    ]
    return "\n".join(lines)


def _published(driver: Mapping[str, Any]) -> str:
    return ", ".join(counted(driver[f"{noun}s"], noun) for noun in ("pool", "slice", "device"))


def _changed(components: Mapping[Component, Any], spec: ClusterSpec) -> Iterator[str]:
    """Yield a line for each component that was restarted as something else than the cluster was started as."""
    for name, now in components.items():
        started = Behaviour.of(spec, name)
        if (now["version"], now["emulatedVersion"], now["featureGates"]) != (
            started.version,
            started.emulated_version,
            dict(started.gates),
        ):
            emulated = f", emulating {now['emulatedVersion']}" if now["emulatedVersion"] else ""
            yield f"{name} was restarted as {now['version']}{emulated}: {_gates(now['featureGates'])}"


def _gates(gates: Mapping[str, bool]) -> str:
    return gates_text(gates) or "all as by default"


def _versions(serves: str, spec: ClusterSpec) -> str:
    """As ``1.37`` where all is ours, and as ``1.36 (started as 1.37.1; Kubernetes' own: apiserver, controllers)``.

    ``serves`` is the version that the API server behaves like: it may have been restarted as another one.
    """
    real = [component for component in COMPONENTS if component in spec.real]
    notes = []
    if real or serves != minor_version(spec.version):
        emulated = f", emulating {spec.emulated_version}" if spec.emulated_version else ""
        notes = [f"started as {spec.version}{emulated}"]
    if real:
        notes.append(f"Kubernetes' own: {', '.join(real)}")
    return f"{serves} ({'; '.join(notes)})" if notes else serves
