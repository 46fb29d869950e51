"""The controllers of Endpoints and EndpointSlices: which pods stand behind each Service.

After k8s.io/kubernetes/pkg/controller/{endpoint,endpointslice} and k8s.io/endpointslice/reconciler.go. Both look at the
same pods at the same time, so one queue does for both. Nothing here routes packets: that would be kube-proxy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_client.errors import AlreadyExists, NotFound
from drakit_client.reflector import Key, key_of
from drakit_client.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers import service_endpoints
from drakit_embedded.controllers.informers import Created, Informers
from drakit_embedded.controllers.ownership import reference_to
from drakit_embedded.controllers.service_endpoints import SERVICE_NAME

# defaultMaxEndpointsPerSlice in pkg/controller/endpointslice/config.
_MOST = 100
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_SLICES_ARE_OURS = {_MANAGED_BY: "endpointslice-controller.k8s.io"}
_ENDPOINTS_ARE_OURS = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}


class _Group(NamedTuple):
    """Endpoints that can share slices: of one family and with the same ports, by the uid of their pod."""

    family: str
    ports: list[Object] | None
    endpoints: dict[str, Object]


class ServiceController:
    """Keeps Endpoints and EndpointSlices in step with Services and pods."""

    def __init__(self, informers: Informers) -> None:
        self._connection = informers.connection
        self._services = informers.reflector(SERVICES)
        self._endpoints = informers.reflector(ENDPOINTS)
        self._nodes = informers.reflector(NODES)
        self._services_in = informers.index(SERVICES, _namespace)
        self._pods_in = informers.index(PODS, _namespace)
        self._slices = informers.index(ENDPOINT_SLICES, _service_of_slice)
        self._created = Created(informers.reflector(ENDPOINT_SLICES))
        self._queue: WorkQueue[Key] = WorkQueue(self._sync, name="service")
        self._services.on_change(self._service_changed)
        informers.reflector(PODS).on_change(self._pod_changed)
        informers.reflector(ENDPOINT_SLICES).on_change(self._slice_changed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _service_changed(self, old: Object | None, new: Object | None) -> None:
        changed = new if new is not None else old
        assert changed is not None
        self._queue.add(key_of(changed))

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        states = [pod for pod in (old, new) if pod is not None]
        for service in self._services_in.get(states[0]["metadata"]["namespace"]):
            if service_endpoints.is_wanted(service) and any(service_endpoints.selects(service, pod) for pod in states):
                self._queue.add(key_of(service))

    def _slice_changed(self, old: Object | None, new: Object | None) -> None:
        """Reconcile a slice that somebody else has changed or deleted."""
        for part in (old, new):
            for key in _service_of_slice(part) if part is not None else ():
                self._queue.add(key)

    async def _sync(self, key: Key) -> None:
        service = self._services.store.get(key)
        if service is None:
            await self._remove_endpoints(key)
        elif service_endpoints.is_wanted(service) and not service["metadata"].get("deletionTimestamp"):
            pods = [pod for pod in self._pods_in.get(key[0]) if service_endpoints.selects(service, pod)]
            await self._sync_slices(service, pods)
            await self._sync_endpoints(service, pods)

    async def _remove_endpoints(self, key: Key) -> None:
        """Remove the Endpoints of a deleted Service; its slices are removed by the garbage collector."""
        if key not in self._endpoints.store:
            return
        try:
            await self._connection.delete(ENDPOINTS, key[1], key[0])
        except NotFound:
            return

    async def _sync_endpoints(self, service: Object, pods: list[Object]) -> None:
        key = key_of(service)
        stored = self._endpoints.store.get(key)
        labels = service_endpoints.labels(service, _ENDPOINTS_ARE_OURS)
        subsets = service_endpoints.subsets(service, pods)
        if stored is None:
            made: Object = {"metadata": {"name": key[1], "labels": labels}, "subsets": subsets}
            try:
                await self._connection.create(ENDPOINTS, made, key[0])
            except AlreadyExists:
                self._queue.add_after(key, 0.0)  # The watch has not shown it yet.
        elif (stored.get("subsets") or []) != subsets or stored["metadata"].get("labels") != labels:
            changed = {**stored, "metadata": {**stored["metadata"], "labels": labels}, "subsets": subsets}
            await self._connection.replace(ENDPOINTS, changed, key[0])

    async def _sync_slices(self, service: Object, pods: list[Object]) -> None:
        """Keep endpoints in their slices, fill these, and create more slices if necessary."""
        labels = service_endpoints.labels(service, {SERVICE_NAME: service["metadata"]["name"], **_SLICES_ARE_OURS})
        there = self._existing(service)
        for group in self._groups(service, pods):
            left = dict(group.endpoints)
            mine = [part for part in there if part["addressType"] == group.family and _ports(part) == group.ports]
            kept = [_taken(left, part) for part in mine]
            for part, endpoints in zip(mine, kept, strict=True):
                endpoints += _first(left, _MOST - len(endpoints))
                if endpoints or not group.endpoints:
                    there.remove(part)
                    await self._update(part, labels, endpoints)
            if not mine and not left:
                await self._create(service, labels, group, [])
            while left:
                await self._create(service, labels, group, _first(left, _MOST))
        for part in there:
            await self._delete(part)

    def _existing(self, service: Object) -> list[Object]:
        uid, key = service["metadata"]["uid"], key_of(service)
        pending = [part for part in self._created.pending() if key in _service_of_slice(part)]
        every = [*self._slices.get(key), *pending]
        return [part for part in every if any(owner["uid"] == uid for owner in _owners(part))]

    def _groups(self, service: Object, pods: list[Object]) -> Iterator[_Group]:
        """Group the endpoints by family and ports; a family without endpoints has one empty group without ports."""
        for family in service_endpoints.families(service):
            found: dict[str, _Group] = {}
            for pod in pods:
                ip, ports = service_endpoints.address(pod, family), service_endpoints.ports(service, pod)
                if ip is None or ports is None or not service_endpoints.is_behind(pod, leaving=True):
                    continue
                group = found.setdefault(repr(ports), _Group(family, ports or None, {}))
                labels = self._node_labels(pod)
                group.endpoints[pod["metadata"]["uid"]] = service_endpoints.endpoint(service, pod, ip, labels)
            yield from found.values() or [_Group(family, None, {})]

    def _node_labels(self, pod: Object) -> dict[str, str]:
        node = self._nodes.store.get(("", pod["spec"].get("nodeName", ""))) or {"metadata": {}}
        return node["metadata"].get("labels") or {}

    async def _create(self, service: Object, labels: dict[str, str], group: _Group, endpoints: list[Object]) -> None:
        namespace, name = key_of(service)
        made: Object = {
            "metadata": {
                "generateName": f"{name}-",
                "labels": labels,
                "ownerReferences": [reference_to(SERVICES, service)],
            },
            "addressType": group.family,
            "endpoints": endpoints or None,
            "ports": group.ports,
        }
        self._created.add(await self._connection.create(ENDPOINT_SLICES, made, namespace))

    async def _update(self, part: Object, labels: dict[str, str], endpoints: list[Object]) -> None:
        metadata: ObjectMeta = part["metadata"]
        if (part.get("endpoints") or []) != endpoints or metadata.get("labels") != labels:
            changed = {**part, "metadata": {**metadata, "labels": labels}, "endpoints": endpoints or None}
            await self._connection.replace(ENDPOINT_SLICES, changed, metadata["namespace"])

    async def _delete(self, part: Object) -> None:
        try:
            await self._connection.delete(ENDPOINT_SLICES, part["metadata"]["name"], part["metadata"]["namespace"])
        except NotFound:
            return


def _namespace(obj: Object) -> tuple[str]:
    return (obj["metadata"]["namespace"],)


def _service_of_slice(part: Object) -> tuple[Key, ...]:
    """Find the Service of a slice that is ours; empty for those of others."""
    labels = part["metadata"].get("labels") or {}
    if SERVICE_NAME not in labels or labels.get(_MANAGED_BY) != _SLICES_ARE_OURS[_MANAGED_BY]:
        return ()
    return ((part["metadata"]["namespace"], labels[SERVICE_NAME]),)


def _owners(part: Object) -> list[Object]:
    return part["metadata"].get("ownerReferences") or []


def _ports(part: Object) -> list[Object] | None:
    """Order the fields of a slice's ports, so that they compare."""
    order = ("name", "port", "protocol", "appProtocol")
    return [{key: port[key] for key in order if port.get(key) is not None} for port in part.get("ports") or ()] or None


def _taken(left: dict[str, Object], part: Object) -> list[Object]:
    """Take from ``left`` the endpoints that the slice has already, in their present state."""
    uids = [(endpoint.get("targetRef") or {}).get("uid", "") for endpoint in part.get("endpoints") or ()]
    return [left.pop(uid) for uid in uids if uid in left]


def _first(left: dict[str, Object], count: int) -> list[Object]:
    """Take the first ``count`` endpoints that are in no slice yet."""
    return [left.pop(uid) for uid in list(left)[: max(count, 0)]]
