"""Gives a namespace what it must have, and lets it end once it is empty.

Follows k8s.io/kubernetes/pkg/controller/namespace, serviceaccount/serviceaccounts_controller.go and
certificates/rootcacertpublisher.
"""

from __future__ import annotations

from dataclasses import dataclass

from drakit_api.kubernetes_objects import Object
from drakit_client.backoff import Backoff
from drakit_client.errors import AlreadyExists, ApiError, NotFound
from drakit_client.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Resource
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.kinds.following import Kinds
from drakit_embedded.controllers.namespaces import conditions
from drakit_embedded.controllers.namespaces.contents import Contents

_FINALIZER = "kubernetes"
# The cause of a refusal to create something in a namespace that is about to end.
_TERMINATING = "NamespaceTerminating"
_ROOT_CA = "kube-root-ca.crt"
_ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
# When to look again while content remains: pods take as long as their kubelets do, finalizers as long as people.
_LOOKS = Backoff(0.05, 0.5)


@dataclass(slots=True)
class _Progress:
    """How far a namespace has been emptied."""

    uid: str
    looks: int = 0
    left: tuple[Resource, ...] | None = None


class NamespaceController:
    """Gives a namespace its service account and root certificate; empties it when it is deleted."""

    def __init__(self, informers: Informers, kinds: Kinds, *, root_ca: str = "") -> None:
        self._connection = informers.connection
        self._namespaces = informers.reflector(NAMESPACES)
        self._root_ca = root_ca
        self._contents = Contents(self._connection, kinds)
        self._progress: dict[str, _Progress] = {}
        self._queue: WorkQueue[str] = WorkQueue(self._sync, name="namespace", limit=10)
        self._namespaces.on_change(self._changed)
        informers.reflector(SERVICE_ACCOUNTS).on_change(self._content_removed)
        informers.reflector(CONFIG_MAPS).on_change(self._content_removed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self._queue.forget(old["metadata"]["name"])
            self._progress.pop(old["metadata"]["name"], None)
        elif old is None or _stage(old) != _stage(new):
            self._queue.add(new["metadata"]["name"])

    def _content_removed(self, old: Object | None, new: Object | None) -> None:
        """Queue the namespace of a default object that was deleted, so that it is created again."""
        if new is None and old is not None and old["metadata"]["name"] in ("default", _ROOT_CA):
            self._queue.add(old["metadata"]["namespace"])

    async def _sync(self, name: str) -> float | None:
        namespace = self._namespaces.get(name)
        if namespace is None:
            return None
        if not namespace["metadata"].get("deletionTimestamp"):
            await self._furnish(name)
            return None
        try:
            return await self._end(await self._connection.get(NAMESPACES, name))
        except NotFound:
            return None

    async def _end(self, namespace: Object) -> float | None:
        """Take a namespace as far towards its end as can be done now; return when to look again."""
        if (namespace.get("status") or {}).get("phase") != "Terminating":
            status = {**(namespace.get("status") or {}), "phase": "Terminating"}
            namespace = await self._connection.replace_status(NAMESPACES, {**namespace, "status": status})
        if _FINALIZER not in (namespace["spec"].get("finalizers") or ()):
            return None
        name, uid = namespace["metadata"]["name"], namespace["metadata"]["uid"]
        progress = self._progress.get(name)
        if progress is None or progress.uid != uid:
            progress = self._progress[name] = _Progress(uid)
        look = await self._contents.delete(namespace, progress.left)
        told = conditions.changed(namespace.get("status") or {}, look.findings)
        if told is not None:
            namespace = await self._connection.replace_status(NAMESPACES, {**namespace, "status": told})
        if not look.is_empty:
            progress.left = look.left
            progress.looks += 1
            return _LOOKS.seconds(progress.looks)
        await self._finalize(namespace)
        return None

    async def _furnish(self, name: str) -> None:
        root = {
            "metadata": {"name": _ROOT_CA, "annotations": {"kubernetes.io/description": _ROOT_CA_DESCRIPTION}},
            "data": {"ca.crt": self._root_ca},
        }
        for resource, body in ((SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}), (CONFIG_MAPS, root)):
            try:
                await self._connection.create(resource, body, name)
            except AlreadyExists:
                continue
            except ApiError as error:
                if not any(cause.get("reason") == _TERMINATING for cause in error.causes):
                    raise

    async def _finalize(self, namespace: Object) -> None:
        kept = [entry for entry in namespace["spec"]["finalizers"] if entry != _FINALIZER]
        finalized = {**namespace, "spec": {**namespace["spec"], "finalizers": kept}}
        await self._connection.replace(NAMESPACES, finalized, subresource="finalize")


def _stage(namespace: Object) -> tuple[bool, object]:
    """Tell namespaces apart that are to be treated otherwise."""
    return "deletionTimestamp" in namespace["metadata"], (namespace.get("spec") or {}).get("finalizers")
