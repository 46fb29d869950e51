"""What a scheduler decided before it fell silent is refused once another has put up a fence, by any API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from drakit_allocator.scheduler.binding import Binder, Decision
from drakit_allocator.scheduler.claims import Claims
from drakit_allocator.scheduler.leadership.fence import Fence
from drakit_allocator.scheduler.leadership.lease import LeaseLost, NoLease
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import AllocationResult, ResourceClaim, as_claim
from drakit_client.connection import Connection
from drakit_client.errors import Conflict
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from e2e.once_allowed import OnceAllowed

pytestmark = [
    pytest.mark.capability("two schedulers never give a device out twice", source="KEP-4381"),
    # The fence touches all claims and all pods that wait, so that others would run into conflicts.
    pytest.mark.alone,
]

# As Python's json.dumps writes it, and as no answer in JSON has it.
_PARAMETERS = '{"k": 1, "a":"<"}'
_FINALIZER = "resource.kubernetes.io/delete-protection"
_ALLOCATION: AllocationResult = {
    "devices": {"results": [{"request": "r", "driver": "late.example.com", "pool": "p", "device": "d"}]}
}


@dataclass
class _Stage:
    """A claim, allocated for one pod or not, and a pod that nobody schedules."""

    api: Connection
    namespace: str
    node: str

    async def pod(self, name: str) -> Object:
        spec = {"schedulerName": "nobody.example.com", "containers": [{"name": "c", "image": "i"}]}
        return await self.api.create(PODS, {"metadata": {"name": name}, "spec": spec}, self.namespace)

    async def claim(self, *users: Object) -> ResourceClaim:
        config = f'[{{"opaque":{{"driver":"late.example.com","parameters":{_PARAMETERS}}}}}]'
        requests = '[{"name":"r","exactly":{"deviceClassName":"late.example.com"}}]'
        metadata = f'{{"name":"late","finalizers":["{_FINALIZER}"]}}'
        body = f'{{"metadata":{metadata},"spec":{{"devices":{{"requests":{requests},"config":{config}}}}}}}'
        created = await self.api.request("POST", RESOURCE_CLAIMS.path(self.namespace), body.encode())
        claim: ResourceClaim = json.loads(created)
        if not users:
            return claim
        reserved = [{"resource": "pods", "name": u["metadata"]["name"], "uid": u["metadata"]["uid"]} for u in users]
        status = {"allocation": _ALLOCATION, "reservedFor": reserved}
        return as_claim(await self.api.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, self.namespace))

    async def known(self) -> Claims:
        known = Claims(lambda _: None, lambda _: None)
        for claim in (await self.api.list(RESOURCE_CLAIMS, self.namespace))["items"]:
            known.seen(None, claim)
        return known

    async def seen(self) -> list[Object]:
        """What a late write could change."""
        claims = (await self.api.list(RESOURCE_CLAIMS, self.namespace))["items"]
        pods = (await self.api.list(PODS, self.namespace))["items"]
        statuses = [each.get("status") or {} for each in claims]
        reserved = [[user["name"] for user in status.get("reservedFor") or []] for status in statuses]
        return [*(bool(s.get("allocation")) for s in statuses), *reserved, *(p["spec"].get("nodeName") for p in pods)]


_Write = Callable[[Binder], Awaitable[None]]


async def _allocation(stage: _Stage) -> _Write:
    pod, claim = await stage.pod("user"), await stage.claim()
    decision = Decision(PodInfo(pod), stage.node, [claim], {claim["metadata"]["uid"]: _ALLOCATION})
    return lambda binder: binder.prepare(decision)


async def _deallocation(stage: _Stage) -> _Write:
    claim = await stage.claim(await stage.pod("user"))
    return lambda binder: binder.deallocate(claim)


async def _reservation(stage: _Stage) -> _Write:
    pod, claim = await stage.pod("other"), await stage.claim(await stage.pod("user"))
    return lambda binder: binder.prepare(Decision(PodInfo(pod), stage.node, [claim], {}))


async def _end_of_a_reservation(stage: _Stage) -> _Write:
    pod, other = await stage.pod("user"), await stage.pod("other")
    claim = await stage.claim(pod, other)
    return lambda binder: binder.undo(Decision(PodInfo(pod), stage.node, [claim], {}))


async def _binding(stage: _Stage) -> _Write:
    pod = await stage.pod("user")
    return lambda binder: binder.bind(Decision(PodInfo(pod), stage.node, [], {}))


async def _told(kubeconfig: str, stage_of: Callable[[Connection], _Stage], late: Any, *, fenced: bool) -> bool:
    """Whether the late write changed anything."""
    async with await Connection.from_kubeconfig(kubeconfig) as connection:
        stage = stage_of(connection)
        write = await late(stage)
        known = await stage.known()
        if fenced:
            fence = Fence(connection, NoLease(), await stage.known(), lambda gap: None)
            await fence.put_up()
            assert fence.is_complete
        before = await stage.seen()
        try:
            await write(Binder(connection, known, OnceAllowed()))
        except (LeaseLost, Conflict):
            assert fenced
        return await stage.seen() != before


@pytest.mark.parametrize("fenced", [True, False], ids=["fenced", "without a fence"])
@pytest.mark.parametrize("late", [_allocation, _deallocation, _reservation, _end_of_a_reservation, _binding])
def test_a_late_write_changes_something_only_without_a_fence(
    cluster: Cluster, api: Api, node: str, late: Any, fenced: bool
) -> None:
    def stage(connection: Connection) -> _Stage:
        return _Stage(connection, api.namespace, node)

    assert asyncio.run(_told(str(cluster.kubeconfig), stage, late, fenced=fenced)) is not fenced
