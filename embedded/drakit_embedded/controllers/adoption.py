"""Which pods are a controller's: those that it owns and selects; matching orphans are adopted, strangers released.

Follows k8s.io/kubernetes/pkg/controller/controller_ref_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drakit_api.core import label_selectors
from drakit_api.core.pod_claims import controller_reference
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.typed_objects import ObjectMeta
from drakit_client.reflector import Key
from drakit_client.resources import PODS, REPLICATION_CONTROLLERS, Resource
from drakit_embedded.controllers.informers import Created, Informers
from drakit_embedded.controllers.ownership import controller_uid, reference_to
from drakit_embedded.controllers.pods import is_active


class PodOwnership:
    """The pods of owners of one kind, those included that were just created and are not shown yet."""

    def __init__(self, informers: Informers, owners: Resource, created: Created) -> None:
        self._connection = informers.connection
        self._owners = owners
        self._shown_owners = informers.reflector(owners)
        self._by_owner = informers.index(PODS, controller_uid)
        self._orphans = informers.index(PODS, _orphan_namespace)
        self._created = created

    def concerned(self, old: Object | None, new: Object | None) -> Iterator[Key]:
        """Find the owners to sync after a pod changed: its old and new one, or all that select it as an orphan."""
        for pod in (old, new):
            owner = controller_reference(pod) if pod is not None else None
            if pod is not None and owner is not None and owner["kind"] == self._owners.kind:
                yield pod["metadata"]["namespace"], owner["name"]
        if new is not None and controller_reference(new) is None and new["metadata"].get("labels"):
            for key, candidate in self._shown_owners.store.items():
                if key[0] == new["metadata"]["namespace"] and self._selects(candidate, new):
                    yield key

    async def claim(self, owner: Object) -> list[Object]:
        """Return the pods of an owner after adopting and releasing; an owner that is being deleted changes none."""
        uid, namespace = owner["metadata"]["uid"], owner["metadata"]["namespace"]
        pending = [pod for pod in self._created.pending() if uid in controller_uid(pod)]
        mine = []
        for pod in [*self._by_owner.get(uid), *pending]:
            if self._selects(owner, pod) or not is_active(pod):
                mine.append(pod)
            elif not owner["metadata"].get("deletionTimestamp"):
                await self._patch_owners(pod, {"$patch": "delete", "uid": uid})
        if not owner["metadata"].get("deletionTimestamp"):
            orphans = [pod for pod in self._orphans.get(namespace) if is_active(pod) and self._selects(owner, pod)]
            mine += [await self._patch_owners(pod, reference_to(self._owners, owner)) for pod in orphans]
        return mine

    def _selects(self, owner: Object, pod: Object) -> bool:
        """Check whether the owner's selector matches the pod's labels; the oldest owners have labels for a selector."""
        selector = owner["spec"]["selector"]
        if self._owners == REPLICATION_CONTROLLERS:
            selector = {"matchLabels": selector}
        return label_selectors.selects(selector, pod["metadata"].get("labels"))

    async def _patch_owners(self, pod: Object, change: ReadOnlyObject) -> Object:
        """Change one owner, by its uid: to do so again, before the reflector shows the change, changes nothing."""
        metadata: ObjectMeta = pod["metadata"]
        patch = {"metadata": {"uid": metadata["uid"], "ownerReferences": [change]}}
        return await self._connection.patch(
            PODS, metadata["name"], patch, metadata["namespace"], patch_type="strategic-merge"
        )


def _orphan_namespace(pod: Object) -> Iterable[str]:
    return () if controller_reference(pod) is not None else (pod["metadata"]["namespace"],)
