"""The garbage collector: what nobody owns any more goes, and owners wait for what they own if asked to.

Follows k8s.io/kubernetes/pkg/controller/garbagecollector (garbagecollector.go, graph_builder.go): a graph of owners and
dependents of all kinds, background and foreground deletion, orphaning. Where the graph does not know an owner, the
server is asked before anything is deleted.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta, OwnerReference
from drakit_client.errors import NotFound
from drakit_client.resources import Resource
from drakit_client.work_queue import NotYet, WorkQueue
from drakit_embedded.controllers import discovery
from drakit_embedded.controllers.informers import Informers

# Not watched: there are many events, and they own nothing (garbagecollector.go, DefaultIgnoredResources).
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

_WORKERS = 20
_REMEMBERED_ABSENT = 4096

_Policy = Literal["Background", "Foreground", "Orphan"]


@dataclass(slots=True)
class _Node:
    """One object of the graph, as last seen."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    version: str = ""
    owners: list[OwnerReference] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)
    deleting: bool = False

    @property
    def deleting_dependents(self) -> bool:
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphaning(self) -> bool:
        return self.deleting and ORPHAN in self.finalizers


class GarbageCollector:
    """Deletes objects whose owners are all gone, in every kind that the server can delete."""

    def __init__(self, informers: Informers) -> None:
        self._informers = informers
        self._connection = informers.connection
        self._nodes: dict[str, _Node] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._resources: dict[tuple[str, str], Resource] = {}
        self._absent: OrderedDict[str, None] = OrderedDict()
        self._queue: WorkQueue[str] = WorkQueue(self._sync, name="garbage collector", limit=_WORKERS)

    async def discover(self) -> None:
        """Ask the server for its kinds and watch them all. Can be called again, for kinds that came later."""
        for resource in await discovery.deletable(self._connection):
            known = (resource.group, resource.kind) in self._resources
            if known or (resource.group, resource.plural) in _IGNORED:
                continue
            self._resources[(resource.group, resource.kind)] = resource
            reflector = self._informers.reflector(resource)
            for obj in reflector.store.values():
                self._changed(resource, None, obj)
            reflector.on_change(partial(self._changed, resource))

    async def run(self) -> None:
        """Collect until cancelled; ``discover`` must have been called."""
        await self._queue.run()

    def _changed(self, resource: Resource, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self._removed(old["metadata"]["uid"])
            return
        metadata: ObjectMeta = new["metadata"]
        uid = metadata["uid"]
        before = self._nodes.get(uid)
        node = self._nodes[uid] = _Node(
            resource,
            metadata.get("namespace", ""),
            metadata["name"],
            uid,
            metadata["resourceVersion"],
            metadata.get("ownerReferences") or [],
            metadata.get("finalizers") or [],
            "deletionTimestamp" in metadata,
        )
        self._link(before, node)
        if node.orphaning or node.deleting_dependents:
            self._queue.add(uid)
        if node.deleting_dependents and not (before is not None and before.deleting_dependents):
            for dependent in self._dependents.get(uid, ()):
                self._queue.add(dependent)

    def _link(self, before: _Node | None, node: _Node) -> None:
        old_owners = {owner["uid"]: owner for owner in (before.owners if before is not None else ())}
        new_owners = {owner["uid"]: owner for owner in node.owners}
        if old_owners == new_owners:
            return
        for owner in old_owners.keys() - new_owners.keys():
            self._unlink(owner, node.uid)
        for owner in new_owners.keys() - old_owners.keys():
            self._dependents.setdefault(owner, {})[node.uid] = None
        for owner in old_owners.keys() | new_owners.keys():
            # The owner may wait for this dependent to go, or to stop blocking it.
            if (parent := self._nodes.get(owner)) is not None and parent.deleting_dependents:
                self._queue.add(owner)
                self._queue.add(node.uid)
        if any(owner not in self._nodes for owner in new_owners):
            self._queue.add(node.uid)

    def _unlink(self, owner: str, dependent: str) -> None:
        dependents = self._dependents.get(owner, {})
        dependents.pop(dependent, None)
        if not dependents:
            self._dependents.pop(owner, None)

    def _removed(self, uid: str) -> None:
        node = self._nodes.pop(uid, None)
        if node is None:
            return
        self._queue.forget(uid)
        self._remember_absent(uid)
        for owner in node.owners:
            self._unlink(owner["uid"], uid)
            parent = self._nodes.get(owner["uid"])
            if parent is not None and parent.deleting_dependents:
                self._queue.add(parent.uid)
        for dependent in self._dependents.get(uid, ()):
            self._queue.add(dependent)

    def _remember_absent(self, uid: str) -> None:
        self._absent[uid] = None
        if len(self._absent) > _REMEMBERED_ABSENT:
            self._absent.popitem(last=False)

    async def _sync(self, uid: str) -> None:
        node = self._nodes.get(uid)
        if node is None:
            return
        if node.orphaning:
            await self._orphan_dependents(node)
        elif node.deleting_dependents:
            await self._finish_foreground(node)
        elif not node.deleting and node.owners:
            await self._collect(node)

    async def _orphan_dependents(self, owner: _Node) -> None:
        for uid in list(self._dependents.get(owner.uid, ())):
            if (dependent := self._nodes.get(uid)) is not None:
                await self._drop_owners(dependent, {owner.uid})
        await self._drop_finalizer(owner, ORPHAN)

    async def _finish_foreground(self, owner: _Node) -> None:
        """Let the owner go once no dependent blocks it; until then, delete the dependents."""
        blocking = [
            dependent
            for uid in self._dependents.get(owner.uid, ())
            if (dependent := self._nodes.get(uid)) is not None and _blocks(dependent, owner.uid)
        ]
        if not blocking:
            await self._drop_finalizer(owner, FOREGROUND)
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self._queue.add(dependent.uid)

    async def _collect(self, node: _Node) -> None:
        solid, dangling, waiting = await self._classify(node)
        if solid:
            if dangling | waiting:
                await self._drop_owners(node, dangling | waiting)
        elif waiting and self._dependents.get(node.uid):
            await self._unblock_cycle(node)
            await self._delete(node, "Foreground")
        elif ORPHAN in node.finalizers:
            await self._delete(node, "Orphan")
        elif FOREGROUND in node.finalizers:
            await self._delete(node, "Foreground")
        else:
            await self._delete(node, "Background")

    async def _classify(self, node: _Node) -> tuple[set[str], set[str], set[str]]:
        """Split owners (by uid): those that exist, that do not, and that wait for this object in the foreground."""
        solid, dangling, waiting = set(), set(), set()
        for reference in node.owners:
            uid = reference["uid"]
            owner = self._nodes.get(uid)
            if owner is None and (uid in self._absent or not await self._exists(node, reference)):
                dangling.add(uid)
            elif owner is not None and owner.deleting_dependents:
                waiting.add(uid)
            else:
                solid.add(uid)
        return solid, dangling, waiting

    async def _exists(self, node: _Node, reference: OwnerReference) -> bool:
        group = reference["apiVersion"].rpartition("/")[0]
        resource = self._resources.get((group, reference["kind"]))
        if resource is None:
            raise NotYet(f"unknown kind of owner: {reference['apiVersion']} {reference['kind']}")
        if resource.namespaced and not node.namespace:
            return True  # An invalid reference: nothing can be said about it, so nothing is deleted.
        try:
            owner = await self._connection.get(resource, reference["name"], node.namespace or None)
        except NotFound:
            owner = None
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            self._remember_absent(reference["uid"])
            return False
        return True

    async def _unblock_cycle(self, node: _Node) -> None:
        """Stop an object from blocking an owner that it waits for itself: both would stay for ever."""
        dependents = (self._nodes.get(uid) for uid in self._dependents.get(node.uid, ()))
        if any(dependent is not None and dependent.deleting_dependents for dependent in dependents):
            await self._set_owners(node, [{**owner, "blockOwnerDeletion": False} for owner in node.owners])

    async def _drop_owners(self, node: _Node, uids: set[str]) -> None:
        await self._set_owners(node, [owner for owner in node.owners if owner["uid"] not in uids])

    async def _set_owners(self, node: _Node, owners: list[OwnerReference]) -> None:
        latest = await self._latest(node)
        if latest is None:
            return
        version = latest["metadata"]["resourceVersion"]
        patch = {"metadata": {"uid": node.uid, "resourceVersion": version, "ownerReferences": owners or None}}
        await self._patch(node, patch)

    async def _drop_finalizer(self, node: _Node, finalizer: str) -> None:
        latest = await self._latest(node)
        if latest is None:
            return
        finalizers = latest["metadata"].get("finalizers") or []
        if finalizer in finalizers:
            kept = [entry for entry in finalizers if entry != finalizer]
            version = latest["metadata"]["resourceVersion"]
            await self._patch(node, {"metadata": {"resourceVersion": version, "finalizers": kept or None}})

    async def _latest(self, node: _Node) -> Object | None:
        try:
            latest = await self._connection.get(node.resource, node.name, node.namespace or None)
        except NotFound:
            return None
        return latest if latest["metadata"]["uid"] == node.uid else None

    async def _patch(self, node: _Node, patch: Object) -> None:
        try:
            await self._connection.patch(node.resource, node.name, patch, node.namespace or None)
        except NotFound:
            return

    async def _delete(self, node: _Node, policy: _Policy) -> None:
        """Delete an object if it is still as decided upon; otherwise its change queues it again."""
        try:
            await self._connection.delete(
                node.resource,
                node.name,
                node.namespace or None,
                uid=node.uid,
                resource_version=node.version,
                propagation=policy,
            )
        except NotFound:
            return


def _blocks(dependent: _Node, owner: str) -> bool:
    return any(reference["uid"] == owner and reference.get("blockOwnerDeletion") for reference in dependent.owners)
