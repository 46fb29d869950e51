"""What ResourceClaims count for (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/resource_claims.go).

Devices are counted by class, and in the worst case: of a prioritized list, each class counts as often as the
alternative that wants most of it, because nobody knows yet which one it will be; ``All`` counts as many as an
allocation can have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from drakit_api.core.pod_claims import controller_reference, is_for_extended
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import ZERO, Quantity
from drakit_api.typed_objects import DeviceRequest, DeviceSubRequest, ExactDeviceRequest, OwnerReference, ResourceClaim
from drakit_embedded.quota import pods
from drakit_embedded.quota.amounts import ONE, Amounts, added, highest
from drakit_embedded.quota.classes import DeviceClasses
from drakit_embedded.quota.names import DEVICE_CLASS, PER_CLASS, REQUESTS, count_of, is_extended_in_quota


class Surroundings(Protocol):
    """The other objects that a claim's usage depends on."""

    @property
    def classes(self) -> DeviceClasses | None:
        """The device classes; None where extended resources are not devices."""

    def pod(self, namespace: str, name: str) -> Object | None:
        """Find a pod; None if it does not exist."""

    def claims(self, namespace: str) -> Iterable[ResourceClaim]:
        """List the claims of a namespace that were created for extended resources of pods."""


_COUNT = count_of("resource.k8s.io", "resourceclaims")
# k8s.io/api/resource/v1 AllocationResultsMaxSize
_MOST_DEVICES = 32
_BY_CLASS = REQUESTS + DEVICE_CLASS


def matching(names: Iterable[str], around: Surroundings) -> list[str]:
    """Select the names that ResourceClaims count for."""
    return [name for name in names if name == _COUNT or name.endswith(PER_CLASS) or _is_extended(name, around.classes)]


def _is_extended(name: str, classes: DeviceClasses | None) -> bool:
    if classes is None:
        return False
    if name.startswith(_BY_CLASS) and classes.extended_resource(name.removeprefix(_BY_CLASS)):
        return True
    return is_extended_in_quota(name) and classes.has(name.removeprefix(REQUESTS))


def usage(claim: ResourceClaim, around: Surroundings) -> Amounts:
    """Compute what one claim uses."""
    used: Amounts = {_COUNT: ONE}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        used = added(used, _of_request(request))
    if around.classes is not None:
        used |= _of_extended(used, around.classes, _charged(claim, around))
    return used


def _of_request(request: DeviceRequest) -> Amounts:
    if request.get("firstAvailable"):
        worst: Amounts = {}
        for alternative in request["firstAvailable"]:
            worst = highest(worst, _devices(alternative))
        return worst
    return _devices(request["exactly"]) if request.get("exactly") else {}


def _devices(wanted: ExactDeviceRequest | DeviceSubRequest) -> Amounts:
    counts = {"ExactCount": wanted.get("count") or 0, "All": _MOST_DEVICES}
    number = counts.get(wanted.get("allocationMode", ""), 0)
    return {f"{wanted.get('deviceClassName', '')}{PER_CLASS}": Quantity.of(number)}


def _of_extended(used: Amounts, classes: DeviceClasses, by_pod: Amounts) -> Amounts:
    """Count the same devices under the names of extended resources, less what the pod has been charged for."""
    found: Amounts = {}
    for name, amount in used.items():
        device_class = name.removesuffix(PER_CLASS)
        if device_class in (name, ""):
            continue
        found[_BY_CLASS + device_class] = amount
        if extended := classes.extended_resource(device_class):
            found[REQUESTS + extended] = amount
    left = {name: amount - by_pod.get(name, ZERO) for name, amount in found.items()}
    return {name: amount for name, amount in left.items() if amount > ZERO}


def _charged(claim: ResourceClaim, around: Surroundings) -> Amounts:
    """Compute what the pod that a claim was created for is charged; nothing unless each refers to the other."""
    owner = _pod_of(claim)
    if owner is None:
        return {}
    namespace, name = claim["metadata"].get("namespace", ""), claim["metadata"].get("name", "")
    pod = around.pod(namespace, owner["name"])
    if pod is None or pod["metadata"]["uid"] != owner.get("uid"):
        return {}
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus")
    if status is not None:
        return pods.usage(pod) if status.get("resourceClaimName") == name else {}
    born = claim["metadata"].get("creationTimestamp", ""), name
    others = (other["metadata"] for other in around.claims(namespace) if _is_of(other, owner))
    if any((other.get("creationTimestamp", ""), other["name"]) < born for other in others):
        # Another, older claim of the pod is the one that was charged.
        return {}
    return pods.usage(pod)


def _pod_of(claim: ResourceClaim) -> OwnerReference | None:
    owner = controller_reference(claim)
    if owner is None or not is_for_extended(claim):
        return None
    return owner if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Pod") else None


def _is_of(claim: ResourceClaim, owner: OwnerReference) -> bool:
    found = _pod_of(claim)
    return found is not None and found.get("uid") == owner.get("uid")
