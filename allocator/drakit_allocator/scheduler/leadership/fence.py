"""What makes the writes fail that a silent scheduler decided on and has not sent yet, or that are still on their way.

Everything that a scheduler writes is decided on a version of one object, and says which: it is a PUT or a binding with
that resourceVersion (``binding``). Its writes, and what they would do if they came after another scheduler's decision:

- an allocation, to a claim without one: the devices may belong to another claim by then;
- a deallocation: another pod may run with these devices by then, and they would be given out again;
- a reservation or its end: a pod would run with a claim that it does not hold, or block one that it does not use;
- a binding: the pod would run on a node for which its claims have not been allocated.

So the fence gives a new version to *every claim, allocated or not*, and to *every pod that has no node yet*, with an
annotation; pods that are gated, finished or being deleted are left out, as no scheduler can have decided on them, or
bind them any more. It is put up after the deadline of the scheduler before has passed. What that one decided earlier
carries an old version and is refused; what it reads and decides later, also about objects that are created only now,
ends at its own next look at the lease. New decisions begin when the fence is complete and everything has been listed
once more.

What a single object refuses must not stop the scheduler. An admission policy or a webhook may forbid the write, and an
object may be as large as it may be. Such an object is a *gap*: it is told, tried again later and later, and its late
writes remain possible. While there is one, the pods that are concerned wait: for a gap at a pod that pod, for one at an
allocated claim those that use it, and for one at a claim without an allocation all that would be given devices, because
any of these might be what the late write takes. Other pods are scheduled. The lease is not clean before the last gap is
closed, by the write or by the end of the object, so that the next scheduler begins again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from drakit_allocator.scheduler import claims
from drakit_allocator.scheduler.leadership.lease import Permission
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta, ResourceClaim, as_claim
from drakit_client import claim_writes
from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import UNREACHABLE, ApiError, Conflict, NotFound
from drakit_client.resources import PODS, RESOURCE_CLAIMS

log = logging.getLogger(__name__)

FENCE = "drakit.dev/fence"
# Requests on their way at the same time.
_CONCURRENCY = 32
# The server gives up on a patch when others keep writing to the same object.
_CONFLICTS = 5
_BACKOFF = Backoff(0.1, 30.0)
_WITHOUT_NODE = "spec.nodeName=,status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class Gap:
    """An object whose version could not be renewed, and the reason."""

    obj: Object
    kind: str
    error: str

    def __str__(self) -> str:
        metadata: ObjectMeta = self.obj["metadata"]
        return f"{self.kind} {metadata['namespace']}/{metadata['name']}"


# Called with a gap when it is found, and again if the reason for it changes.
Tell = Callable[[Gap], None]


class Fence:
    """The fence of one scheduler: ``put_up`` at the beginning of a term, then ``close`` in the background."""

    def __init__(self, connection: Connection, permission: Permission, known: claims.Claims, tell: Tell) -> None:
        self._connection = connection
        self._permission = permission
        self._known = known
        self._tell = tell
        self._slots = asyncio.Semaphore(_CONCURRENCY)
        self._gaps: dict[str, Gap] = {}

    async def put_up(self) -> None:
        """Renew the versions of all claims and waiting pods. Raises ``LeaseLost``, or what a list can raise."""
        self._gaps.clear()
        # A value that no object has yet; writing the value that it has would change nothing.
        token = secrets.token_hex(8)
        listed = await self._connection.list(RESOURCE_CLAIMS)
        waiting = await self._connection.list(PODS, field_selector=_WITHOUT_NODE)
        work = [self._renew(claim, "ResourceClaim", token) for claim in listed["items"] or []]
        work += [self._renew(pod, "Pod", token) for pod in waiting["items"] or [] if _may_be_bound(pod)]
        await _all(work)

    def take_down(self) -> None:
        """Forget the gaps of a term before: the lease was clean."""
        self._gaps.clear()

    @property
    def is_complete(self) -> bool:
        """Whether no late write is possible any more."""
        return not self._gaps

    async def close(self, closed: Callable[[], object]) -> None:
        """Try the gaps again until there is none, and call ``closed`` when some are closed. Raises ``LeaseLost``."""
        pauses = _BACKOFF.pauses()
        while self._gaps:
            await asyncio.sleep(next(pauses))
            before, token = list(self._gaps.values()), secrets.token_hex(8)
            await _all([self._renew(gap.obj, gap.kind, token) for gap in before])
            if len(self._gaps) < len(before):
                closed()

    def objection(self, pod_uid: str, pod_claims: list[ResourceClaim], *, allocates: bool) -> str:
        """Say why a pod with these claims has to wait for a gap to be closed; empty if it need not.

        ``allocates``: whether any of the claims is to be given devices.
        """
        if not self._gaps:
            return ""
        for uid in (pod_uid, *map(claims.uid_of, pod_claims)):
            if (gap := self._gaps.get(uid)) is not None:
                return objection_to(gap)
        if allocates:
            for gap in self._gaps.values():
                if gap.kind == "ResourceClaim" and claims.allocation_of(as_claim(gap.obj)) is None:
                    return objection_to(gap)
        return ""

    async def _renew(self, obj: Object, kind: str, token: str) -> None:
        try:
            updated = await self._touched(obj, kind, token)
        except (ApiError, *UNREACHABLE) as error:
            self._open_gap(Gap(obj, kind, str(error) or type(error).__name__))
            return
        if updated is not None:
            if updated["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]:
                self._open_gap(Gap(obj, kind, f"the annotation {FENCE} did not stay"))
                return
            if kind == "ResourceClaim":
                # A late write that came before this one is known by this at the latest.
                self._known.written(as_claim(updated))
        self._gaps.pop(obj["metadata"]["uid"], None)

    async def _touched(self, obj: Object, kind: str, token: str) -> Object | None:
        """Give an object a new version, and return it; None if it is gone, or another one of its name is there."""
        touch = self._touch_claim if kind == "ResourceClaim" else self._touch_pod
        resource, metadata = (RESOURCE_CLAIMS if kind == "ResourceClaim" else PODS), obj["metadata"]
        try:
            for _ in range(_CONFLICTS):
                try:
                    return await self._send(partial(touch, obj, token))
                except Conflict as error:
                    conflict = error
                    current = await self._connection.get(resource, metadata["name"], metadata["namespace"])
                    if current["metadata"]["uid"] != metadata["uid"]:
                        return None
            raise conflict
        except NotFound:
            return None

    async def _send(self, touch: Callable[[], Awaitable[Object]]) -> Object:
        async with self._slots:
            self._permission.check()
            return await touch()

    async def _touch_claim(self, claim: Object, token: str) -> Object:
        return dict(await claim_writes.annotate(self._connection, as_claim(claim), {FENCE: token}))

    async def _touch_pod(self, pod: Object, token: str) -> Object:
        """Annotate a pod through its status, which a scheduler has the right to write."""
        metadata: ObjectMeta = pod["metadata"]
        body = {"metadata": {"uid": metadata["uid"], "annotations": {FENCE: token}}}
        return await self._connection.patch(PODS, metadata["name"], body, metadata["namespace"], subresource="status")

    def _open_gap(self, gap: Gap) -> None:
        uid = gap.obj["metadata"]["uid"]
        before = self._gaps.get(uid)
        self._gaps[uid] = gap
        if before is None or before.error != gap.error:
            log.warning("%s could not be fenced: %s", gap, gap.error)
            self._tell(gap)


def _may_be_bound(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and not pod["spec"].get("schedulingGates")


async def _all(work: list[Coroutine[Any, Any, None]]) -> None:
    """Wait for all, or for the first that fails, whose error is raised."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for each in work:
                tasks.create_task(each)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


def objection_to(gap: Gap) -> str:
    """Word the reason for pods that wait for a gap."""
    return (
        f"a scheduler fell silent, and {gap} may still get a write of it until an annotation of it can be changed "
        f"or it is deleted: {gap.error}"
    )
