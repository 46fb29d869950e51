"""The claims of a pod: which objects they are, and whether they allow the pod to be scheduled at all.

Everything here is independent of nodes. What it finds wrong holds until the claim, the class or the pod changes, so the
pod waits for exactly that.

Sources: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (PreEnqueue, PreFilter) and
k8s.io/dynamic-resource-allocation ``resourceclaim/resourceclaim.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from drakit_allocator.scheduler import claims
from drakit_allocator.scheduler.diagnosis import Unschedulable
from drakit_allocator.scheduler.nodes.filters import DYNAMIC_RESOURCES
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.core.node_selectors import NodeSelector, node_selector
from drakit_api.core.pod_claims import PodClaimError, check_owner, claim_name
from drakit_api.features import FeatureGates
from drakit_api.typed_objects import ResourceClaim


class ClaimsNotReady(Exception):
    """A claim of the pod does not exist yet, or is not for this pod; the message is upstream's."""


@dataclass(slots=True)
class PodClaims:
    """The claims of one pod in the order of ``spec.resourceClaims``."""

    all: list[ResourceClaim]
    to_allocate: list[ResourceClaim] = field(default_factory=list)
    # Allocated claims with the nodes on which they can be used; None means on all.
    allocated: list[tuple[ResourceClaim, NodeSelector | None]] = field(default_factory=list)


def names(pod: PodInfo) -> list[tuple[str, bool]]:
    """List (claim name, generated for the pod) of each claim. Raises ``ClaimsNotReady`` while one is not generated."""
    try:
        found = [claim_name(pod.obj, reference) for reference in pod.spec.get("resourceClaims") or ()]
    except PodClaimError as error:
        raise ClaimsNotReady(str(error)) from None
    # Without a name the claim was intentionally not created and can be ignored.
    return [(name, generated) for name, generated in found if name is not None]


def find(pod: PodInfo, get: Callable[[claims.Key], ResourceClaim | None]) -> list[ResourceClaim]:
    """Find the claim objects of a pod. Raises ``ClaimsNotReady``."""
    found = []
    for name, generated in names(pod):
        claim = get((pod.namespace, name))
        if claim is None:
            raise ClaimsNotReady(f'could not find v1.ResourceClaim "{pod.namespace}/{name}"')
        if "deletionTimestamp" in claim["metadata"]:
            raise ClaimsNotReady(f'resourceclaim "{name}" is being deleted')
        if generated:
            _check_owner(pod, claim)
        found.append(claim)
    return found


def _check_owner(pod: PodInfo, claim: ResourceClaim) -> None:
    try:
        check_owner(pod.obj, claim)
    except PodClaimError as error:
        raise ClaimsNotReady(str(error)) from None


class Objection(Protocol):
    """Says why a pod with these claims has to wait whatever the nodes have, or nothing; see ``leadership.fence``."""

    def __call__(self, pod_uid: str, pod_claims: list[ResourceClaim], *, allocates: bool) -> str:
        """Return why the pod has to wait; empty if it need not."""


def no_objection(pod_uid: str, pod_claims: list[ResourceClaim], *, allocates: bool) -> str:
    """Let every pod go on."""
    return ""


class Requirements:
    """Checks the claims of a pod before any node is looked at."""

    def __init__(
        self, known: claims.Claims, classes: Mapping[str, Any], gates: FeatureGates, objection: Objection = no_objection
    ) -> None:
        self._objection = objection
        self._known = known
        self._classes = classes
        self._prioritized_list = gates.enabled("DRAPrioritizedList")

    def check(self, pod: PodInfo) -> PodClaims | None:
        """Find the pod's claims; None when it has none. Raises ``Unschedulable``."""
        if not pod.spec.get("resourceClaims"):
            self._object(pod, PodClaims([]))
            return None
        try:
            found = find(pod, self._known.get)
        except ClaimsNotReady as reason:
            raise Unschedulable(str(reason), [DYNAMIC_RESOURCES]) from None
        pod_claims = PodClaims(found)
        for claim in found:
            self._check_claim(pod, claim, pod_claims)
        self._object(pod, pod_claims)
        return pod_claims if found else None

    def _object(self, pod: PodInfo, pod_claims: PodClaims) -> None:
        if why := self._objection(pod.uid, pod_claims.all, allocates=bool(pod_claims.to_allocate)):
            raise _unschedulable(why)

    def _check_claim(self, pod: PodInfo, claim: ResourceClaim, pod_claims: PodClaims) -> None:
        name = f"{pod.namespace}/{claim['metadata']['name']}"
        if self._known.pending(claims.uid_of(claim)):
            # Another pod's binding is about to record it, which wakes this one up.
            message = f"resource claim {name} is in the process of being allocated"
            raise Unschedulable(message, [DYNAMIC_RESOURCES], silently=True)
        allocation = claims.allocation_of(claim)
        if allocation is None:
            self._check_requests(claim, name)
            pod_claims.to_allocate.append(claim)
            return
        if len(claims.consumers(claim)) >= claims.MAX_CONSUMERS and not claims.reserved_for(claim, pod.uid):
            raise Unschedulable(
                f"resourceclaim in use: {name} is reserved for {claims.MAX_CONSUMERS} consumers, which is the limit",
                [DYNAMIC_RESOURCES],
            )
        pod_claims.allocated.append((claim, node_selector(allocation.get("nodeSelector"))))

    def _check_requests(self, claim: ResourceClaim, name: str) -> None:
        for request in claim["spec"].get("devices", {}).get("requests") or []:
            if (exactly := request.get("exactly")) is not None:
                self._check_class(exactly, request["name"])
            elif alternatives := request.get("firstAvailable"):
                if not self._prioritized_list:
                    raise _unschedulable(
                        f"resource claim {name}, request {request['name']}: has subrequests, "
                        "but the DRAPrioritizedList feature is disabled"
                    )
                for alternative in alternatives:
                    self._check_class(alternative, f"{request['name']}/{alternative['name']}")
            else:
                raise _unschedulable(f"resource claim {name}, request {request['name']}: unknown request type")

    def _check_class(self, request: Mapping[str, Any], name: str) -> None:
        wanted = request.get("deviceClassName") or ""
        if wanted not in self._classes:
            raise _unschedulable(f"request {name}: device class {wanted} does not exist")


def _unschedulable(message: str) -> Unschedulable:
    return Unschedulable(message, [DYNAMIC_RESOURCES])
