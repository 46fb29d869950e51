"""NamespaceLifecycle: nothing new in a namespace that is not there, or is on its way out.

After k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go.
"""

from __future__ import annotations

from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

_IMMORTAL = frozenset({"default", "kube-public", "kube-system"})
_NAMESPACES = ("", "namespaces")


def admit(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse a create in a missing (404) or terminating (403) namespace, and (403) deleting a built-in namespace."""
    if attributes.resource == _NAMESPACES:
        if attributes.operation == "DELETE" and attributes.name in _IMMORTAL:
            raise attributes.refused("this namespace may not be deleted")
        return
    namespace = attributes.namespace
    if not namespace or attributes.operation == "DELETE":
        return
    found = cluster.store.named("namespaces").get("", namespace)
    if found is None:
        raise statuses.not_found("namespaces", "", namespace)
    if found.fields.get("status.phase") == "Terminating":
        raise _terminating(attributes, namespace)


def _terminating(attributes: Attributes, namespace: str) -> statuses.StatusError:
    refusal = attributes.refused(
        f"unable to create new content in namespace {namespace} because it is being terminated"
    )
    # Controllers look for this cause before they give up (k8s.io/api/core/v1, NamespaceTerminatingCause).
    cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated"}
    refusal.details = {**(refusal.details or {}), "causes": [{**cause, "field": "metadata.namespace"}]}
    return refusal
