"""The resource claim controller: who may use a claim, and when nobody does any more.

A reservation outlives its pod otherwise, and the device with it. Follows
k8s.io/kubernetes/pkg/controller/resourceclaim/controller.go; PodGroups are left out, as their gate
DRAWorkloadResourceClaims is off by default. Claims from templates are made in ``claim_templates``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Literal

from drakit_api.core.pod_claims import (
    CLAIM_FINALIZER,
    PodClaimError,
    check_owner,
    claim_name,
    claim_names,
    controller_reference,
    extended_claim_name,
    is_reserved_for,
    is_terminal,
    pod_consumer,
)
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta, ResourceClaim, ResourceClaimConsumerReference, ResourceClaimStatus
from drakit_client import claim_writes
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.events import EventRecorder
from drakit_client.reflector import key_of
from drakit_client.resources import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from drakit_client.work_queue import NotYet, WorkQueue
from drakit_embedded.controllers.claim_templates import ClaimFeatures, ClaimTemplates
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.ownership import typed

# As whom kube-controller-manager writes claims (--use-service-account-credentials); its role is among the default ones.
USER = "system:serviceaccount:kube-system:resource-claim-controller"

_Key = tuple[Literal["pod", "claim"], str, str]

_WORKERS = 10
_REMEMBERED_DELETIONS = 4096


class ResourceClaimController:
    """Keeps ``reservedFor`` and allocations in step with the pods that exist."""

    def __init__(self, informers: Informers, features: ClaimFeatures, connection: Connection) -> None:
        """Read from ``informers``, and write through a connection of the controller's own ``USER``."""
        self._connection = connection
        self._events = EventRecorder(connection, "resource_claim")
        self._templates = ClaimTemplates(informers, features, connection)
        self._pods = informers.reflector(PODS)
        self._claims = informers.reflector(RESOURCE_CLAIMS)
        self._pods_by_claim = informers.index(PODS, _claim_keys)
        self._pods_by_template = informers.index(PODS, _template_keys)
        # Pods known to have existed and to be gone: their reservations go without asking the server.
        self._deleted_pods: OrderedDict[str, None] = OrderedDict()
        self._queue: WorkQueue[_Key] = WorkQueue(self._sync, name="resourceclaim", limit=_WORKERS)
        self._pods.on_change(self._pod_changed)
        self._claims.on_change(self._claim_changed)
        informers.reflector(RESOURCE_CLAIM_TEMPLATES).on_change(self._template_changed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        pod = new if new is not None else old
        assert pod is not None
        if not pod["spec"].get("resourceClaims") and extended_claim_name(pod) is None:
            return
        if new is None:
            self._deleted_pods[pod["metadata"]["uid"]] = None
            if len(self._deleted_pods) > _REMEMBERED_DELETIONS:
                self._deleted_pods.popitem(last=False)
        namespace, name = key_of(pod)
        if new is None or _is_done(pod):
            for claim in claim_names(pod):
                self._queue.add(("claim", namespace, claim))
        if new is not None and self._needs_work(new):
            self._queue.add(("pod", namespace, name))

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        claim = new if new is not None else old
        assert claim is not None
        if new is not None:
            self._queue.add(("claim", *key_of(new)))
        for pod in self._pods_by_claim.get(key_of(claim)):
            if self._needs_work(pod):
                self._queue.add(("pod", *key_of(pod)))

    def _template_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            for pod in self._pods_by_template.get(key_of(new)):
                if self._needs_work(pod):
                    self._queue.add(("pod", *key_of(pod)))

    def _needs_work(self, pod: Object) -> bool:
        """Check whether a claim of the pod has to be created, or reserved because no scheduler did."""
        if pod["metadata"].get("deletionTimestamp"):
            return False
        for pod_claim in pod["spec"].get("resourceClaims") or ():
            try:
                name, must_own = claim_name(pod, pod_claim)
            except PodClaimError:
                return True
            if name is None:
                continue
            claim: ResourceClaim | None = self._claims.get(name, pod["metadata"]["namespace"])
            if claim is None:
                if pod_claim.get("resourceClaimTemplateName"):
                    return True
            elif not _is_foreign(pod, claim, must_own) and _needs_reservation(pod, claim):
                return True
        return False

    async def _sync(self, key: _Key) -> None:
        what, namespace, name = key
        if what == "pod":
            await self._sync_pod(namespace, name)
        else:
            await self._sync_claim(namespace, name)

    async def _sync_pod(self, namespace: str, name: str) -> None:
        pod = self._pods.get(name, namespace)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return
        try:
            pod = await self._templates.generate(pod)
        except PodClaimError as error:
            self._events.event(typed(PODS, pod), "Warning", "FailedResourceClaimCreation", str(error))
            raise NotYet(f"pod {namespace}/{name}, {error}") from error
        if not pod["spec"].get("nodeName"):
            return  # The scheduler reserves what it allocates.
        for pod_claim in pod["spec"].get("resourceClaims") or ():
            claim_name_, must_own = claim_name(pod, pod_claim)
            claim: ResourceClaim | None = self._claims.get(claim_name_, namespace) if claim_name_ else None
            if claim is not None and not _is_foreign(pod, claim, must_own) and _needs_reservation(pod, claim):
                await self._reserve(pod, claim)

    async def _reserve(self, pod: Object, claim: ResourceClaim) -> None:
        reserved = [*(claim["status"].get("reservedFor") or ()), pod_consumer(pod)]
        status: ResourceClaimStatus = {**claim["status"], "reservedFor": reserved}
        await claim_writes.replace(self._connection, {**claim, "status": status}, "status")

    async def _sync_claim(self, namespace: str, name: str) -> None:
        claim: ResourceClaim | None = self._claims.get(name, namespace)
        if claim is None:
            return
        reserved = claim.get("status", {}).get("reservedFor") or []
        remaining = [consumer for consumer in reserved if await self._is_valid(namespace, consumer)]
        finalizers = claim["metadata"].get("finalizers") or ()
        if len(remaining) < len(reserved):
            await self._release(claim, remaining)
        elif CLAIM_FINALIZER in finalizers and claim["metadata"].get("deletionTimestamp") and not remaining:
            if claim.get("status", {}).get("allocation"):
                claim = await self._update_status(claim, remaining)
            await self._drop_finalizer(claim)
        if not remaining:
            await self._delete_if_unused(claim)

    async def _is_valid(self, namespace: str, consumer: ResourceClaimConsumerReference) -> bool:
        """Check whether a reservation stays: it goes if its pod is certainly gone or done; unknown consumers stay."""
        if consumer.get("apiGroup") or consumer["resource"] != "pods":
            return True
        if consumer["uid"] in self._deleted_pods:
            return False
        pod = self._pods.get(consumer["name"], namespace)
        if pod is not None:
            return bool(pod["metadata"]["uid"] == consumer["uid"]) and not _is_done(pod)
        # It may have been created a moment ago: only the server knows.
        try:
            pod = await self._connection.get(PODS, consumer["name"], namespace)
        except NotFound:
            return False
        return bool(pod["metadata"]["uid"] == consumer["uid"])

    async def _release(self, claim: ResourceClaim, remaining: list[ResourceClaimConsumerReference]) -> None:
        """Remove reservations; the last one takes the allocation with it, so that others can have the devices."""
        updated = await self._update_status(claim, remaining)
        if not updated.get("status", {}).get("allocation"):
            await self._drop_finalizer(updated)

    async def _update_status(
        self, claim: ResourceClaim, remaining: list[ResourceClaimConsumerReference]
    ) -> ResourceClaim:
        """Update the status by a PUT rather than a patch: it fails if anything changed in the meantime."""
        status: ResourceClaimStatus = {**claim.get("status", {}), "reservedFor": remaining}
        if not remaining:
            del status["reservedFor"]
            if CLAIM_FINALIZER in (claim["metadata"].get("finalizers") or ()):
                status.pop("allocation", None)
        return await claim_writes.replace(self._connection, {**claim, "status": status}, "status")

    async def _drop_finalizer(self, claim: ResourceClaim) -> None:
        finalizers = claim["metadata"].get("finalizers") or []
        if CLAIM_FINALIZER in finalizers:
            kept = [finalizer for finalizer in finalizers if finalizer != CLAIM_FINALIZER]
            metadata: ObjectMeta = {**claim["metadata"], "finalizers": kept}
            await claim_writes.replace(self._connection, {**claim, "metadata": metadata})

    async def _delete_if_unused(self, claim: ResourceClaim) -> None:
        """Delete a generated claim whose pod will not run (again); the garbage collector deletes the others."""
        owner = controller_reference(claim)
        if owner is None or owner.get("apiVersion") != "v1" or owner.get("kind") != "Pod":
            return
        metadata = claim["metadata"]
        pod = self._pods.get(owner["name"], metadata["namespace"])
        if pod is not None and (pod["metadata"]["uid"] != owner["uid"] or _is_done(pod)):
            try:
                await self._connection.delete(
                    RESOURCE_CLAIMS, metadata["name"], metadata["namespace"], uid=metadata["uid"]
                )
            except NotFound:
                return


def _claim_keys(pod: Object) -> Iterator[tuple[str, str]]:
    namespace = pod["metadata"]["namespace"]
    return ((namespace, name) for name in claim_names(pod))


def _template_keys(pod: Object) -> Iterator[tuple[str, str]]:
    namespace = pod["metadata"]["namespace"]
    for pod_claim in pod["spec"].get("resourceClaims") or ():
        if template := pod_claim.get("resourceClaimTemplateName"):
            yield namespace, template


def _is_done(pod: Object) -> bool:
    """Check whether the pod has ended, or was deleted before any node had it."""
    deleted_early = pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("nodeName")
    return is_terminal(pod) or bool(deleted_early)


def _is_foreign(pod: Object, claim: ResourceClaim, must_own: bool) -> bool:
    if not must_own:
        return False
    try:
        check_owner(pod, claim)
    except PodClaimError:
        return True
    return False


def _needs_reservation(pod: Object, claim: ResourceClaim) -> bool:
    allocated = bool(claim.get("status", {}).get("allocation"))
    return allocated and bool(pod["spec"].get("nodeName")) and not is_reserved_for(pod, claim)
