"""The controller of replica sets and of replication controllers: as many pods as asked for, no more, no fewer.

Follows k8s.io/kubernetes/pkg/controller/replicaset (replica_set.go, replica_set_utils.go). A replication controller is
treated as an older version of a replica set, by another instance (pkg/controller/replication).
"""

from __future__ import annotations

from drakit_api.core import conditions
from drakit_api.core.label_selectors import selects
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError, NotFound
from drakit_client.events import EventRecorder
from drakit_client.reflector import Key, key_of
from drakit_client.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Resource
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers.adoption import PodOwnership
from drakit_embedded.controllers.informers import Created, Informers
from drakit_embedded.controllers.pods import (
    BURST,
    Deletions,
    PodControl,
    deletion_order,
    is_active,
    is_ready,
    seconds_to_available,
    slow_start,
)

_SOURCES = {REPLICA_SETS: "replicaset-controller", REPLICATION_CONTROLLERS: "replication-controller"}


class ReplicaSetController:
    """Creates, adopts, releases and deletes pods until their number is ``spec.replicas``."""

    def __init__(self, informers: Informers, owners: Resource = REPLICA_SETS) -> None:
        self._connection, self._owners = informers.connection, owners
        events = EventRecorder(informers.connection, _SOURCES[owners])
        self._control = PodControl(informers.connection, owners, events)
        self._sets = informers.reflector(owners)
        self._pods = informers.reflector(PODS)
        self._created = Created(self._pods)
        self._ownership = PodOwnership(informers, owners, self._created)
        self._deleted = Deletions(self._pods, self._control)  # pods being deleted do not count
        self._queue: WorkQueue[Key] = WorkQueue(self._sync, name=owners.kind.lower())
        self._sets.on_change(self._set_changed)
        self._pods.on_change(self._pod_changed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _set_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._queue.add(key_of(new))
        elif old is not None:
            self._queue.forget(key_of(old))

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        for key in self._ownership.concerned(old, new):
            self._queue.add(key)

    async def _sync(self, key: Key) -> float | None:
        replica_set = self._sets.store.get(key)
        if replica_set is None:
            return None
        mine = await self._ownership.claim(replica_set)
        active = [pod for pod in mine if is_active(pod) and pod not in self._deleted]
        failure: ApiError | None = None
        if not replica_set["metadata"].get("deletionTimestamp"):
            try:
                await self._manage(replica_set, active)
            except ApiError as error:
                failure = error
        await self._update_status(replica_set, mine, active, failure)
        if failure is not None:
            raise failure
        waits = (seconds_to_available(pod, replica_set["spec"].get("minReadySeconds") or 0) for pod in active)
        return min((wait for wait in waits if wait), default=None)

    async def _manage(self, replica_set: Object, active: list[Object]) -> None:
        excess = len(active) - replica_set["spec"].get("replicas", 1)
        if excess < 0:
            await slow_start(min(-excess, BURST), lambda: self._create(replica_set))
        for pod in deletion_order(active)[: max(0, min(excess, BURST))]:
            await self._deleted.delete(replica_set, pod)

    async def _create(self, replica_set: Object) -> None:
        self._created.add(await self._control.create(replica_set, replica_set["spec"]["template"]))

    async def _update_status(
        self, replica_set: Object, mine: list[Object], active: list[Object], failure: ApiError | None
    ) -> None:
        old = replica_set.get("status") or {}
        status = _status(replica_set, mine, active, failure)
        if self._owners == REPLICATION_CONTROLLERS:
            del status["terminatingReplicas"]
        if {key: value for key, value in old.items() if value or key in status} == status:
            return
        try:
            await self._connection.replace_status(
                self._owners, {**replica_set, "status": status}, replica_set["metadata"]["namespace"]
            )
        except NotFound:
            return


def _status(replica_set: Object, mine: list[Object], active: list[Object], failure: ApiError | None) -> Object:
    template_labels = (replica_set["spec"]["template"].get("metadata") or {}).get("labels") or {}
    minimum = replica_set["spec"].get("minReadySeconds") or 0
    counts = {
        "fullyLabeledReplicas": sum(
            selects({"matchLabels": template_labels}, p["metadata"].get("labels")) for p in active
        ),
        "readyReplicas": sum(is_ready(pod) for pod in active),
        "availableReplicas": sum(seconds_to_available(pod, minimum) == 0 for pod in active),
    }
    status: Object = {
        "replicas": len(active),
        **{key: value for key, value in counts.items() if value},
        "terminatingReplicas": sum(bool(pod["metadata"].get("deletionTimestamp")) for pod in mine),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    old = (replica_set.get("status") or {}).get("conditions") or []
    if failure is None:
        updated = conditions.without(old, "ReplicaFailure")
    else:
        reason = "FailedCreate" if len(active) < replica_set["spec"].get("replicas", 1) else "FailedDelete"
        condition = {"type": "ReplicaFailure", "status": "True", "reason": reason, "message": str(failure)}
        updated = conditions.with_condition(old, condition)
    if updated:
        status["conditions"] = updated
    return status
