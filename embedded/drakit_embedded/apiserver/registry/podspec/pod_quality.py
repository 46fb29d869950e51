"""The quality of service that a pod is promised, and the resources of the pod as a whole that it may follow from.

After pkg/apis/core/helper/qos/qos.go and DefaultPodLevelResources in pkg/api/pod/util.go of k8s.io/kubernetes, with the
gates of 1.37.
"""

from __future__ import annotations

from drakit_api.core.containers import LASTING, containers_of
from drakit_api.core.pod_resources import OF_PODS, is_of_pods, of_containers
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import ZERO, Quantity
from drakit_embedded.quota.amounts import parsed, texts
from drakit_embedded.quota.names import is_huge_pages
from drakit_embedded.quota.pods import has_pod_level

_GUARANTEED, _BURSTABLE, _BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


def qos_class(spec: Object) -> str:
    """Compute the QoS class: Guaranteed, Burstable or BestEffort."""
    if has_pod_level(spec):
        return _quality(spec["resources"])
    containers = containers_of(spec, LASTING)
    qualities = {_quality(container.get("resources") or {}) for container in containers}
    return qualities.pop() if len(qualities) == 1 else _BURSTABLE if qualities else _BEST_EFFORT


def _quality(resources: Object) -> str:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if not requests and not limits:
        return _BEST_EFFORT
    qualities = {_quality_of(requests.get(name, "0"), limits.get(name, "0")) for name in OF_PODS}
    return qualities.pop() if len(qualities) == 1 else _BURSTABLE


def _quality_of(request: str, limit: str) -> str:
    amount = Quantity.parse(request)
    if amount != Quantity.parse(limit):
        return _BURSTABLE
    return _GUARANTEED if amount != ZERO else _BEST_EFFORT


def complete(spec: Object) -> None:
    """Complete the pod-level resources, if there are any, from those of the containers."""
    resources: Object = spec.get("resources") or {}
    if not resources.get("requests") and not resources.get("limits"):
        return
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    needed, limited = (texts(of_containers(spec, side, parsed)) for side in ("requests", "limits"))
    pages = {name: amount for name, amount in limited.items() if is_huge_pages(name) and name not in requests}
    limits = {**pages, **limits}
    shared = {name: amount for name, amount in needed.items() if name in OF_PODS}
    requests = {**{name: amount for name, amount in limits.items() if is_of_pods(name)}, **shared, **requests}
    for name in requests:
        if is_of_pods(name) and name not in limits and _is_limited(spec, name):
            limits[name] = max(requests[name], limited[name], key=Quantity.parse)
    for side, amounts in (("requests", requests), ("limits", limits)):
        if amounts:
            resources[side] = dict(sorted(amounts.items()))


def _is_limited(spec: Object, name: str) -> bool:
    """Check whether all containers have a limit of it."""
    containers = containers_of(spec, LASTING)
    return all(name in ((container.get("resources") or {}).get("limits") or ()) for container in containers)
