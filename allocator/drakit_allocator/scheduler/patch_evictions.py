"""Evicts pods from devices that a ResourceSlicePatch taints with NoExecute.

Controllers evict for slices and DeviceTaintRules. Patches are known to this scheduler only, so it evicts for them, and
the same happens beside Kubernetes' own controllers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from drakit_allocator.devices.devices import PoolID, PublishedSlice
from drakit_allocator.devices.turns import TurnOver, turn
from drakit_allocator.scheduler import claims as claim_store
from drakit_allocator.snapshot import Snapshot
from drakit_api.core.pod_claims import claim_names
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.objects.allocations import results
from drakit_api.slice_patches.patch import DeviceFilter, SlicePatch
from drakit_api.typed_objects import DeviceRequestAllocationResult, ResourceClaim
from drakit_client.connection import Connection
from drakit_client.events import EventRecorder
from drakit_client.resources import RESOURCE_SLICE_PATCHES
from drakit_client.taint_eviction import EFFECT, OwnedTaint, TaintEviction
from drakit_client.work_queue import NotYet

# Changes of devices within so many seconds are looked at together.
_TOGETHER = 0.02


class PatchEvictions:
    """Looks at the pods of claims and devices that change; ``pod`` returns one as last seen.

    It does not take the lease: to delete a pod gives nobody a device, and each scheduler that knows patches decides the
    same.
    """

    def __init__(
        self,
        connection: Connection,
        events: EventRecorder,
        snapshot: Snapshot,
        claims: claim_store.Claims,
        *,
        pod: Callable[[claim_store.Key], Object | None],
    ) -> None:
        self._snapshot = snapshot
        self._claims = claims
        # The devices of patches that have evicted lately: the end of one may cancel what is planned.
        self._evicting: list[DeviceFilter] = []
        self._soon: asyncio.TimerHandle | None = None
        self._eviction = TaintEviction(connection, events, pod=pod, claim=claims.get, taints=self._taints)

    async def run(self) -> None:
        """Evict until cancelled."""
        await self._eviction.run()

    def devices_changed(self) -> None:
        """Look at all pods soon; slices often change one after the other."""
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(_TOGETHER, self.look_at_all)

    def look_at_all(self) -> None:
        """Look at all pods with devices that a patch evicts from, or did when this was last called."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        before, self._evicting = self._evicting, [one.filter for one in self._snapshot.overlay.patches if _evicts(one)]
        concerned = _Pools([*before, *self._evicting])
        for claim in self._claims.allocated() if concerned.filters else ():
            if any((result["driver"], result["pool"]) in concerned for result in results(claim)):
                self._add_users(claim)

    def claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Look at the pods that use a claim."""
        if new is not None and self._evicting:
            self._add_users(new)

    def pod_changed(self, old: Object | None, new: Object | None) -> None:
        """Look at a pod that has come to a node."""
        if new is None and old is not None:
            self._eviction.forget(old["metadata"]["uid"])
        elif new is not None and self._evicting and any(claim_names(new)):
            self._eviction.add((new["metadata"]["namespace"], new["metadata"]["name"]))

    def _add_users(self, claim: ResourceClaim) -> None:
        for consumer in claim_store.consumers(claim):
            if consumer.get("resource") == "pods":
                self._eviction.add((claim["metadata"]["namespace"], consumer["name"]))

    def _taints(self, result: DeviceRequestAllocationResult) -> Iterator[OwnedTaint]:
        """Yield the taints that patches give to an allocated device, with the time since when they are there."""
        published, position = self._device(result)
        if published is None or published.change is None:
            return
        for patch in published.change.patches_of(position):
            since, owner = taints_since(patch.obj), f"{RESOURCE_SLICE_PATCHES.kind} {patch.name}"
            yield from (OwnedTaint({"timeAdded": since, **taint}, owner) for taint in patch.taints)

    def _device(self, result: DeviceRequestAllocationResult) -> tuple[PublishedSlice | None, int]:
        """Find a device as patches make it look. Raises ``NotYet`` while that takes longer than a turn."""
        found = self._snapshot.slices.devices((result["driver"], result["pool"]), result["device"])
        try:
            with turn():
                return next(found, (None, 0))
        except TurnOver:
            raise NotYet(f"patches of pool {result['driver']}/{result['pool']} are being evaluated") from None


class _Pools:
    """The pools that any of some filters may concern; each is judged once."""

    def __init__(self, filters: Sequence[DeviceFilter]) -> None:
        self.filters = filters
        self._known: dict[PoolID, bool] = {}

    def __contains__(self, pool: PoolID) -> bool:
        found = self._known.get(pool)
        if found is None:
            found = self._known[pool] = any(one.may_concern(*pool) for one in self.filters)
        return found


def _evicts(patch: SlicePatch) -> bool:
    return any(taint.get("effect") == EFFECT for taint in patch.taints)


def taints_since(patch: ReadOnlyObject) -> str:
    """Return when the taints of a patch were changed last, as far as its metadata tells.

    Of taints in slices and rules an API server sets ``timeAdded``, which it does not do for kinds of a definition. Who
    owns the taints is in the managed fields, with the time of the last change of anything that is his. All owners want
    the taints as they are, so the earliest of these times is the nearest one.
    """
    metadata = patch["metadata"]
    changes = [
        entry["time"]
        for entry in metadata.get("managedFields") or ()
        if "time" in entry and "f:taints" in ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:devices", {})
    ]
    return str(min(changes, default=metadata.get("creationTimestamp") or ""))
