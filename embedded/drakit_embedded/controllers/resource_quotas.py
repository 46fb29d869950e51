"""ResourceQuotas: what is used of each, counted anew when objects come and go.

The API server adds what it admits; here is what it cannot see: what has gone, pods that have ended, and all that was
there before the quota. Follows k8s.io/kubernetes/pkg/controller/resourcequota.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

from drakit_api.core.pod_claims import is_for_extended
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim
from drakit_client.reflector import Key, Reflector, key_of
from drakit_client.resources import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_QUOTAS, Resource
from drakit_client.work_queue import NotYet, WorkQueue
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.kinds.discovery import Discovered
from drakit_embedded.controllers.kinds.following import Kinds
from drakit_embedded.quota import amounts, scopes
from drakit_embedded.quota.amounts import Amounts
from drakit_embedded.quota.classes import DeviceClasses
from drakit_embedded.quota.evaluators import Evaluator, evaluator, is_counted
from drakit_embedded.quota.names import count_of, is_count

_RESYNC_SECONDS = 300.0
# What a kind must be capable of to be counted (GetQuotableResources).
_VERBS = ("create", "list", "watch", "delete")


class _Surroundings:
    """The pods, claims and device classes of the reflectors that a claim's usage depends on."""

    def __init__(self, informers: Informers, *, extended: bool) -> None:
        self._extended = extended
        self._classes = informers.reflector(DEVICE_CLASSES)
        self._pods = informers.reflector(PODS)
        self._claims = informers.reflector(RESOURCE_CLAIMS)

    @property
    def classes(self) -> DeviceClasses | None:
        return DeviceClasses(self._classes.store.values()) if self._extended else None

    def pod(self, namespace: str, name: str) -> Object | None:
        return self._pods.store.get((namespace, name))

    def claims(self, namespace: str) -> Iterator[ResourceClaim]:
        for key, claim in self._claims.store.items():
            if key[0] == namespace and is_for_extended(claim):
                yield claim


class ResourceQuotaController:
    """Copies ``spec.hard`` of quotas to ``status.hard``, and keeps ``status.used`` up to date."""

    def __init__(self, informers: Informers, kinds: Kinds, *, extended: bool = True) -> None:
        self._informers, self._kinds = informers, kinds
        self._connection = informers.connection
        self._around = _Surroundings(informers, extended=extended)
        self._quotas = informers.reflector(RESOURCE_QUOTAS)
        self._queue: WorkQueue[Key] = WorkQueue(self._sync, name="resource quota")
        self._quotas.on_change(self._changed)
        # The kinds that are counted: pods and claims always, others from the first quota that limits them.
        self._counted: dict[tuple[str, str], Reflector] = {}
        for resource in (PODS, RESOURCE_CLAIMS):
            self._count(resource, informers.reflector(resource))
        self._served = Discovered()
        kinds.on_change(self._follow)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _count(self, resource: Resource, reflector: Reflector) -> Reflector:
        if self._counted.get((resource.group, resource.plural)) is not reflector:
            self._counted[resource.group, resource.plural] = reflector
            judge = evaluator(resource.group, resource.plural, self._around)
            reflector.on_change(partial(self._object_changed, each=judge.counts_status))
        return reflector

    def _follow(self, found: Discovered) -> None:
        """Count anew for the quotas on kinds that may have come or gone."""
        self._served = found
        for key, quota in self._quotas.store.items():
            if any(is_count(name) for name in (quota.get("spec") or {}).get("hard") or ()):
                self._queue.add(key)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._queue.forget(key_of(old))
        elif old is None or old.get("spec") != new.get("spec") or not (new.get("status") or {}).get("hard"):
            self._queue.add(key_of(new))

    def _object_changed(self, old: Object | None, new: Object | None, *, each: bool) -> None:
        """Queue quotas after a change, also by new objects that were admitted while a quota was being counted.

        ``each``: whether every change of an object may change what it uses.
        """
        if not each and old is not None and new is not None and _phase(old) == _phase(new):
            return
        changed = new if new is not None else old
        assert changed is not None
        namespace = changed["metadata"].get("namespace")
        for key in self._quotas.store:
            if key[0] == namespace:
                self._queue.add(key)

    async def _sync(self, key: Key) -> float | None:
        quota = self._quotas.store.get(key)
        if quota is None:
            return None
        hard = amounts.parsed((quota.get("spec") or {}).get("hard"))
        status = quota.get("status") or {}
        used: Amounts = {**amounts.parsed(status.get("used")), **await self._usage(quota, list(hard))}
        wanted = {"hard": amounts.texts(hard), "used": amounts.texts(amounts.masked(used, hard.keys()))}
        if not _same(wanted, status):
            await self._connection.replace_status(RESOURCE_QUOTAS, {**quota, "status": wanted}, key[0])
        return _RESYNC_SECONDS

    async def _usage(self, quota: Object, names: list[str]) -> Amounts:
        """Sum up what is used of the names that can be counted."""
        total: Amounts = {}
        for resource in await self._resources(names):
            judge = evaluator(resource.group, resource.plural, self._around)
            matching = judge.matching(names)
            if not matching:
                continue
            reflector = self._count(resource, self._informers.passing(resource))
            if not reflector.has_synced:
                raise NotYet(f"{resource.plural} are not listed yet", level=logging.DEBUG)
            found = self._used(judge, quota, reflector)
            total = amounts.added(total, {name: found.get(name, amounts.NOTHING) for name in matching})
        return {**self._gone(names), **total}

    def _gone(self, names: list[str]) -> Amounts:
        """Count nothing of kinds whose definition, and with it all of their objects, is gone."""
        kinds = {count_of(*kind): kind for kind in self._counted}
        return {name: amounts.NOTHING for name in names if name in kinds and not self._kinds.exists(*kinds[name])}

    def _used(self, judge: Evaluator, quota: Object, reflector: Reflector) -> Amounts:
        namespace, wanted = quota["metadata"]["namespace"], scopes.of(quota)
        used: Amounts = {}
        for key, obj in reflector.store.items():
            if key[0] == namespace and all(judge.in_scope(scope, obj) for scope in wanted):
                used = amounts.added(used, judge.usage(obj))
        return used

    async def _resources(self, names: list[str]) -> list[Resource]:
        """List the kinds that may count for some of the names; for ``count/...`` names, discovery is asked again."""
        found = self._served
        if not found.kinds or any(is_count(name) for name in names):
            found = await self._kinds.now()
        return [kind for kind in found.supporting(*_VERBS) if kind.namespaced and is_counted(kind.group, kind.plural)]


def _phase(obj: Object) -> object:
    return (obj.get("status") or {}).get("phase")


def _same(wanted: Object, status: Object) -> bool:
    return all(amounts.parsed(wanted[key]) == amounts.parsed(status.get(key)) for key in ("hard", "used")) and (
        "hard" in status and "used" in status
    )
