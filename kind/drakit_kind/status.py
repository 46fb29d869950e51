"""What ``drakit cluster status`` prints: the few figures that tell whether a cluster is what one expects."""

from __future__ import annotations

from collections import Counter

from drakit_client.connection import Object
from drakit_client.resources import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.api import Api
from drakit_kind.cluster import COMPONENTS, ClusterSpec, minor_version
from drakit_kind.conditions import is_ready
from drakit_kind.local import LocalCluster


def summary(cluster: LocalCluster) -> str:
    """Several lines of text; asks the API server, so it also shows that it answers."""
    with Api(cluster.kubeconfig, namespace="") as api:
        serves = api.version()
        nodes = api.objects(NODES)
        slices = api.objects(RESOURCE_SLICES)
        claims = api.objects(RESOURCE_CLAIMS)
        phases = Counter(pod.get("status", {}).get("phase", "Pending") for pod in api.objects(PODS))
    ready = sum(is_ready(node) for node in nodes)
    allocated = sum("allocation" in claim.get("status", {}) for claim in claims)
    lines = [
        f"cluster {cluster.spec.name}: running at {cluster.url}, Kubernetes {_versions(serves, cluster.spec)}",
        f"nodes: {ready} of {len(nodes)} ready",
        *(_devices_line(driver, slices) for driver in sorted({item["spec"]["driver"] for item in slices})),
        f"claims: {allocated} of {len(claims)} allocated",
        "pods: " + (", ".join(f"{count} {phase}" for phase, count in sorted(phases.items())) or "none"),
        f"kubeconfig: {cluster.kubeconfig}",
    ]
    return "\n".join(lines)


def _devices_line(driver: str, slices: list[Object]) -> str:
    mine = [item["spec"] for item in slices if item["spec"]["driver"] == driver]
    pools = {spec["pool"]["name"] for spec in mine}
    devices = sum(len(spec.get("devices") or []) for spec in mine)
    return f"driver {driver}: {len(pools)} pools, {len(mine)} slices, {devices} devices"


def _versions(serves: str, spec: ClusterSpec) -> str:
    """As ``1.37`` where all is ours, and as ``1.36 (started as 1.37.1; Kubernetes' own: apiserver, controllers)``.

    Which one the API server behaves like, it ``serves``: it may have been restarted as another one.
    """
    real = [component for component in COMPONENTS if component in spec.real]
    notes = []
    if real or serves != minor_version(spec.version):
        emulated = f", emulating {spec.emulated_version}" if spec.emulated_version else ""
        notes = [f"started as {spec.version}{emulated}"]
    if real:
        notes.append(f"Kubernetes' own: {', '.join(real)}")
    return f"{serves} ({'; '.join(notes)})" if notes else serves
