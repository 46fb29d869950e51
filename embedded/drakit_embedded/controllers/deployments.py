"""The deployment controller: replaces pods by pods of the new template, a few at a time.

Follows k8s.io/kubernetes/pkg/controller/deployment (sync.go, rolling.go, recreate.go, progress.go), with the conditions
that ``kubectl rollout status`` and ``kubectl wait`` read. Its arithmetic is in ``rollout``.
"""

from __future__ import annotations

from datetime import UTC, datetime

from drakit_api.core import conditions
from drakit_api.core.pod_claims import controller_reference, is_terminal
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_client.errors import AlreadyExists, ApiError, NotFound
from drakit_client.events import EventRecorder
from drakit_client.reflector import Key, key_of
from drakit_client.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from drakit_client.work_queue import NotYet, WorkQueue
from drakit_embedded.controllers import rollout
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.ownership import controller_uid, reference_to, typed
from drakit_embedded.controllers.rollout import replicas_of

_NO_LIMIT = 2**31 - 1
_NOT_COPIED = {
    "kubectl.kubernetes.io/last-applied-configuration",
    rollout.REVISION,
    rollout.DESIRED_REPLICAS,
    rollout.MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
}


class DeploymentController:
    """Moves replicas from old replica sets to the one of the current template."""

    def __init__(self, informers: Informers) -> None:
        self._connection = informers.connection
        self._events = EventRecorder(informers.connection, "deployment-controller")
        self._deployments = informers.reflector(DEPLOYMENTS)
        self._sets_by_owner = informers.index(REPLICA_SETS, controller_uid)
        self._pods_by_owner = informers.index(PODS, controller_uid)
        self._queue: WorkQueue[Key] = WorkQueue(self._sync, name="deployment")
        self._deployments.on_change(self._deployment_changed)
        informers.reflector(REPLICA_SETS).on_change(self._set_changed)
        informers.reflector(PODS).on_change(self._pod_changed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _deployment_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._queue.add(key_of(new))
        elif old is not None:
            self._queue.forget(key_of(old))

    def _set_changed(self, old: Object | None, new: Object | None) -> None:
        for obj in (old, new):
            owner = controller_reference(obj) if obj is not None else None
            if obj is not None and owner is not None and owner["kind"] == DEPLOYMENTS.kind:
                self._queue.add((obj["metadata"]["namespace"], owner["name"]))

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        """Queue a Recreate deployment, which waits for its last old pod to go; others do not wait for pods."""
        if new is not None or old is None:
            return
        for key, deployment in self._deployments.store.items():
            if key[0] == old["metadata"]["namespace"] and not rollout.is_rolling(deployment):
                self._queue.add(key)

    async def _sync(self, key: Key) -> float | None:
        deployment = self._deployments.store.get(key)
        if deployment is None:
            return None
        owned = self._sets_by_owner.get(deployment["metadata"]["uid"])
        new = rollout.newest_set(deployment, owned)
        old = [candidate for candidate in owned if candidate is not new]
        if deployment["metadata"].get("deletionTimestamp"):
            return await self._update_status(deployment, new, old)
        if deployment["spec"].get("paused") or self._was_scaled(deployment, owned):
            await self._scale(deployment, new, old)
        elif rollout.is_rolling(deployment):
            new = await self._new_set(deployment, new, old)
            await self._roll(deployment, new, old)
        else:
            new = await self._recreate(deployment, new, old)
        if _is_complete(deployment, deployment.get("status") or {}):
            await self._clean_up(deployment, old)
        return await self._update_status(deployment, new, old)

    def _was_scaled(self, deployment: Object, owned: list[Object]) -> bool:
        active = [candidate for candidate in owned if replicas_of(candidate)]
        desired = [rollout.annotated_number(candidate, rollout.DESIRED_REPLICAS) for candidate in active]
        return any(number is not None and number != replicas_of(deployment) for number in desired)

    async def _new_set(self, deployment: Object, new: Object | None, old: list[Object]) -> Object:
        """Create the replica set of the current template, or update its annotations and ``minReadySeconds``."""
        revision = max((rollout.revision_of(candidate) for candidate in old), default=0) + 1
        if new is None:
            return await self._create_set(deployment, old, revision)
        annotations = _annotations(deployment, new, revision)
        minimum = deployment["spec"].get("minReadySeconds", 0)
        if annotations != (new["metadata"].get("annotations") or {}) or minimum != new["spec"].get(
            "minReadySeconds", 0
        ):
            new = await self._connection.replace(
                REPLICA_SETS,
                {
                    **new,
                    "metadata": {**new["metadata"], "annotations": annotations},
                    "spec": {**new["spec"], "minReadySeconds": minimum or None},
                },
                new["metadata"]["namespace"],
            )
        return new

    async def _create_set(self, deployment: Object, old: list[Object], revision: int) -> Object:
        template = deployment["spec"]["template"]
        digest = rollout.template_hash(template)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), rollout.HASH_LABEL: digest}
        selector = deployment["spec"]["selector"]
        name, namespace = f"{deployment['metadata']['name']}-{digest}", deployment["metadata"]["namespace"]
        body: Object = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels,
                "ownerReferences": [reference_to(DEPLOYMENTS, deployment)],
            },
            "spec": {
                "replicas": rollout.new_set_size(deployment, sum(map(replicas_of, old)), 0),
                "minReadySeconds": deployment["spec"].get("minReadySeconds") or None,
                "selector": {
                    **selector,
                    "matchLabels": {**(selector.get("matchLabels") or {}), rollout.HASH_LABEL: digest},
                },
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }
        body["metadata"]["annotations"] = _annotations(deployment, body, revision)
        try:
            created = await self._connection.create(REPLICA_SETS, body, namespace)
        except AlreadyExists as error:
            raise NotYet(f"replica set {name} exists but is not shown yet") from error
        except ApiError as error:
            message = f'Failed to create new replica set "{name}": {error}'
            self._events.event(typed(DEPLOYMENTS, deployment), "Warning", "ReplicaSetCreateError", message)
            raise
        if replicas_of(body):
            self._scaled_event(deployment, name, 0, replicas_of(body))
        return created

    async def _set_revision(self, deployment: Object, new: Object) -> None:
        """Write the revision into the deployment, where ``kubectl rollout history`` reads it."""
        revision = (new["metadata"].get("annotations") or {}).get(rollout.REVISION)
        metadata: ObjectMeta = deployment["metadata"]
        if (metadata.get("annotations") or {}).get(rollout.REVISION) != revision:
            patch = {"metadata": {"annotations": {rollout.REVISION: revision}}}
            await self._connection.patch(DEPLOYMENTS, metadata["name"], patch, metadata["namespace"])

    async def _roll(self, deployment: Object, new: Object, old: list[Object]) -> None:
        """Scale the new replica set up, if there is room; else old ones down, if availability allows."""
        size = rollout.new_set_size(deployment, sum(map(replicas_of, [*old, new])), replicas_of(new))
        if size != replicas_of(new):
            await self._resize(deployment, new, size)
            return
        active = [candidate for candidate in old if replicas_of(candidate)]
        sizes = rollout.scale_down(deployment, active, new) if active else {}
        for candidate in active:
            await self._resize(deployment, candidate, sizes.get(candidate["metadata"]["name"], replicas_of(candidate)))

    async def _recreate(self, deployment: Object, new: Object | None, old: list[Object]) -> Object | None:
        """Scale all old replica sets to zero, and create the new one once their pods are gone."""
        active = [candidate for candidate in old if replicas_of(candidate)]
        for candidate in active:
            await self._resize(deployment, candidate, 0)
        if active or any(self._has_running_pods(candidate) for candidate in old):
            return new
        new = await self._new_set(deployment, new, old)
        await self._resize(deployment, new, replicas_of(deployment))
        return new

    def _has_running_pods(self, replica_set: Object) -> bool:
        return any(not is_terminal(pod) for pod in self._pods_by_owner.get(replica_set["metadata"]["uid"]))

    async def _scale(self, deployment: Object, new: Object | None, old: list[Object]) -> None:
        """Spread a change of ``spec.replicas`` over the replica sets that have pods."""
        everything = [*old, new] if new is not None else old
        active = [candidate for candidate in everything if replicas_of(candidate)]
        if len(active) <= 1:
            only = active[0] if active else new or max(old, key=rollout.age, default=None)
            if only is not None:
                await self._resize(deployment, only, replicas_of(deployment), annotate=True)
        elif new is not None and replicas_of(new) == replicas_of(deployment) == rollout.available_of(new):
            for candidate in old:
                await self._resize(deployment, candidate, 0)
        elif rollout.is_rolling(deployment):
            sizes = rollout.proportional(deployment, active)
            for candidate in active:
                await self._resize(deployment, candidate, sizes[candidate["metadata"]["name"]], annotate=True)

    async def _resize(self, deployment: Object, replica_set: Object, size: int, *, annotate: bool = False) -> None:
        before = replicas_of(replica_set)
        annotations = {**(replica_set["metadata"].get("annotations") or {}), **_sizes(deployment)}
        if size == before and not (annotate and annotations != replica_set["metadata"].get("annotations")):
            return
        changed = {
            **replica_set,
            "metadata": {**replica_set["metadata"], "annotations": annotations},
            "spec": {**replica_set["spec"], "replicas": size},
        }
        await self._connection.replace(REPLICA_SETS, changed, replica_set["metadata"]["namespace"])
        if size != before:
            self._scaled_event(deployment, replica_set["metadata"]["name"], before, size)

    def _scaled_event(self, deployment: Object, name: str, before: int, after: int) -> None:
        direction = "up" if after > before else "down"
        message = f"Scaled {direction} replica set {name} from {before} to {after}"
        self._events.event(typed(DEPLOYMENTS, deployment), "Normal", "ScalingReplicaSet", message)

    async def _clean_up(self, deployment: Object, old: list[Object]) -> None:
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        alive = [candidate for candidate in old if not candidate["metadata"].get("deletionTimestamp")]
        for candidate in sorted(alive, key=rollout.revision_of)[: max(0, len(alive) - limit)]:
            status = candidate.get("status") or {}
            seen = status.get("observedGeneration", 0) >= candidate["metadata"].get("generation", 0)
            if seen and not status.get("replicas") and not replicas_of(candidate):
                metadata: ObjectMeta = candidate["metadata"]
                await self._connection.delete(REPLICA_SETS, metadata["name"], metadata["namespace"])

    async def _update_status(self, deployment: Object, new: Object | None, old: list[Object]) -> float | None:
        status = _status(deployment, new, old)
        try:
            if (deployment.get("status") or {}) != status:
                changed = {**deployment, "status": status}
                await self._connection.replace_status(DEPLOYMENTS, changed, deployment["metadata"]["namespace"])
            if new is not None:
                await self._set_revision(deployment, new)
        except NotFound:
            return None
        return _seconds_to_deadline(deployment, status)


def _annotations(deployment: Object, replica_set: Object, revision: int) -> dict[str, str]:
    """Build a replica set's annotations: the deployment's, the revision, and the sizes for scaling later."""
    copied = deployment["metadata"].get("annotations") or {}
    revision = max(revision, rollout.revision_of(replica_set))
    return {
        **(replica_set["metadata"].get("annotations") or {}),
        **{key: value for key, value in copied.items() if key not in _NOT_COPIED},
        rollout.REVISION: str(revision),
        **_sizes(deployment),
    }


def _sizes(deployment: Object) -> dict[str, str]:
    desired = replicas_of(deployment)
    return {
        rollout.DESIRED_REPLICAS: str(desired),
        rollout.MAX_REPLICAS: str(desired + rollout.fenceposts(deployment)[0]),
    }


def _status(deployment: Object, new: Object | None, old: list[Object]) -> Object:
    everything = [*old, new] if new is not None else old
    statuses = [candidate.get("status") or {} for candidate in everything]
    total = {key: sum(s.get(key, 0) for s in statuses) for key in ("replicas", "readyReplicas", "availableReplicas")}
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        **total,
        "updatedReplicas": ((new or {}).get("status") or {}).get("replicas", 0),
        "unavailableReplicas": max(0, sum(map(replicas_of, everything)) - total["availableReplicas"]),
    }
    status: Object = {key: value for key, value in counts.items() if value}
    status["terminatingReplicas"] = sum(s.get("terminatingReplicas", 0) for s in statuses)
    if collisions := (deployment.get("status") or {}).get("collisionCount"):
        status["collisionCount"] = collisions
    listed = conditions.with_condition(
        (deployment.get("status") or {}).get("conditions"),
        _available(deployment, total["availableReplicas"]),
        update_time=True,
    )
    status["conditions"] = _with_progress(deployment, status, listed, new, everything)
    return status


def _available(deployment: Object, available: int) -> Object:
    enough = available >= replicas_of(deployment) - rollout.fenceposts(deployment)[1]
    return {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
    }


def _with_progress(
    deployment: Object, status: Object, listed: list[Object], new: Object | None, everything: list[Object]
) -> list[Object]:
    """Update the conditions Progressing and ReplicaFailure (progress.go, syncRolloutStatus)."""
    failed = (
        conditions.find((candidate.get("status") or {}).get("conditions"), "ReplicaFailure")
        for candidate in [*([new] if new is not None else []), *everything]
    )
    failure = next((condition for condition in failed if condition is not None), None)
    if failure is None:
        listed = conditions.without(listed, "ReplicaFailure")
    else:
        listed = conditions.with_condition(listed, failure, update_time=True)
    if not _has_deadline(deployment):
        return conditions.without(listed, "Progressing")
    before = deployment.get("status") or {}
    current = conditions.find(before.get("conditions"), "Progressing")
    if deployment["spec"].get("paused"):
        return conditions.with_condition(
            listed, _progressing("Unknown", "DeploymentPaused", "Deployment is paused"), update_time=True
        )
    finished = current is not None and current.get("reason") == "NewReplicaSetAvailable"
    if finished and status.get("replicas") == status.get("updatedReplicas"):
        return listed
    subject = f'ReplicaSet "{new["metadata"]["name"]}"' if new else f'Deployment "{deployment["metadata"]["name"]}"'
    if _is_complete(deployment, status):
        condition = _progressing("True", "NewReplicaSetAvailable", f"{subject} has successfully progressed.")
    elif current is None or _has_progressed(before, status):
        # The reason is the same, but the time is new: the deadline counts from the last progress.
        listed = conditions.without(listed, "Progressing")
        condition = _progressing("True", "ReplicaSetUpdated", f"{subject} is progressing.")
        if current is not None and current["status"] == "True":
            times = {"lastTransitionTime": current["lastTransitionTime"], "lastUpdateTime": gotime.now()}
            return [*listed, {**condition, **times}]
    elif _seconds_left(deployment, current) <= 0:
        condition = _progressing("False", "ProgressDeadlineExceeded", f"{subject} has timed out progressing.")
    else:
        return listed
    return conditions.with_condition(listed, condition, update_time=True)


def _progressing(status: str, reason: str, message: str) -> Object:
    return {"type": "Progressing", "status": status, "reason": reason, "message": message}


def _has_deadline(deployment: Object) -> bool:
    return bool(deployment["spec"].get("progressDeadlineSeconds", 600) != _NO_LIMIT)


def _is_complete(deployment: Object, status: Object) -> bool:
    desired = replicas_of(deployment)
    counts = [status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas")]
    observed: int = status.get("observedGeneration", 0)
    return counts == [desired] * 3 and observed >= deployment["metadata"].get("generation", 0)


def _has_progressed(before: Object, after: Object) -> bool:
    def old_replicas(status: Object) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return any(after.get(key, 0) > before.get(key, 0) for key in grown) or old_replicas(after) < old_replicas(before)


def _seconds_left(deployment: Object, progressing: Object) -> float:
    if progressing.get("reason") == "NewReplicaSetAvailable":
        return float("inf")
    elapsed = datetime.now(UTC) - datetime.fromisoformat(progressing["lastUpdateTime"])
    return float(deployment["spec"].get("progressDeadlineSeconds", 600)) - elapsed.total_seconds()


def _seconds_to_deadline(deployment: Object, status: Object) -> float | None:
    """Compute in how many seconds to check again whether the deployment is stuck; None if not at all."""
    current = conditions.find(status.get("conditions"), "Progressing")
    if current is None or not _has_deadline(deployment) or current.get("reason") == "ProgressDeadlineExceeded":
        return None
    if _is_complete(deployment, status) or deployment["spec"].get("paused"):
        return None
    left = _seconds_left(deployment, current)
    return max(1.0, left + 1.0) if left != float("inf") else None
