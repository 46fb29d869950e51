"""Evicts pods from devices with a NoExecute taint, whether a driver or an administrator has put it there (KEP-5055).

A pod goes when one of its claims was allocated such a device without tolerating the taint, or when its time of
toleration is over (``drakit_client.taint_eviction``). The conditions of DeviceTaintRules, with which
k8s.io/kubernetes/pkg/controller/devicetainteviction tells its progress, are not written.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.core.tolerations import Taint
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.allocations import results
from drakit_api.typed_objects import (
    Device,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceSlice,
    ResourceSliceSpec,
)
from drakit_client.events import EventRecorder
from drakit_client.reflector import key_of
from drakit_client.resources import DEVICE_TAINT_RULES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_client.taint_eviction import OwnedTaint, TaintEviction, claim_keys
from drakit_embedded.controllers.informers import Informers


class DeviceTaintEviction:
    """Runs while the gate DRADeviceTaints is on; ``rules``: DRADeviceTaintRules too."""

    def __init__(self, informers: Informers, *, rules: bool) -> None:
        self._pods = informers.reflector(PODS)
        self._claims = informers.reflector(RESOURCE_CLAIMS)
        self._rules = informers.reflector(DEVICE_TAINT_RULES) if rules else None
        self._pods_by_claim = informers.index(PODS, claim_keys)
        self._claims_by_pool = informers.index(RESOURCE_CLAIMS, _pools)
        self._slices_by_pool = informers.index(RESOURCE_SLICES, _pool)
        self._eviction = TaintEviction(
            informers.connection,
            EventRecorder(informers.connection, "device-taint-eviction-controller"),
            pod=self._pods.store.get,
            claim=self._claims.store.get,
            taints=lambda result: map(OwnedTaint, self._taints(result)),
        )
        self._pods.on_change(self._pod_changed)
        self._claims.on_change(self._claim_changed)
        informers.reflector(RESOURCE_SLICES).on_change(self._slice_changed)
        if self._rules is not None:
            self._rules.on_change(self._rule_changed)

    async def run(self) -> None:
        """Evict until cancelled; the reflectors must be synced."""
        await self._eviction.run()

    # Find pods whose devices may have changed.

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None and new["spec"].get("nodeName"):
            self._eviction.add(key_of(new))
        elif old is not None:
            self._eviction.forget(old["metadata"]["uid"])

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if new is not None:
            self._add_pods_of(new)

    def _slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        for pool in {pool for each in (old, new) if each is not None and _is_tainted(each) for pool in _pool(each)}:
            for claim in self._claims_by_pool.get(pool):
                self._add_pods_of(claim)

    def _rule_changed(self, old: Object | None, new: Object | None) -> None:
        for claim in self._claims.store.values():
            if any(_selects(rule, result) for rule in (old, new) if rule for result in results(claim)):
                self._add_pods_of(claim)

    def _add_pods_of(self, claim: ResourceClaim) -> None:
        for pod in self._pods_by_claim.get(key_of(claim)):
            self._eviction.add(key_of(pod))

    def _taints(self, result: DeviceRequestAllocationResult) -> Iterator[Taint]:
        """Iterate over the taints of an allocated device."""
        device = self._device(result)
        yield from (device.get("taints") or ()) if device is not None else ()
        if self._rules is not None:
            yield from (rule["spec"]["taint"] for rule in self._rules.store.values() if _selects(rule, result))

    def _device(self, result: DeviceRequestAllocationResult) -> Device | None:
        """Find the device in the newest slices of its pool."""
        of_pool: list[ResourceSliceSpec] = [
            each["spec"] for each in self._slices_by_pool.get((result["driver"], result["pool"]))
        ]
        of_pool.sort(key=lambda spec: spec["pool"].get("generation", 0), reverse=True)
        devices = (device for spec in of_pool for device in spec.get("devices") or ())
        return next((device for device in devices if device["name"] == result["device"]), None)


def _pools(claim: ResourceClaim) -> Iterator[tuple[str, str]]:
    return ((result["driver"], result["pool"]) for result in results(claim))


def _pool(slice_: ResourceSlice) -> Iterator[tuple[str, str]]:
    spec = slice_["spec"]
    yield spec["driver"], spec["pool"]["name"]


def _is_tainted(slice_: ResourceSlice) -> bool:
    return any(device.get("taints") for device in slice_["spec"].get("devices") or ())


def _selects(rule: Object, result: DeviceRequestAllocationResult) -> bool:
    """Check whether a rule selects an allocated device; one without a selector selects nothing."""
    selector = rule["spec"].get("deviceSelector")
    return selector is not None and all(
        selector[field] == result[field] for field in ("driver", "pool", "device") if field in selector
    )
