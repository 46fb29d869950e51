"""Extended resources that devices stand behind: a pod requests ``example.com/gpu: 2`` and has no claim (KEP-5004).

A DeviceClass backs a resource by its ``extendedResourceName``, and always ``deviceclass.resource.kubernetes.io/NAME``.
kube-scheduler makes one claim for all such requests of a pod that the node does not offer by a device plugin.

Sources: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go`` and
k8s.io/dynamic-resource-allocation ``deviceclass/extendedresourcecache``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drakit_allocator.scheduler.nodes import resources
from drakit_api.core.containers import is_sidecar
from drakit_api.core.pod_claims import EXTENDED_CLAIM_ANNOTATION, controller_reference, is_for_extended
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.typed_objects import ObjectMeta

GATE = "DRAExtendedResource"
CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"


def requested(spec: ReadOnlyObject) -> dict[str, int]:
    """Return the extended resources that a pod requests, with their amounts."""
    return {name: amount for name, amount in resources.pod_requests(spec).items() if _is_extended(name)}


def _is_extended(name: str) -> bool:
    if name.startswith(CLASS_PREFIX):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def class_of(resource: str, classes: Iterable[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the DeviceClass that backs a resource: of several the newest, then the first by name; None if none."""
    found = [
        one
        for one in classes
        if CLASS_PREFIX + one["metadata"]["name"] == resource or one["spec"].get("extendedResourceName") == resource
    ]
    newest = max((_created(one) for one in found), default="")
    return min((one for one in found if _created(one) == newest), key=_name, default=None)


def _created(device_class: ReadOnlyObject) -> str:
    return str(device_class["metadata"].get("creationTimestamp") or "")


def _name(obj: ReadOnlyObject) -> str:
    return str(obj["metadata"]["name"])


def claim_of(pod: ReadOnlyObject, claims: Iterable[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the claim that a scheduler has made for the pod's extended resources; None if there is none."""
    uid = pod["metadata"].get("uid")
    for claim in claims:
        owner = controller_reference(claim)
        if owner is not None and owner.get("uid") == uid and is_for_extended(claim):
            return claim
    return None


def claim_for(pod: ReadOnlyObject, backed: Mapping[str, str]) -> dict[str, Any]:
    """Make the claim that kube-scheduler makes for a pod; ``backed`` has the class of each resource that it is for.

    It has a name of its own, which in a cluster ends with five random letters.
    """
    requests = [request for resource in sorted(backed) for request in _requests(pod, resource, backed[resource])]
    metadata: ObjectMeta = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata.get("uid", "")}
    return {
        "metadata": {
            "name": f"{metadata['name']}-extended-resources",
            "namespace": metadata.get("namespace", ""),
            "annotations": {EXTENDED_CLAIM_ANNOTATION: "true"},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"devices": {"requests": sorted(requests, key=lambda request: str(request["name"]))}},
    }


def _requests(pod: ReadOnlyObject, resource: str, device_class: str) -> list[dict[str, Any]]:
    """List the requests for a resource. What runs at once needs devices of its own; init containers may reuse them."""
    spec = pod["spec"]
    init = spec.get("initContainers") or []
    containers = [*init, *(spec.get("containers") or [])]
    passing = [number for number, one in enumerate(init) if not is_sidecar(one)]
    lasting = {
        number: request
        for number, container in enumerate(containers)
        if number not in passing and (request := _request(number, container, resource, device_class, ()))
    }
    most: dict[str, Any] | None = None
    for number in passing:
        reusable = [request for later, request in lasting.items() if later >= number]
        request = _request(number, containers[number], resource, device_class, reusable)
        if request is not None and (most is None or request["exactly"]["count"] > most["exactly"]["count"]):
            most = request
    return [*([most] if most is not None else []), *lasting.values()]


def _request(
    number: int, container: ReadOnlyObject, resource: str, device_class: str, reusable: Sequence[ReadOnlyObject]
) -> dict[str, Any] | None:
    """Make the request for what a container needs beside the devices that it can reuse; None if it needs none."""
    wanted = (container.get("resources") or {}).get("requests") or {}
    if resource not in wanted:
        return None
    count = resources.amount(resource, str(wanted[resource])) - sum(one["exactly"]["count"] for one in reusable)
    if count <= 0:
        return None
    return {
        "name": f"container-{number}-request-{sorted(wanted).index(resource)}",
        "exactly": {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count},
    }
