"""Which lists a patch merges item by item, and what identifies an item.

JSON does not say it: it stands in tags of the Go types (``patchMergeKey`` in k8s.io/api), written down here for the
kinds that have rules of their own. Lists that are not here are replaced as a whole. Server-side apply has keys of more
than one field in few places; those are given as tuples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

# Items are values, not objects, and the list is a set of them.
SET: Final[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A field: how its list is merged (``keys`` None: replaced as a whole), and the fields below."""

    keys: tuple[str, ...] | None = None
    fields: dict[str, Node] = field(default_factory=dict)

    def child(self, name: str) -> Node:
        """The node of a field below; one without rules if none are known."""
        return self.fields.get(name, _PLAIN)


_PLAIN = Node()


def _by(*keys: str, **fields: Node) -> Node:
    return Node(keys, fields)


def _of(**fields: Node) -> Node:
    return Node(None, fields)


_SET = Node(SET)
_METADATA = _of(ownerReferences=_by("uid"), finalizers=_SET)
_CONDITIONS = _of(conditions=_by("type"))
_CONTAINER = _by(
    "name",
    ports=_by("containerPort"),
    env=_by("name"),
    volumeMounts=_by("mountPath"),
    volumeDevices=_by("devicePath"),
)
_POD_SPEC = _of(
    volumes=_by("name"),
    containers=_CONTAINER,
    initContainers=_CONTAINER,
    ephemeralContainers=_CONTAINER,
    imagePullSecrets=_by("name"),
    hostAliases=_by("ip"),
    topologySpreadConstraints=_by("topologyKey"),
    schedulingGates=_by("name"),
    resourceClaims=_by("name"),
)
_POD_STATUS = _of(
    conditions=_by("type"),
    hostIPs=_by("ip"),
    podIPs=_by("ip"),
    resourceClaimStatuses=_by("name"),
)
_TEMPLATE = _of(metadata=_METADATA, spec=_POD_SPEC)
_WORKLOAD = _of(metadata=_METADATA, spec=_of(template=_TEMPLATE), status=_CONDITIONS)
_ANY = _of(metadata=_METADATA, status=_CONDITIONS)

_KINDS: dict[tuple[str, str], Node] = {
    ("", "pods"): _of(metadata=_METADATA, spec=_POD_SPEC, status=_POD_STATUS),
    ("", "nodes"): _of(
        metadata=_METADATA,
        spec=_of(podCIDRs=_SET),
        status=_of(conditions=_by("type"), addresses=_by("type")),
    ),
    ("", "serviceaccounts"): _of(metadata=_METADATA, secrets=_by("name"), imagePullSecrets=_by("name")),
    ("", "services"): _of(metadata=_METADATA, spec=_of(ports=_by("port")), status=_CONDITIONS),
    ("apps", "deployments"): _WORKLOAD,
    ("apps", "replicasets"): _WORKLOAD,
    ("apps", "statefulsets"): _WORKLOAD,
    ("apps", "daemonsets"): _WORKLOAD,
    ("resource.k8s.io", "resourceclaims"): _of(
        metadata=_METADATA,
        status=_of(reservedFor=_by("uid"), devices=_by("driver", "device", "pool")),
    ),
}


def of(group: str, plural: str) -> Node:
    """The rules of a kind."""
    return _KINDS.get((group, plural), _ANY)
