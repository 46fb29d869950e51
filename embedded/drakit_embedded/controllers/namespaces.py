"""Namespaces: what each gets when it begins, and what must go before it ends.

Follows k8s.io/kubernetes/pkg/controller/namespace/deletion, serviceaccount/serviceaccounts_controller.go and
certificates/rootcacertpublisher.
"""

from __future__ import annotations

import time

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import AlreadyExists, NotFound
from drakit_client.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Resource
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers import discovery
from drakit_embedded.controllers.informers import Informers

_FINALIZER = "kubernetes"
_ROOT_CA = "kube-root-ca.crt"
_ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
# Seconds until the next look while content remains: pods take as long as their kubelets do.
_REMAINS_SECONDS = 0.2
_DISCOVERY_SECONDS = 30.0


class NamespaceController:
    """Gives a namespace its service account and root certificate; empties it when it is deleted."""

    def __init__(self, informers: Informers, *, root_ca: str = "") -> None:
        self._connection = informers.connection
        self._namespaces = informers.reflector(NAMESPACES)
        self._root_ca = root_ca
        self._kinds: list[Resource] = []
        self._discovered = float("-inf")
        self._queue: WorkQueue[str] = WorkQueue(self._sync, name="namespace", limit=10)
        self._namespaces.on_change(self._changed)
        informers.reflector(SERVICE_ACCOUNTS).on_change(self._content_removed)
        informers.reflector(CONFIG_MAPS).on_change(self._content_removed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._queue.add(new["metadata"]["name"])
        elif old is not None:
            self._queue.forget(old["metadata"]["name"])

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
        if namespace.get("status", {}).get("phase") != "Terminating":
            status = {**namespace.get("status", {}), "phase": "Terminating"}
            namespace = await self._connection.replace_status(NAMESPACES, {**namespace, "status": status})
        if _FINALIZER not in (namespace["spec"].get("finalizers") or ()):
            return None
        if await self._empty(name):
            return _REMAINS_SECONDS
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

    async def _empty(self, name: str) -> bool:
        """Delete what is there; false once nothing was found."""
        remains = False
        if time.monotonic() - self._discovered > _DISCOVERY_SECONDS:
            self._kinds = await discovery.deletable(self._connection)
            self._discovered = time.monotonic()
        for resource in self._kinds:
            if resource.namespaced and await self._delete_all(resource, name):
                remains = True
        return remains

    async def _delete_all(self, resource: Resource, namespace: str) -> bool:
        listed = (await self._connection.list(resource, namespace))["items"] or ()
        if not all(obj["metadata"].get("deletionTimestamp") for obj in listed):
            await self._connection.request(
                "DELETE", resource.path(namespace), params={"propagationPolicy": "Background"}
            )
        return bool(listed)

    async def _finalize(self, namespace: Object) -> None:
        kept = [entry for entry in namespace["spec"]["finalizers"] if entry != _FINALIZER]
        finalized = {**namespace, "spec": {**namespace["spec"], "finalizers": kept}}
        try:
            await self._connection.replace(NAMESPACES, finalized, subresource="finalize")
        except NotFound:
            return
