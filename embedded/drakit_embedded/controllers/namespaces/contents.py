"""Deletes what is in a namespace: its pods first, then the objects of every other kind.

k8s.io/kubernetes/pkg/controller/namespace/deletion/namespaced_resources_deleter.go. A kind of which nothing is left is
not looked at again before all others are empty, too: nothing can be created in a namespace that is terminating.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from drakit_client.resources import PODS, Resource
from drakit_embedded.controllers.kinds.following import Kinds
from drakit_embedded.controllers.namespaces.conditions import Findings

_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_NOT_ALLOWED = 405
_IN_BACKGROUND = {"propagationPolicy": "Background"}


@dataclass(slots=True)
class Look:
    """What a look at a namespace has shown."""

    findings: Findings
    # The kinds that are not known to be empty: None for all of them.
    left: tuple[Resource, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the namespace can end."""
        return self.left == () and not self.findings.stale


class Contents:
    """Empties namespaces."""

    def __init__(self, connection: Connection, kinds: Kinds) -> None:
        self._connection, self._kinds = connection, kinds

    async def delete(self, namespace: Object, left: Iterable[Resource] | None = None) -> Look:
        """Delete what is there, or what is left since the last look, and look what remains."""
        found = await self._kinds.now()
        findings = Findings(stale=found.stale)
        if await self._pods_remain(namespace, findings):
            return Look(findings)
        others = [each for each in found.supporting("delete") if each.namespaced and each != PODS]
        kinds = others if left is None else [each for each in left if each in others]
        remaining = []
        for resource in kinds:
            at_once = "deletecollection" in found.kinds[resource.group, resource.plural].verbs
            if await self._remains(resource, namespace["metadata"]["name"], findings, at_once=at_once):
                remaining.append(resource)
        if not remaining and left is not None:
            return await self.delete(namespace)
        return Look(findings, tuple(remaining))

    async def _pods_remain(self, namespace: Object, findings: Findings) -> bool:
        """Delete the pods; while they last, nothing else is touched, nor told in the conditions."""
        name = namespace["metadata"]["name"]
        pods = (await self._connection.list(PODS, name))["items"]
        seconds = _longest_grace(pods) if pods else 0
        is_over = time.time() - gotime.seconds(namespace["metadata"]["deletionTimestamp"]) >= seconds
        own = Findings()
        remain = await self._remains(PODS, name, own, at_once=True, graceful=not is_over)
        findings.errors += own.errors
        return remain

    async def _remains(
        self, resource: Resource, namespace: str, findings: Findings, *, at_once: bool, graceful: bool = False
    ) -> bool:
        """Delete the objects of a kind; say whether some remain, or may do so, and note why."""
        try:
            items = await self._items(resource, namespace)
            if not all(item["metadata"].get("deletionTimestamp") for item in items):
                await self._delete(resource, namespace, items, at_once=at_once)
                items = await self._items(resource, namespace)
        except ApiError as error:
            if isinstance(error, NotFound) or error.code == _NOT_ALLOWED:
                return False
            findings.errors.append(error.message)
            return True
        finalizers = Counter(name for item in items for name in item["metadata"].get("finalizers") or ())
        if items:
            findings.remaining[f"{resource.plural}.{resource.group}"] = len(items)
            findings.finalizers += finalizers
        if items and not finalizers and not graceful:
            kind = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            findings.errors.append(f"unexpected items still remain in namespace: {namespace} for gvr: {kind}")
        return bool(items)

    async def _items(self, resource: Resource, namespace: str) -> list[Any]:
        listed = await self._connection.json("GET", resource.path(namespace), accept=_METADATA)
        return listed.get("items") or []

    async def _delete(self, resource: Resource, namespace: str, items: list[Any], *, at_once: bool) -> None:
        if at_once:
            await self._connection.request("DELETE", resource.path(namespace), params=_IN_BACKGROUND)
            return
        for item in items:
            try:
                await self._connection.delete(resource, item["metadata"]["name"], namespace, propagation="Background")
            except NotFound:
                continue


def _longest_grace(pods: Iterable[Object]) -> int:
    """Compute how many seconds pods may take to end that have not ended."""
    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    return max((pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in running), default=0)
