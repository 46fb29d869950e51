"""Which ResourceClaim stands behind each entry of ``pod.spec.resourceClaims``.

Scheduler, controllers and kubelet must give the same answer, or a pod would be reserved for one claim and prepared
with another. Source: ``k8s.io/dynamic-resource-allocation`` ``resourceclaim/resourceclaim.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.typed_objects import OwnerReference, ResourceClaim, ResourceClaimConsumerReference

# Ties a generated claim to the entry of the pod that it was made for (k8s.io/api/resource/v1, types.go).
POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
# Tells a claim that the scheduler made for a pod's extended resources (k8s.io/api/resource/v1, types.go).
EXTENDED_CLAIM_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
# Keeps an allocated claim from being removed (k8s.io/api/resource/v1, types.go).
CLAIM_FINALIZER = "resource.kubernetes.io/delete-protection"


class PodClaimError(Exception):
    """A pod's claim cannot be used; the message is what users see in the event."""


class ClaimNotCreated(PodClaimError):
    """The claim of a template does not exist yet."""


def claim_name(pod: Object, pod_claim: Object) -> tuple[str | None, bool]:
    """Return the claim's name, and whether the pod must own it; the name is None if the pod needs no claim here.

    Raises ``ClaimNotCreated`` before the controller has generated the claim, ``PodClaimError`` for an entry that
    names neither a claim nor a template.
    """
    if (name := pod_claim.get("resourceClaimName")) is not None:
        return name, False
    where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    if pod_claim.get("resourceClaimTemplateName") is None:
        raise PodClaimError(
            f'pod "{where}", spec.resourceClaim "{pod_claim["name"]}": none of the supported fields are set'
        )
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if status["name"] == pod_claim["name"]:
            return status.get("resourceClaimName"), True
    raise ClaimNotCreated(f'pod "{where}": ResourceClaim not created yet')


def claim_names(pod: Object) -> Iterator[str]:
    """Yield the names of a pod's claims that exist as far as it knows, and of the one for its extended resources."""
    for pod_claim in pod["spec"].get("resourceClaims") or ():
        try:
            name, _ = claim_name(pod, pod_claim)
        except PodClaimError:
            continue
        if name:
            yield name
    if name := extended_claim_name(pod):
        yield name


def extended_claim_name(pod: Object) -> str | None:
    """Return the name of the claim that the scheduler made for extended resources; None if there is none."""
    extended: Object = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
    return extended.get("resourceClaimName")


def controller_reference(obj: ReadOnlyObject) -> OwnerReference | None:
    """Return the owner reference of an object's controller; None if it has none."""
    references: list[OwnerReference] = obj["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)


def is_for_extended(claim: ReadOnlyObject) -> bool:
    """Say whether a claim was made for a pod's extended resources."""
    return bool((claim["metadata"].get("annotations") or {}).get(EXTENDED_CLAIM_ANNOTATION) == "true")


def check_owner(pod: Object, claim: ResourceClaim) -> None:
    """Raise ``PodClaimError`` unless the claim was generated for this very pod."""
    owner = controller_reference(claim)
    if owner is None or owner["uid"] != pod["metadata"]["uid"]:
        claim_key = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        pod_key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        raise PodClaimError(f"ResourceClaim {claim_key} was not created for Pod {pod_key} (Pod is not owner)")


def pod_consumer(pod: Object) -> ResourceClaimConsumerReference:
    """Return what ``status.reservedFor`` of a claim says of a pod that may use it."""
    return {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def is_reserved_for(pod: Object, claim: ResourceClaim) -> bool:
    """Say whether ``status.reservedFor`` of a claim lists the pod, by its uid."""
    uid = pod["metadata"]["uid"]
    return any(consumer["uid"] == uid for consumer in claim.get("status", {}).get("reservedFor") or ())


def is_terminal(pod: ReadOnlyObject) -> bool:
    """Say whether the pod has run to its end: phase Succeeded or Failed."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
