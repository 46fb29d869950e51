"""What expressions see of a write: ``object``, ``oldObject``, ``request``, ``namespaceObject`` and so on.

After k8s.io/apiserver/pkg/admission/plugin/cel/{activation,condition}.go.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
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


class Scene:
    """A write in the kind in which a policy is to see it; ``object`` follows what policies make of it.

    The rest is made when the first policy comes that looks at it.
    """

    def __init__(self, attributes: Attributes, kind: Kind, cluster: GuardedCluster) -> None:
        """Convert the object of a write."""
        self._attributes, self._cluster = attributes, cluster
        self.kind = kind
        self.object = shown(attributes.object, attributes, kind, cluster)

    @cached_property
    def _old(self) -> Object | None:
        return shown(self._attributes.old, self._attributes, self.kind, self._cluster)

    @cached_property
    def _request(self) -> Object:
        return _request(self._attributes, self.kind)

    @cached_property
    def _namespace(self) -> Object | None:
        return _namespace(self._attributes, self._cluster)

    @cached_property
    def _authorizer(self) -> dict[str, Any]:
        return authorizations.variables(self._attributes, self._cluster)

    def values(self, params: Object | None, names: Collection[str]) -> dict[str, Any]:
        """Build the values of those variables of an evaluation that are among some names."""
        found = {"object": self.object, "params": params}
        if "oldObject" in names:
            found["oldObject"] = self._old
        if "request" in names:
            found["request"] = self._request
        if "namespaceObject" in names:
            found["namespaceObject"] = self._namespace
        return {**found, **self._authorizer} if "authorizer" in names else found

    def condition_values(self, params: Object | None, names: Collection[str]) -> dict[str, Any]:
        """Build the values for match conditions, which see no namespace, and the resource that the request names."""
        found = {**self.values(params, names), "namespaceObject": None}
        if "request" in found:
            found["request"] = {**self._request, "resource": self._request["requestResource"]}
        return found


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
