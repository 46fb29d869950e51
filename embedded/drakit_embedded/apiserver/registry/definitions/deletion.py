"""The first request to delete a definition: it stays until its objects are gone.

k8s.io/apiextensions-apiserver v0.37 pkg/registry/customresourcedefinition/etcd.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.definitions.conditions import set_condition, terminating

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_PENDING = terminating(
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


def begin(crd: Object) -> None:
    """Add the finalizer under which the objects are deleted, and say so."""
    finalizers = crd["metadata"].get("finalizers") or []
    if FINALIZER not in finalizers:
        crd["metadata"]["finalizers"] = [*finalizers, FINALIZER]
    set_condition(crd, _PENDING)
