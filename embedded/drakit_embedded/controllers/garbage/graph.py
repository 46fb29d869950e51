"""Objects of all kinds, and who owns whom, as last seen (graph_builder.go)."""

from __future__ import annotations

from dataclasses import dataclass, field

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta, OwnerReference
from drakit_client.resources import Resource

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


@dataclass(slots=True)
class Node:
    """One object of the graph, as last seen."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    version: str = ""
    owners: list[OwnerReference] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)
    deleting: bool = False

    @classmethod
    def of(cls, resource: Resource, obj: Object) -> Node:
        """Read what matters here of an object."""
        metadata: ObjectMeta = obj["metadata"]
        return cls(
            resource,
            metadata.get("namespace", ""),
            metadata["name"],
            metadata["uid"],
            metadata["resourceVersion"],
            metadata.get("ownerReferences") or [],
            metadata.get("finalizers") or [],
            "deletionTimestamp" in metadata,
        )

    @property
    def deleting_dependents(self) -> bool:
        """Whether it is deleted in the foreground, once nothing blocks it."""
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphaning(self) -> bool:
        """Whether it is deleted once its dependents know it no more."""
        return self.deleting and ORPHAN in self.finalizers

    def is_meant_by(self, reference: OwnerReference, dependent: Node) -> bool:
        """Check whether all that a reference says of its owner is true (ownerReferenceMatchesCoordinates)."""
        group = reference["apiVersion"].rpartition("/")[0]
        return (
            (self.uid, self.name) == (reference["uid"], reference["name"])
            and (self.resource.group, self.resource.kind) == (group, reference["kind"])
            and self.namespace in ("", dependent.namespace)
        )

    def blocks(self, owner: str) -> bool:
        """Check whether an owner that is deleted in the foreground has to wait for it."""
        return any(each["uid"] == owner and each.get("blockOwnerDeletion") for each in self.owners)


class Graph:
    """Nodes by uid."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def dependents(self, owner: str) -> list[Node]:
        """List the objects that name an owner, be it known or not."""
        return [node for uid in self._dependents.get(owner, ()) if (node := self.nodes.get(uid)) is not None]

    def put(self, node: Node) -> Node | None:
        """Add or replace a node; return the one before."""
        before = self.nodes.get(node.uid)
        self.nodes[node.uid] = node
        if before is None or before.owners != node.owners:
            self._unlink(before)
            for owner in node.owners:
                self._dependents.setdefault(owner["uid"], {})[node.uid] = None
        return before

    def remove(self, uid: str) -> Node | None:
        """Remove a node; return it."""
        node = self.nodes.pop(uid, None)
        self._unlink(node)
        return node

    def _unlink(self, node: Node | None) -> None:
        if node is None:
            return
        for owner in node.owners:
            dependents = self._dependents.get(owner["uid"], {})
            dependents.pop(node.uid, None)
            if not dependents:
                self._dependents.pop(owner["uid"], None)
