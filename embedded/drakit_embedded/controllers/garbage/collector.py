"""Decides which objects go, and deletes them (garbagecollector.go).

Where the graph does not know an owner, the server is asked before anything is deleted. An owner of a kind that is not
served is neither there nor gone: what it owns stays until the kind is known.
"""

from __future__ import annotations

import logging
from typing import Literal

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import OwnerReference
from drakit_client.errors import NotFound
from drakit_client.events import EventRecorder
from drakit_client.resources import Resource
from drakit_client.work_queue import NotYet, WorkQueue
from drakit_embedded.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Node
from drakit_embedded.controllers.garbage.monitors import Monitors
from drakit_embedded.controllers.garbage.owners import MisplacedOwner, OwnerSearch, UnknownKind
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.kinds.discovery import Discovered
from drakit_embedded.controllers.kinds.following import Kinds

_WORKERS = 20

_Policy = Literal["Background", "Foreground", "Orphan"]


class GarbageCollector:
    """Deletes objects whose owners are all gone, in every kind that the server can delete."""

    def __init__(self, informers: Informers, kinds: Kinds) -> None:
        self._connection = informers.connection
        self._recorder = EventRecorder(self._connection, "garbage-collector-controller")
        self._kinds = kinds
        self._graph = Graph()
        self._owners = OwnerSearch(self._connection, self._observed)
        self._monitors = Monitors(informers, self._changed)
        # Objects that a monitor has shown which has ended since: they may be gone by now.
        self._stale: set[str] = set()
        # Objects with an owner of unknown kind.
        self._puzzled: set[str] = set()
        self._queue: WorkQueue[str] = WorkQueue(self._sync, name="garbage collector", limit=_WORKERS)
        kinds.on_change(self._follow)

    async def run(self) -> None:
        """Collect until cancelled; ``kinds`` must have been started."""
        await self._queue.run()

    def _follow(self, found: Discovered) -> None:
        self._owners.found = found
        if ended := self._monitors.follow(found):
            self._stale |= {uid for uid, node in self._graph.nodes.items() if _kind(node) in ended}
        for uid in list(self._stale):
            node = self._graph.nodes[uid]
            if self._monitors.get(node.resource) is not None:
                self._queue.add(uid)
            elif not self._kinds.exists(*_kind(node)):
                # A definition that is deleted outlives its objects; the last events of these were not waited for.
                self._removed(uid)
        for uid in self._puzzled:
            self._queue.add(uid)
        self._puzzled.clear()

    def _observed(self, uid: str) -> Node | None:
        return self._graph.nodes.get(uid) if uid not in self._stale else None

    def _changed(self, resource: Resource, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self._removed(old["metadata"]["uid"])
            return
        node = Node.of(resource, new)
        self._stale.discard(node.uid)
        before = self._graph.put(node)
        if before is None:
            self._check_dependents(node)
        self._tell_owners(before, node)
        if node.orphaning or node.deleting_dependents:
            self._queue.add(node.uid)
        if node.deleting_dependents and not (before is not None and before.deleting_dependents):
            for dependent in self._graph.dependents(node.uid):
                self._queue.add(dependent.uid)

    def _tell_owners(self, before: Node | None, node: Node) -> None:
        if (before.owners if before is not None else []) == node.owners:
            return
        owners = [*(before.owners if before is not None else ()), *node.owners]
        for reference in owners:
            # The owner may wait for this dependent to go, or to stop blocking it.
            owner = self._graph.nodes.get(reference["uid"])
            if owner is not None and owner.deleting_dependents:
                self._queue.add(owner.uid)
                self._queue.add(node.uid)
        for reference in node.owners:
            known = self._observed(reference["uid"])
            if known is None or not known.is_meant_by(reference, node):
                self._queue.add(node.uid)
            if known is not None:
                self._report_foreign(known, node, reference)

    def _check_dependents(self, owner: Node) -> None:
        """Queue those that were seen before their owner, and say something else of it than is true."""
        for dependent in self._graph.dependents(owner.uid):
            for reference in dependent.owners:
                if reference["uid"] == owner.uid and not owner.is_meant_by(reference, dependent):
                    self._queue.add(dependent.uid)
                    self._report_foreign(owner, dependent, reference)

    def _report_foreign(self, owner: Node, dependent: Node, reference: OwnerReference) -> None:
        """Tell by an event that an owner is in another namespace (reportInvalidNamespaceOwnerRef)."""
        if owner.namespace in ("", dependent.namespace):
            return
        wanted = f"{reference['apiVersion']}/{reference['kind']}, namespace: {dependent.namespace}"
        text = f"ownerRef [{wanted}, name: {reference['name']}, uid: {owner.uid}] does not exist in namespace"
        regarding = {
            "apiVersion": dependent.resource.api_version,
            "kind": dependent.resource.kind,
            "namespace": dependent.namespace,
            "name": dependent.name,
            "uid": dependent.uid,
        }
        message = f"{text} {quote(dependent.namespace)}"
        self._recorder.event(regarding, "Warning", "OwnerRefInvalidNamespace", message)

    def _removed(self, uid: str) -> None:
        self._stale.discard(uid)
        node = self._graph.remove(uid)
        if node is None:
            return
        self._queue.forget(uid)
        self._puzzled.discard(uid)
        self._owners.remember_absent(node)
        for reference in node.owners:
            parent = self._graph.nodes.get(reference["uid"])
            if parent is not None and parent.deleting_dependents:
                self._queue.add(parent.uid)
        for dependent in self._graph.dependents(uid):
            self._queue.add(dependent.uid)

    async def _sync(self, uid: str) -> None:
        node = self._graph.nodes.get(uid)
        if node is None:
            return
        if uid in self._stale:
            self._verify(node)
        elif node.orphaning:
            await self._orphan_dependents(node)
        elif node.deleting_dependents:
            await self._finish_foreground(node)
        elif not node.deleting and node.owners:
            await self._collect(node)

    def _verify(self, node: Node) -> None:
        """Forget an object that a new monitor of its kind does not show."""
        monitor = self._monitors.get(node.resource)
        if monitor is None:
            return
        if not monitor.reflector.has_synced:
            raise NotYet(f"{node.resource.plural} are not listed yet", level=logging.DEBUG)
        self._removed(node.uid)

    async def _orphan_dependents(self, owner: Node) -> None:
        for dependent in self._graph.dependents(owner.uid):
            await self._drop_owners(dependent, {owner.uid})
        await self._drop_finalizer(owner, ORPHAN)

    async def _finish_foreground(self, owner: Node) -> None:
        """Let the owner go once no dependent blocks it; until then, delete the dependents."""
        blocking = [dependent for dependent in self._graph.dependents(owner.uid) if dependent.blocks(owner.uid)]
        if not blocking:
            await self._drop_finalizer(owner, FOREGROUND)
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self._queue.add(dependent.uid)

    async def _collect(self, node: Node) -> None:
        try:
            owners = await self._owners.classify(node)
        except UnknownKind:
            self._puzzled.add(node.uid)
            raise
        except MisplacedOwner:
            return
        if owners.solid:
            if gone := owners.dangling | owners.waiting:
                await self._drop_owners(node, gone)
            if owners.unobserved:
                raise NotYet("an owner is not shown by a watch yet", level=logging.DEBUG)
        elif owners.waiting and self._graph.dependents(node.uid):
            await self._unblock_cycle(node)
            await self._delete(node, "Foreground")
        elif ORPHAN in node.finalizers:
            await self._delete(node, "Orphan")
        elif FOREGROUND in node.finalizers:
            await self._delete(node, "Foreground")
        else:
            await self._delete(node, "Background")

    async def _unblock_cycle(self, node: Node) -> None:
        """Stop an object from blocking an owner that it waits for itself: both would stay for ever."""
        if any(dependent.deleting_dependents for dependent in self._graph.dependents(node.uid)):
            await self._set_owners(node, [{**owner, "blockOwnerDeletion": False} for owner in node.owners])

    async def _drop_owners(self, node: Node, uids: set[str]) -> None:
        await self._set_owners(node, [owner for owner in node.owners if owner["uid"] not in uids])

    async def _set_owners(self, node: Node, owners: list[OwnerReference]) -> None:
        latest = await self._latest(node)
        if latest is None:
            return
        version = latest["metadata"]["resourceVersion"]
        patch = {"metadata": {"uid": node.uid, "resourceVersion": version, "ownerReferences": owners or None}}
        await self._patch(node, patch)

    async def _drop_finalizer(self, node: Node, finalizer: str) -> None:
        latest = await self._latest(node)
        if latest is None:
            return
        finalizers = latest["metadata"].get("finalizers") or []
        if finalizer in finalizers:
            kept = [entry for entry in finalizers if entry != finalizer]
            version = latest["metadata"]["resourceVersion"]
            await self._patch(node, {"metadata": {"resourceVersion": version, "finalizers": kept or None}})

    async def _latest(self, node: Node) -> Object | None:
        try:
            latest = await self._connection.get(node.resource, node.name, node.namespace or None)
        except NotFound:
            return None
        return latest if latest["metadata"]["uid"] == node.uid else None

    async def _patch(self, node: Node, patch: Object) -> None:
        try:
            await self._connection.patch(node.resource, node.name, patch, node.namespace or None)
        except NotFound:
            return

    async def _delete(self, node: Node, policy: _Policy) -> None:
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


def _kind(node: Node) -> tuple[str, str]:
    return node.resource.group, node.resource.plural
