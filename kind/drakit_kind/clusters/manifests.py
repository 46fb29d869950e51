"""The objects that stories and the demo create: claims, pods and deployments in their shortest complete form.

What a test is about stands in its call; what Kubernetes wants besides stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drakit_api.kubernetes_objects import Object

API_VERSION = "resource.k8s.io/v1"
IMAGE = "busybox:1.36"
# The container shows what it was given, then stays. A simulated kubelet shows the same without running it.
COMMAND = ("sh", "-c", "env | sort; exec sleep 1000000")


def request(name: str, device_class: str, *expressions: str, **fields: Any) -> Object:
    """Make a request for exactly one device (or ``count=``, ``allocationMode=``, ``tolerations=`` ...)."""
    return {"name": name, "exactly": {"deviceClassName": device_class, **_selectors(expressions), **fields}}


def subrequest(name: str, device_class: str, *expressions: str, **fields: Any) -> Object:
    """Make one alternative of a prioritized list; see ``first_available``."""
    return {"name": name, "deviceClassName": device_class, **_selectors(expressions), **fields}


def first_available(name: str, *subrequests: Object) -> Object:
    """Make a request with a prioritized list (KEP-4816): the first subrequest that fits is allocated."""
    return {"name": name, "firstAvailable": list(subrequests)}


def _selectors(expressions: Sequence[str]) -> Object:
    return {"selectors": [{"cel": {"expression": text}} for text in expressions]} if expressions else {}


def claim(name: str, *requests: Object, match_attribute: str | None = None, **devices: Any) -> Object:
    """Make a ResourceClaim; all its devices must have one value of ``match_attribute``. ``devices``: more fields."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": _claim_spec(requests, match_attribute, devices),
    }


def claim_template(name: str, *requests: Object, match_attribute: str | None = None, **devices: Any) -> Object:
    """Make a ResourceClaimTemplate: each pod that refers to it gets a claim of its own."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": _claim_spec(requests, match_attribute, devices)},
    }


def _claim_spec(requests: Sequence[Object], match_attribute: str | None, devices: Mapping[str, Any]) -> Object:
    spec: Object = {"requests": list(requests), **devices}
    if match_attribute is not None:
        spec["constraints"] = [{"requests": [], "matchAttribute": match_attribute}]
    return {"devices": spec}


def device_class(name: str, *expressions: str) -> Object:
    """Make a DeviceClass of the devices for which all expressions are true."""
    return {
        "apiVersion": API_VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": _selectors(expressions),
    }


def pod_spec(claim: str | None = None, *, template: str | None = None, **fields: Any) -> Object:
    """Make a pod's spec: one container that uses a claim, by name or from a template, or none; plus ``fields``.

    Deleted, the pod is there until its kubelet has ended it and given its devices back. Without any grace (0) the API
    server would forget it at once, and its claim could go to another pod while its devices are still prepared.
    """
    container: Object = {"name": "main", "image": IMAGE, "command": list(COMMAND)}
    spec: Object = {"containers": [container], "terminationGracePeriodSeconds": 1, **fields}
    if claim is not None or template is not None:
        source = {"resourceClaimName": claim} if claim is not None else {"resourceClaimTemplateName": template}
        spec["resourceClaims"] = [{"name": "device", **source}]
        container["resources"] = {"claims": [{"name": "device"}]}
    return spec


def pod(
    name: str,
    claim: str | None = None,
    *,
    template: str | None = None,
    labels: Mapping[str, str] | None = None,
    **fields: Any,
) -> Object:
    """Make a pod with the spec that ``pod_spec`` makes of the same arguments."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **({"labels": dict(labels)} if labels else {})},
        "spec": pod_spec(claim, template=template, **fields),
    }


def deployment(name: str, claim: str | None = None, *, template: str | None = None, replicas: int = 1) -> Object:
    """Make a Deployment, each pod on a node of its own: one for each host of a multi-host device (KEP-4815)."""
    labels = {"app": name}
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(claim, template=template, affinity=affinity)},
        },
    }
