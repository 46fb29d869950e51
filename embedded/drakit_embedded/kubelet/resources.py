"""Prepares the claims of a pod before it starts and unprepares them after it ends.

Follows k8s.io/kubernetes/pkg/kubelet/cm/dra/manager.go, with its words in every error: they end up in events. One
difference, which drivers cannot tell from good luck: two pods that start with the same claim at the same time do not
both call the driver, the second waits for the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from weakref import WeakValueDictionary

from drakit_api.core.pod_claims import PodClaimError, check_owner, claim_name, extended_claim_name, is_reserved_for
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import as_claim
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_client.resources import RESOURCE_CLAIMS
from drakit_embedded.kubelet.claims import ClaimCache, ClaimInfo
from drakit_embedded.kubelet.device_health import HealthCache
from drakit_embedded.kubelet.plugin_calls import CallError
from drakit_embedded.kubelet.plugins import Plugin, PluginError, Plugins
from drakit_embedded.kubelet.release import Release

_PREPARE = "NodePrepareResources"
_UNPREPARE = "NodeUnprepareResources"


class PrepareError(Exception):
    """Claims are not (un)prepared; the message is what the kubelet puts after "Failed to prepare dynamic resources"."""


class Resources:
    """Dynamic resources of the pods of one node."""

    def __init__(
        self, connection: Connection, cache: ClaimCache, plugins: Plugins, health: HealthCache, release: Release
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._plugins = plugins
        self._health = health
        self._release = release
        # Locks by claim uid, for as long as a pod is being started with the claim.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def prepare(self, pod: Object) -> None:
        """Prepare all claims of the pod, each once; raises ``PrepareError``."""
        try:
            await self._prepare(pod)
        except (PodClaimError, PluginError, CallError, OSError) as error:
            raise PrepareError(f"prepare dynamic resources: {error}") from error

    async def unprepare(self, pod_uid: str) -> None:
        """Remove the pod from its claims, and unprepare those that no other pod uses; raises ``PrepareError``."""
        infos = self._cache.of_pod(pod_uid)
        if not infos:
            return
        try:
            await self._unprepare(pod_uid, infos)
        except (PluginError, CallError, OSError) as error:
            raise PrepareError(f"unprepare dynamic resources: {error}") from error

    def stale_pods(self, active: Iterable[str]) -> set[str]:
        """Find pods that still have references to claims but are not among the active ones."""
        return {uid for info in self._cache.all() for uid in info.pods} - set(active)

    def holds(self, pod_uid: str) -> bool:
        """Check whether the pod may still have prepared claims; such a pod does not count as finished yet."""
        return bool(self._cache.of_pod(pod_uid))

    def cdi_ids(self, pod: Object, container: Object) -> list[str]:
        """List the CDI device ids for exactly the claims and requests that a container names.

        Raises:
            PrepareError: if one of the claims is not known.
        """
        found: list[str] = []
        for name, request in _container_requests(pod, container):
            info = self._cache.get(pod["metadata"]["namespace"], name)
            if info is None:
                raise PrepareError(f"unable to get information for ResourceClaim {name}")
            found += info.cdi_ids(request)
        return found

    def allocated(self, pod: Object, container: Object) -> list[Object]:
        """Build ``allocatedResourcesStatus`` of a container: the health of each device of each claim that it names."""
        if not self._release.reports_health:
            return []
        entries = {entry["name"]: entry for entry in pod["spec"].get("resourceClaims") or ()}
        statuses = []
        for claim in (container.get("resources") or {}).get("claims") or ():
            info = self._info(pod, entries.get(claim["name"]))
            if info is None:
                continue
            request = claim.get("request", "")
            resource_name = f"claim:{claim['name']}" + (f"/{request}" if request else "")
            if devices := self._device_health(info, request):
                statuses.append({"name": resource_name, "resources": devices})
        return statuses

    def users_of(self, driver: str, devices: Iterable[tuple[str, str]]) -> set[str]:
        """Find the pods (by uid) that have any of these devices (pool, name) of a driver."""
        wanted = set(devices)
        return {
            uid
            for info in self._cache.all()
            if driver in info.drivers and any((d.pool, d.name) in wanted for d in info.drivers[driver].devices)
            for uid in info.pods
        }

    async def _prepare(self, pod: Object) -> None:
        found = [await self._validate(pod, name, must_own) for name, must_own in _names(pod)]
        async with AsyncExitStack() as locks:
            # Always in the same order, so that two pods that share two claims cannot wait for each other.
            for uid in sorted({info.uid for info in found}):
                await locks.enter_async_context(self._locks.setdefault(uid, asyncio.Lock()))
            shared = [self._attach(pod, info) for info in found]
            self._cache.save()
            todo = [info for info in shared if not info.prepared]
            for plugin, claims in self._batches(todo):
                await self._prepare_batch(plugin, claims)
            for info in todo:
                info.prepared = True
            self._cache.save()

    async def _validate(self, pod: Object, name: str, must_own: bool) -> ClaimInfo:
        """Check everything that can be checked before anything changes, so that a bad pod can be deleted freely."""
        try:
            claim = as_claim(await self._connection.get(RESOURCE_CLAIMS, name, pod["metadata"]["namespace"]))
        except ApiError as error:
            raise PodClaimError(f"fetch ResourceClaim {name}: {error}") from error
        if must_own:
            check_owner(pod, claim)
        if not is_reserved_for(pod, claim):
            uids = pod["metadata"]["uid"], claim["metadata"]["uid"]
            raise PodClaimError(
                f"pod {pod['metadata']['name']} ({uids[0]}) is not allowed to use ResourceClaim {name} ({uids[1]})"
            )
        try:
            info = ClaimInfo.from_claim(claim, may_skip=self._release.knows_skipped_operations)
        except ValueError as error:
            raise PodClaimError(f"ResourceClaim {name}: {error}") from error
        for driver, state in info.drivers.items():
            if not state.does_skip(_PREPARE):
                self._plugins.get(driver)
        return info

    def _attach(self, pod: Object, info: ClaimInfo) -> ClaimInfo:
        """Add the pod to the users of the claim; returns the entry that all pods of the claim share."""
        shared = self._cache.get(info.namespace, info.name)
        if shared is None:
            self._cache.add(shared := info)
        if shared.uid != info.uid:
            raise PodClaimError(
                f"old ResourceClaim with same name {info.name} and different UID {shared.uid} still exists "
                "(previous pod force-deleted?!)"
            )
        if shared.unpreparing:
            raise PodClaimError(f"ResourceClaim {info.name} is being unprepared")
        shared.pods.add(pod["metadata"]["uid"])
        return shared

    def _batches(self, infos: Sequence[ClaimInfo]) -> list[tuple[Plugin, list[ClaimInfo]]]:
        batches: dict[str, list[ClaimInfo]] = {}
        for info in infos:
            for driver, state in info.drivers.items():
                if not state.does_skip(_PREPARE) and info not in batches.setdefault(driver, []):
                    batches[driver].append(info)
        return [(self._plugins.get(driver), claims) for driver, claims in batches.items() if claims]

    async def _prepare_batch(self, plugin: Plugin, claims: list[ClaimInfo]) -> None:
        try:
            response = await plugin.client.prepare(claims)
        except CallError as error:
            raise PodClaimError(f"{_PREPARE}: {error}") from error
        by_uid = {info.uid: info for info in claims}
        for uid, prepared in response.items():
            info = by_uid.get(uid)
            if info is None:
                raise PodClaimError(f"{_PREPARE} returned result for unknown claim UID {uid}")
            if prepared.error:
                raise PodClaimError(f"{_PREPARE} failed for ResourceClaim {info.name}: {prepared.error}")
            info.drivers[plugin.driver].devices = prepared.devices
        if len(response) < len(claims):
            raise PodClaimError(f"{_PREPARE} skipped {len(claims) - len(response)} ResourceClaims")

    async def _unprepare(self, pod_uid: str, infos: list[ClaimInfo]) -> None:
        last = []
        for info in infos:
            if len(info.pods) > 1:
                info.pods.discard(pod_uid)
            else:
                info.unpreparing = True
                last.append(info)
        batches: dict[str, list[ClaimInfo]] = {}
        for info in last:
            for driver, state in info.drivers.items():
                if not state.does_skip(_UNPREPARE):
                    batches.setdefault(driver, []).append(info)
        for driver, claims in batches.items():
            await self._unprepare_batch(driver, claims)
        for info in last:
            self._cache.remove(info)
        self._cache.save()

    async def _unprepare_batch(self, driver: str, claims: list[ClaimInfo]) -> None:
        plugin = self._plugins.get(driver)
        try:
            response = await plugin.client.unprepare(claims)
        except CallError as error:
            raise PluginError(f"{_UNPREPARE}: {error}") from error
        names = {info.uid: info.name for info in claims}
        for uid, failure in response.items():
            if uid not in names:
                raise PluginError(f"{_UNPREPARE} returned result for unknown claim UID {uid}")
            if failure:
                raise PluginError(f"{_UNPREPARE} failed for ResourceClaim {names[uid]}: {failure}")
        if len(response) < len(claims):
            raise PluginError(f"{_UNPREPARE} skipped {len(claims) - len(response)} ResourceClaims")

    def _info(self, pod: Object, pod_claim: Object | None) -> ClaimInfo | None:
        if pod_claim is None:
            return None
        try:
            name, _ = claim_name(pod, pod_claim)
        except PodClaimError:
            return None
        return self._cache.get(pod["metadata"]["namespace"], name) if name else None

    def _device_health(self, info: ClaimInfo, request: str) -> list[Object]:
        base = request.partition("/")[0]
        found: dict[str, Object] = {}
        for driver, state in info.drivers.items():
            for device in state.devices:
                if base and device.requests and base not in device.requests:
                    continue
                resource_id = device.cdi_ids[0] if device.cdi_ids else f"{driver}/{device.pool}/{device.name}"
                health = self._health.get(driver, device.pool, device.name)
                entry = {"resourceID": resource_id, "health": health.state}
                if health.message and self._release.reports_health_messages:
                    entry["message"] = health.message
                found.setdefault(resource_id, entry)
        return list(found.values())


def _names(pod: Object) -> list[tuple[str, bool]]:
    """Name of each claim of a pod and whether the pod must own it."""
    names = [claim_name(pod, pod_claim) for pod_claim in pod["spec"].get("resourceClaims") or ()]
    found = [(name, must_own) for name, must_own in names if name]
    if extended := extended_claim_name(pod):
        found.append((extended, False))
    return found


def _container_requests(pod: Object, container: Object) -> list[tuple[str, str]]:
    """List (claim, request) of a container; the request is empty where the container takes all of a claim."""
    asked: dict[str, list[str]] = {}
    for entry in (container.get("resources") or {}).get("claims") or ():
        asked.setdefault(entry["name"], []).append(entry.get("request", ""))
    found = []
    for pod_claim in pod["spec"].get("resourceClaims") or ():
        if pod_claim["name"] in asked:
            name, _ = claim_name(pod, pod_claim)
            if name:
                found += [(name, request) for request in asked[pod_claim["name"]]]
    extended = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
    for mapping in extended.get("requestMappings") or ():
        if mapping["containerName"] == container["name"]:
            found.append((extended["resourceClaimName"], mapping["requestName"]))
    return found
