"""Which of the components that acted are Kubernetes' own, by what each of them leaves behind and ours do not.

What was asked for says nothing of it: a cluster that ignored it would tell the same story.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import CONFIG_MAPS, EVENTS, NODES, PODS, RESOURCE_CLAIMS
from drakit_kind.cluster import Component
from drakit_kind.clusters.api import Api

_GO = "gc"
_ROOT_CA = "kube-root-ca.crt"


def real_ones(kubeconfig: Path, api: Api, *, pod: str, claim: str) -> frozenset[Component]:
    """Of those that brought a pod with a claim to its node. Raises ``AssertionError`` where traces are at odds."""
    return frozenset(_real_ones(kubeconfig, api, pod, claim))


def _real_ones(kubeconfig: Path, api: Api, pod: str, claim: str) -> Iterator[Component]:
    if asyncio.run(_version(kubeconfig))["compiler"] == _GO:
        yield "apiserver"
    if "kube-controller-manager" in _managers(api.wait(CONFIG_MAPS, _ROOT_CA), "f:data"):
        yield "controllers"
    if _is_kube_scheduler(api, pod, claim):
        yield "scheduler"
    node = api.get(NODES, api.get(PODS, pod)["spec"]["nodeName"])
    if node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://"):
        yield "kubelet"


async def _version(kubeconfig: Path) -> Object:
    async with await Connection.from_kubeconfig(kubeconfig) as connection:
        told: Object = json.loads(await connection.request("GET", "/version"))
        return told


def _is_kube_scheduler(api: Api, pod: str, claim: str) -> bool:
    """Its events name the host that it runs on (client-go's ``tools/events``)."""
    api.wait_event(pod, "Scheduled")
    (event,) = api.objects(EVENTS, field_selector=f"involvedObject.name={pod},reason=Scheduled")
    real = (event.get("reportingInstance") or "").startswith("default-scheduler-")
    # A real API server also notes who wrote which field.
    expected = "kube-scheduler" if real else "drakit-scheduler"
    assert allocated_by(api.get(RESOURCE_CLAIMS, claim)) <= {expected}
    return real


def allocated_by(claim: Object) -> set[str]:
    """Who wrote the allocation into a claim's status; nobody where the API server takes no notes."""
    return _managers(claim, "f:status", "f:allocation")


def _managers(obj: Object, *field: str) -> set[str]:
    """Who owns a field, by its path in ``metadata.managedFields``."""
    return {entry["manager"] for entry in obj["metadata"].get("managedFields") or [] if _has(entry["fieldsV1"], field)}


def _has(fields: Object, path: tuple[str, ...]) -> bool:
    for name in path:
        if name not in fields:
            return False
        fields = fields[name]
    return True
