"""ResourceClaims as this scheduler knows them: what the watch shows, and what it has written or decided since.

Between the decision to allocate and the moment the watch shows it lie three requests. In that time the devices are
*pending*: they count as allocated for every other pod, and no second pod may allocate the same claim. What an own write
returned is kept until the watch has caught up, so that an old event never brings back an old state.

Source: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go`` and
``pkg/scheduler/util/assumecache``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from drakit_api.objects.allocations import results, results_of
from drakit_api.typed_objects import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)

Key = tuple[str, str]  # namespace, name
Observer = Callable[[ResourceClaim], None]
# resource.k8s.io/v1 ResourceClaimStatus: reservedFor has at most this many entries.
MAX_CONSUMERS = 256


def key_of(claim: ResourceClaim) -> Key:
    """Return (namespace, name)."""
    return claim["metadata"]["namespace"], claim["metadata"]["name"]


def uid_of(claim: ResourceClaim) -> str:
    """Return metadata.uid."""
    return claim["metadata"]["uid"]


def allocation_of(claim: ResourceClaim) -> AllocationResult | None:
    """Return status.allocation as recorded in the API."""
    return (claim.get("status") or {}).get("allocation")


def consumers(claim: ResourceClaim) -> list[ResourceClaimConsumerReference]:
    """Return status.reservedFor."""
    return (claim.get("status") or {}).get("reservedFor") or []


def reserved_for(claim: ResourceClaim, uid: str) -> bool:
    """Tell whether the claim is reserved for the pod of this uid."""
    return any(consumer.get("uid") == uid for consumer in consumers(claim))


def version(obj: ResourceClaim) -> int:
    """Return the resourceVersion as a number, 0 if it is none: versions of a resource can be compared (KEP-5504)."""
    text = obj["metadata"].get("resourceVersion", "")
    return int(text) if text.isdigit() else 0


class Claims:
    """All claims, and which devices each has, pending ones included.

    ``on_allocated`` and ``on_released`` are told the claim as it is with the allocation that begins or ends to count.
    """

    def __init__(self, on_allocated: Observer, on_released: Observer) -> None:
        self._claims: dict[Key, ResourceClaim] = {}
        self._own: dict[Key, ResourceClaim] = {}  # written here, and newer than what the watch has shown
        self._pending: dict[str, Key] = {}  # by uid
        self._allocated: dict[str, ResourceClaim] = {}  # by uid, as ``on_allocated`` was told
        self._on_allocated = on_allocated
        self._on_released = on_released

    def get(self, key: Key) -> ResourceClaim | None:
        """Return the newest known state of a claim; None if there is none."""
        return self._claims.get(key)

    def allocated(self) -> Iterable[ResourceClaim]:
        """Return the claims that have devices, as last known."""
        return (self._claims.get(key_of(claim), claim) for claim in self._allocated.values())

    def pending(self, uid: str) -> bool:
        """Tell whether an allocation of the claim is decided but not yet in the API."""
        return uid in self._pending

    def seen(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Take in a change that the watch shows: (None, new) for an addition, (old, None) for a deletion."""
        if new is None:
            assert old is not None
            self._forget(old)
            return
        key = key_of(new)
        own = self._own.get(key)
        if own is not None:
            if uid_of(own) == uid_of(new) and version(own) > version(new):
                return
            del self._own[key]
        self._store(key, new)

    def written(self, claim: ResourceClaim) -> None:
        """Take in what the API server returned after a write of our own."""
        key = key_of(claim)
        known = self._claims.get(key)
        if known is None or uid_of(known) != uid_of(claim) or version(known) > version(claim):
            return
        self._own[key] = claim
        self._store(key, claim)

    def expect(self, claim: ResourceClaim, allocation: AllocationResult) -> None:
        """Count the devices of an allocation as taken from the moment it is decided."""
        uid = uid_of(claim)
        self._pending[uid] = key_of(claim)
        self._set(uid, {**claim, "status": {**(claim.get("status") or {}), "allocation": allocation}})

    def settle(self, uid: str) -> None:
        """End a decision that is carried out or given up: from now on the API's state counts."""
        key = self._pending.pop(uid, None)
        if key is None:
            return
        claim = self._claims.get(key)
        self._set(uid, claim if claim is not None and uid_of(claim) == uid else None)

    def settle_all(self) -> None:
        """Drop all that was decided or written here; only what the watch shows from now on counts."""
        self._own.clear()
        for uid in list(self._pending):
            self.settle(uid)

    def _store(self, key: Key, claim: ResourceClaim) -> None:
        before = self._claims.get(key)
        if before is not None and uid_of(before) != uid_of(claim):
            self._forget(before)
        self._claims[key] = claim
        uid = uid_of(claim)
        if uid not in self._pending:
            self._set(uid, claim)

    def _forget(self, claim: ResourceClaim) -> None:
        key, uid = key_of(claim), uid_of(claim)
        known = self._claims.get(key)
        if known is not None and uid_of(known) == uid:
            del self._claims[key]
            self._own.pop(key, None)
        if uid not in self._pending:
            self._set(uid, None)

    def _set(self, uid: str, claim: ResourceClaim | None) -> None:
        before = self._allocated.get(uid)
        allocation = None if claim is None else allocation_of(claim)
        if before is not None:
            if allocation is not None and results(before) == results_of(allocation):
                return
            del self._allocated[uid]
            self._on_released(before)
        if claim is not None and allocation is not None:
            self._allocated[uid] = claim
            self._on_allocated(claim)
