"""Claims generated from ResourceClaimTemplates, one for each entry of a pod that names a template.

The other half of the resource claim controller: what makes claims. Names, annotation, owner and messages are those of
k8s.io/kubernetes/pkg/controller/resourceclaim/controller.go (syncPod, handleClaim).
"""

from __future__ import annotations

from dataclasses import dataclass

from drakit_api.core.pod_claims import POD_CLAIM_ANNOTATION, ClaimNotCreated, PodClaimError, check_owner, claim_name
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta, OwnerReference, ResourceClaim, as_claim
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from drakit_client.resources import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from drakit_embedded.controllers.informers import Created, Informers
from drakit_embedded.controllers.ownership import controller_uid

# Leaves room for the hyphen and the five random characters of a name of 63 characters.
_LONGEST_BASE = 57


@dataclass(frozen=True, slots=True)
class ClaimFeatures:
    """The feature gates that decide which templates become claims."""

    admin_access: bool = True
    prioritized_list: bool = True


class ClaimTemplates:
    """Creates the claims that a pod needs and writes their names into the pod's status."""

    def __init__(self, informers: Informers, features: ClaimFeatures, connection: Connection) -> None:
        self._connection = connection
        self._features = features
        self._claims = informers.reflector(RESOURCE_CLAIMS)
        self._templates = informers.reflector(RESOURCE_CLAIM_TEMPLATES)
        self._by_owner = informers.index(RESOURCE_CLAIMS, controller_uid)
        self._created = Created(self._claims)

    async def generate(self, pod: Object) -> Object:
        """Create missing claims; returns the pod with its new ``resourceClaimStatuses``.

        Raises ``PodClaimError`` with the words of the FailedResourceClaimCreation event.
        """
        fresh: dict[str, str] = {}
        for pod_claim in pod["spec"].get("resourceClaims") or ():
            try:
                name = await self._claim_for(pod, pod_claim)
            except PodClaimError as error:
                raise PodClaimError(f"PodResourceClaim {pod_claim['name']}: {error}") from error
            if name is not None:
                fresh[pod_claim["name"]] = name
        if not fresh:
            return pod
        metadata: ObjectMeta = pod["metadata"]
        statuses = pod.get("status", {}).get("resourceClaimStatuses") or ()
        merged = {s["name"]: s["resourceClaimName"] for s in statuses if s.get("resourceClaimName")} | fresh
        patch = {
            "metadata": {"uid": metadata["uid"]},
            "status": {
                "resourceClaimStatuses": [{"name": key, "resourceClaimName": merged[key]} for key in sorted(merged)]
            },
        }
        return await self._connection.patch(
            PODS, metadata["name"], patch, metadata["namespace"], patch_type="strategic-merge", subresource="status"
        )

    async def _claim_for(self, pod: Object, pod_claim: Object) -> str | None:
        """Name of a claim that the pod's status does not have yet, or None if there is nothing to do."""
        try:
            name, must_own = claim_name(pod, pod_claim)
        except ClaimNotCreated:
            pass
        else:
            if name is None or await self._exists(pod, name, must_own):
                return None
        template_name = pod_claim.get("resourceClaimTemplateName")
        if template_name is None:
            return None
        claim = self._orphan(pod, pod_claim)
        if claim is None:
            template = self._templates.get(template_name, pod["metadata"]["namespace"])
            if template is None:
                # The quotes are those of the lister's NotFound error, which upstream wraps.
                raise PodClaimError(
                    f'resource claim template "{template_name}": '
                    f'resourceclaimtemplate.resource.k8s.io "{template_name}" not found'
                )
            self._check_features(template)
            claim = await self._create(claim_from_template(pod, pod_claim["name"], template), pod)
        return claim["metadata"]["name"]

    async def _create(self, body: ResourceClaim, pod: Object) -> ResourceClaim:
        """Create a claim for a pod; ``PodClaimError`` if the API server refuses it (a quota, say, or a gate)."""
        try:
            claim = await self._connection.create(RESOURCE_CLAIMS, body, pod["metadata"]["namespace"])
        except ApiError as error:
            # Upstream names the claim here, which has no name before it is created.
            raise PodClaimError(f"create ResourceClaim : {error}") from error
        self._created.add(claim)
        return as_claim(claim)

    async def _exists(self, pod: Object, name: str, must_own: bool) -> bool:
        """Check whether the claim exists and, if the pod ``must_own`` it, is the pod's; else it is created anew."""
        namespace = pod["metadata"]["namespace"]
        claim: Object | None = self._claims.get(name, namespace) or self._created.get((namespace, name))
        if claim is None:
            try:
                claim = await self._connection.get(RESOURCE_CLAIMS, name, namespace)
            except NotFound:
                return False
        if must_own:
            try:
                check_owner(pod, as_claim(claim))
            except PodClaimError:
                return False
        return True

    def _orphan(self, pod: Object, pod_claim: Object) -> ResourceClaim | None:
        """Find a claim that was created for this entry before its name could be written into the pod's status."""
        uid = pod["metadata"]["uid"]
        ours = [as_claim(claim) for claim in self._created.pending() if uid in controller_uid(claim)]
        claims: list[ResourceClaim] = [*self._by_owner.get(uid), *ours]
        for claim in claims:
            annotations = claim["metadata"].get("annotations") or {}
            if annotations.get(POD_CLAIM_ANNOTATION) == pod_claim["name"]:
                return claim
        return None

    def _check_features(self, template: Object) -> None:
        requests = template["spec"]["spec"].get("devices", {}).get("requests") or ()
        if not self._features.admin_access and any((r.get("exactly") or {}).get("adminAccess") for r in requests):
            raise PodClaimError("admin access is requested, but the feature is disabled")
        if not self._features.prioritized_list and any(r.get("firstAvailable") for r in requests):
            raise PodClaimError("template includes a prioritized list of subrequests, but the feature is disabled")


def claim_from_template(pod: Object, pod_claim_name: str, template: Object) -> ResourceClaim:
    """Build the claim for one entry of a pod; the server completes its name."""
    metadata = template["spec"].get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), POD_CLAIM_ANNOTATION: pod_claim_name}
    owner: OwnerReference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
        "controller": True,
    }
    claim: ResourceClaim = {
        "metadata": {
            "generateName": _base_name(pod["metadata"]["name"], pod_claim_name),
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": template["spec"]["spec"],
    }
    if labels := metadata.get("labels"):
        claim["metadata"]["labels"] = labels
    return claim


def _base_name(pod_name: str, pod_claim_name: str) -> str:
    """Build the base of a claim's name; long names are cut in proportion, so that something of both remains."""
    base = f"{pod_name}-{pod_claim_name}-"
    if len(base) <= _LONGEST_BASE:
        return base
    pod_part = pod_name[: len(pod_name) * _LONGEST_BASE // len(base)]
    return f"{pod_part}-{pod_claim_name[: len(pod_claim_name) * _LONGEST_BASE // len(base)]}"
