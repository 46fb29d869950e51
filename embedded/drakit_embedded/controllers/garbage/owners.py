"""Which owners of an object exist: as the graph knows them, or as the server says (garbagecollector.go, isDangling)."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from drakit_api.typed_objects import OwnerReference
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.work_queue import NotYet
from drakit_embedded.controllers.garbage.graph import Node
from drakit_embedded.controllers.kinds.discovery import Discovered

_REMEMBERED = 4096
# What a reference says of its owner: group, kind, namespace, name and uid.
_Identity = tuple[str, str, str, str, str]


class UnknownKind(NotYet):
    """An owner is of a kind that the server does not serve, or not yet: nothing can be said about it."""


class MisplacedOwner(Exception):
    """A cluster-scoped object names a namespaced owner, which makes no sense: nothing is done about it, ever."""


@dataclass(slots=True)
class Owners:
    """The owners of an object, by uid."""

    solid: set[str] = field(default_factory=set)
    dangling: set[str] = field(default_factory=set)
    # They are deleted in the foreground: they wait for the object to go.
    waiting: set[str] = field(default_factory=set)
    # Solid so far, but their end would not be seen: no monitor has shown them.
    unobserved: set[str] = field(default_factory=set)


class OwnerSearch:
    """Looks for the owners of objects; remembers which do not exist."""

    def __init__(self, connection: Connection, observed: Callable[[str], Node | None]) -> None:
        self._connection, self._observed = connection, observed
        self._absent: OrderedDict[_Identity, None] = OrderedDict()
        self.found = Discovered()

    def remember_absent(self, node: Node) -> None:
        """Remember that an object is gone."""
        self._remember((node.resource.group, node.resource.kind, node.namespace, node.name, node.uid))

    async def classify(self, node: Node) -> Owners:
        """Tell what has become of each owner. Raises ``UnknownKind`` or ``MisplacedOwner`` if that cannot be told."""
        owners = Owners()
        for reference in node.owners:
            owner = self._observed(reference["uid"])
            if owner is not None and owner.is_meant_by(reference, node):
                (owners.waiting if owner.deleting_dependents else owners.solid).add(owner.uid)
            else:
                await self._ask(node, reference, owners)
        return owners

    async def _ask(self, node: Node, reference: OwnerReference, owners: Owners) -> None:
        uid = reference["uid"]
        if any(self._identity(reference, namespace) in self._absent for namespace in ("", node.namespace)):
            owners.dangling.add(uid)
            return
        owner = await self._read(node, reference)
        if owner is None:
            owners.dangling.add(uid)
        elif owner.deleting_dependents:
            owners.waiting.add(uid)
        else:
            owners.solid.add(uid)
            if self._observed(uid) is None:
                owners.unobserved.add(uid)

    async def _read(self, node: Node, reference: OwnerReference) -> Node | None:
        group = reference["apiVersion"].rpartition("/")[0]
        text = f"{reference['apiVersion']} {reference['kind']}"
        resource = self.found.of_kind(group, reference["kind"])
        if resource is None:
            raise UnknownKind(f"unknown kind of owner: {text}", level=logging.DEBUG)
        if resource.namespaced and not node.namespace:
            raise MisplacedOwner(text)
        namespace = node.namespace if resource.namespaced else ""
        try:
            obj = await self._connection.get(resource, reference["name"], namespace or None)
        except NotFound as error:
            if not (error.status.get("details") or {}).get("name"):
                # It is the kind that is not found, since a moment ago.
                raise UnknownKind(f"unknown kind of owner: {text}", level=logging.DEBUG) from None
            obj = {"metadata": {"uid": ""}}
        if obj["metadata"]["uid"] != reference["uid"]:
            self._remember(self._identity(reference, namespace))
            return None
        return Node.of(resource, obj)

    def _identity(self, reference: OwnerReference, namespace: str) -> _Identity:
        group = reference["apiVersion"].rpartition("/")[0]
        return group, reference["kind"], namespace, reference["name"], reference["uid"]

    def _remember(self, identity: _Identity) -> None:
        self._absent[identity] = None
        if len(self._absent) > _REMEMBERED:
            self._absent.popitem(last=False)
