"""The ResourceSlices of one driver at the API server: read, written and tried, in whichever version is served.

Everything above speaks v1; here is the only place that knows what is on the wire.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.layouts.slice_names import generate_name
from drakit_api.objects import conversion
from drakit_api.typed_objects import ObjectMeta, OwnerReference, ResourceSlice, as_slice
from drakit_client.connection import Connection
from drakit_client.errors import Invalid, NotFound
from drakit_client.reflector import Handler, Reflector
from drakit_client.resources import NODES, RESOURCE_SLICES, Resource
from drakit_driver.api_versions import served_version
from drakit_driver.publishing.pool_plan import Desired, comparable
from drakit_driver.publishing.slice_comparison import Spec

log = logging.getLogger(__name__)


class SliceApi:
    """Slices of ``driver`` on the node, or those of no node. ``connect`` first: it finds out the version."""

    def __init__(self, connection: Connection, driver: str, node_name: str | None) -> None:
        self.driver = driver
        self.node_name = node_name
        self.resource: Resource = RESOURCE_SLICES
        self._connection = connection

    async def connect(self) -> None:
        """Use the newest version that the server has; raises ``NoServedVersion``."""
        self.resource = RESOURCE_SLICES.in_version(await served_version(self._connection))

    async def still_served(self) -> bool:
        """Tell whether the server still has that version."""
        return await served_version(self._connection) == self.resource.version

    def reflector(self, handler: Handler) -> Reflector:
        """Make a mirror of the slices; ``v1`` converts what it holds."""
        return Reflector(self._connection, self.resource, field_selector=self._selector, on_change=[handler])

    async def stored(self) -> list[Object]:
        """List all slices, as they are on the wire."""
        listed = await self._connection.list(self.resource, field_selector=self._selector)
        return list(listed["items"] or [])

    def v1(self, slice_: Object) -> ResourceSlice:
        """Convert a slice as read to v1."""
        return as_slice(conversion.to_v1("ResourceSlice", slice_, self.resource.version))

    async def owner_references(self) -> list[OwnerReference]:
        """Return the Node, so that its slices vanish with it; read each time, as a re-created node has another UID.

        Raises ``NotFound`` if there is no such node.
        """
        if self.node_name is None:
            return []
        try:
            node = await self._connection.get(NODES, self.node_name)
        except NotFound as error:
            message = f"there is no node {self.node_name}, or not yet; create it, or name another one (--node)"
            raise NotFound(error.code, {**error.status, "message": message}) from None
        uid = node["metadata"]["uid"]
        return [{"apiVersion": "v1", "kind": "Node", "name": self.node_name, "uid": uid, "controller": True}]

    async def create(self, index: int, spec: Spec, owners: Sequence[OwnerReference]) -> Object:
        """Create the slice of an index; the answer as it is on the wire."""
        return await self._connection.create(self.resource, self._new(index, spec, owners))

    async def replace(self, slice_: ResourceSlice, spec: Spec) -> Object:
        """Give a stored slice (v1) another spec; the answer as it is on the wire."""
        return await self._connection.replace(self.resource, self._wire({**slice_, "spec": spec}))

    async def delete(self, slice_: ReadOnlyObject) -> None:
        """Delete this very slice, unless somebody else did; ``Conflict`` if it was changed meanwhile."""
        metadata = slice_["metadata"]
        conditions = {"uid": metadata.get("uid"), "resource_version": metadata.get("resourceVersion")}
        try:
            await self._connection.delete(self.resource, metadata["name"], **conditions)
        except NotFound:
            log.debug("slice %s is gone already", metadata["name"])

    async def would_store(self, pool: str, index: int, item: Desired) -> Spec:
        """Return what the server would store of a slice, if it were sent now (dry run; canonical)."""
        place = {"name": pool, "generation": 1, "resourceSliceCount": index + 1}
        body = self._new(index, {**item.spec, "pool": place}, [])
        answer = await self._connection.json("POST", self.resource.path(), body, params={"dryRun": "All"})
        return comparable(self.v1(answer)["spec"])

    async def takes(self, pool: str, slices: Sequence[Desired]) -> bool:
        """Tell whether the server would store all of these slices with all their fields (dry run)."""
        try:
            for index, item in enumerate(slices):
                if await self.would_store(pool, index, item) != comparable(item.spec):
                    return False
        except Invalid:
            return False
        return True

    @property
    def _selector(self) -> str:
        # An empty nodeName selects the slices of no node, as upstream's controller does for network-attached devices.
        return f"spec.driver={self.driver},spec.nodeName={self.node_name or ''}"

    def _new(self, index: int, spec: Spec, owners: Sequence[OwnerReference]) -> Object:
        count = int(spec["pool"]["resourceSliceCount"])
        metadata: ObjectMeta = {"generateName": generate_name(index, count, self.driver, self.node_name)}
        if owners:
            metadata["ownerReferences"] = list(owners)
        return self._wire({"metadata": metadata, "spec": spec})

    def _wire(self, slice_: Object) -> Object:
        converted = conversion.from_v1("ResourceSlice", slice_, self.resource.version)
        return {**converted, "apiVersion": self.resource.api_version, "kind": self.resource.kind}
