"""What expressions see of a write: ``object``, ``oldObject``, ``request``, ``namespaceObject`` and so on.

After k8s.io/apiserver/pkg/admission/plugin/cel/{activation,condition}.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching import authorizations, requests
from drakit_embedded.apiserver.admission.matching.shown import shown
from drakit_embedded.apiserver.scheme.kinds import Kind

# Fields that are absent if they are empty, as the types of the request say.
_OPTIONAL = frozenset({"subResource", "requestSubResource", "name", "namespace"})
_OF_NAMESPACE = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"),
)


@dataclass(slots=True)
class Scene:
    """A write in the kind in which a policy is to see it; ``object`` follows what policies make of it."""

    kind: Kind
    request: Object
    object: Object | None
    old: Object | None
    namespace: Object | None
    authorizer: dict[str, Any]

    @classmethod
    def of(cls, attributes: Attributes, kind: Kind, cluster: GuardedCluster) -> Scene:
        """Convert what a write is about.

        Raises:
            StatusError: 404 if its namespace does not exist.
        """
        return cls(
            kind,
            _request(attributes, kind),
            shown(attributes.object, attributes, kind, cluster),
            shown(attributes.old, attributes, kind, cluster),
            _namespace(attributes, cluster),
            authorizations.variables(attributes, cluster),
        )

    def values(self, params: Object | None, *, authorizer: bool = True) -> dict[str, Any]:
        """Build the values of an evaluation."""
        return {
            "object": self.object,
            "oldObject": self.old,
            "request": self.request,
            "namespaceObject": self.namespace,
            "params": params,
            **(self.authorizer if authorizer else {}),
        }

    def condition_values(self, params: Object | None) -> dict[str, Any]:
        """Build the values for match conditions, which see no namespace, and the resource that the request names."""
        request = {**self.request, "resource": self.request["requestResource"]}
        return {**self.values(params), "request": request, "namespaceObject": None}


def _request(attributes: Attributes, kind: Kind) -> Object:
    full = requests.request(attributes, kind)
    found = {key: value for key, value in full.items() if value or key not in _OPTIONAL}
    found["userInfo"] = {key: value for key, value in full["userInfo"].items() if value}
    return found


def _namespace(attributes: Attributes, cluster: GuardedCluster) -> Object | None:
    """Find the namespace of a write, without what no expression may see (CreateNamespaceObject)."""
    if not attributes.namespace or attributes.resource == ("", "namespaces"):
        return None
    found = cluster.find("namespaces", "", attributes.namespace)
    if found is None:
        raise statuses.not_found("namespaces", "", attributes.namespace)
    meta = found["metadata"]
    seen = {key: meta[key] for key in _OF_NAMESPACE if key in meta}
    return {"metadata": seen, "spec": found.get("spec") or {}, "status": found.get("status") or {}}
