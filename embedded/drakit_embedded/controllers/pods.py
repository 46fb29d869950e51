"""Pods as the controllers above them see them: which count, which go first, and how they are made from a template."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from drakit_api.core import conditions
from drakit_api.core.pod_claims import is_terminal
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from drakit_client.events import EventRecorder
from drakit_client.reflector import Reflector, key_of
from drakit_client.resources import PODS, Resource
from drakit_embedded.controllers.ownership import reference_to, typed

# No more pods than this in one round (k8s.io/kubernetes/pkg/controller/replicaset/replica_set.go, BurstReplicas).
BURST = 500
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_active(pod: Object) -> bool:
    """Check whether the pod still does, or will do, its work."""
    return not is_terminal(pod) and not is_going(pod)


def is_going(pod: Object) -> bool:
    """Check whether the pod is being deleted."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_ready(pod: Object) -> bool:
    """Check whether the condition Ready is true."""
    return conditions.is_true(pod, "Ready")


def seconds_to_available(pod: Object, min_ready_seconds: int) -> float | None:
    """Compute how many seconds until the pod counts as available: 0 if it does, None while it is not ready."""
    ready = conditions.find(pod.get("status", {}).get("conditions"), "Ready")
    if ready is None or ready["status"] != "True":
        return None
    if not min_ready_seconds:
        return 0.0
    since = datetime.fromisoformat(ready["lastTransitionTime"])
    return max(0.0, min_ready_seconds - (datetime.now(UTC) - since).total_seconds())


def deletion_order(pods: Sequence[Object]) -> list[Object]:
    """Sort pods, those to delete first in front, as ActivePodsWithRanks in controller_utils.go does."""
    per_node = Counter(pod["spec"].get("nodeName") for pod in pods)

    def usefulness(pod: Object) -> tuple[bool, int, bool, int, int]:
        node = pod["spec"].get("nodeName")
        annotations = pod["metadata"].get("annotations") or {}
        return (
            bool(node),
            _PHASE_ORDER.get(pod.get("status", {}).get("phase", "Pending"), 1),
            is_ready(pod),
            _integer(annotations.get(_DELETION_COST)),
            -per_node[node] if node else 0,
        )

    newest_first = sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")), reverse=True)
    return sorted(newest_first, key=usefulness)


def _integer(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


class PodControl:
    """Creates and deletes the pods of an owner, with the events that ``kubectl describe`` shows."""

    def __init__(self, connection: Connection, owners: Resource, events: EventRecorder) -> None:
        self._connection = connection
        self._owners = owners
        self._events = events

    async def create(self, owner: Object, template: Object) -> Object:
        """Create a pod from the owner's template."""
        metadata = template.get("metadata") or {}
        pod: Object = {
            "metadata": {
                "generateName": owner["metadata"]["name"] + "-",
                "ownerReferences": [reference_to(self._owners, owner)],
                **{key: metadata[key] for key in ("labels", "annotations", "finalizers") if metadata.get(key)},
            },
            "spec": template["spec"],
        }
        try:
            created = await self._connection.create(PODS, pod, owner["metadata"]["namespace"])
        except ApiError as error:
            self._events.event(typed(self._owners, owner), "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        message = f"Created pod: {created['metadata']['name']}"
        self._events.event(typed(self._owners, owner), "Normal", "SuccessfulCreate", message)
        return created

    async def delete(self, owner: Object, pod: Object) -> None:
        """Delete one pod; it may be gone already."""
        metadata: ObjectMeta = pod["metadata"]
        try:
            await self._connection.delete(PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except NotFound:
            return
        except ApiError as error:
            self._events.event(typed(self._owners, owner), "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        message = f"Deleted pod: {metadata['name']}"
        self._events.event(typed(self._owners, owner), "Normal", "SuccessfulDelete", message)


class Deletions:
    """Deletes pods, and knows which of them its reflector still shows as if they were not deleted."""

    def __init__(self, pods: Reflector, control: PodControl) -> None:
        self._pods, self._control = pods, control
        self._uids: set[str] = set()
        pods.on_change(self._changed)

    def __contains__(self, pod: Object) -> bool:
        return pod["metadata"]["uid"] in self._uids

    async def delete(self, owner: Object, pod: Object) -> None:
        """Delete one pod; it may be gone already."""
        uid = pod["metadata"]["uid"]
        self._uids.add(uid)
        try:
            await self._control.delete(owner, pod)
        except BaseException:
            self._uids.discard(uid)
            raise
        shown = self._pods.store.get(key_of(pod))
        if shown is None or is_going(shown):
            self._uids.discard(uid)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        pod = new if new is not None else old
        assert pod is not None
        if new is None or is_going(new):
            self._uids.discard(pod["metadata"]["uid"])


async def slow_start(count: int, action: Callable[[], Awaitable[None]]) -> None:
    """Run ``action`` ``count`` times in batches of 1, 2, 4, ...: if all fail for one reason, few are tried."""
    batch = 1
    while count > 0:
        batch = min(batch, count)
        results = await asyncio.gather(*(action() for _ in range(batch)), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        count -= batch
        batch *= 2
