"""Owner references: how controllers find what is theirs."""

from __future__ import annotations

from collections.abc import Iterable

from drakit_api.core.pod_claims import controller_reference
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import OwnerReference
from drakit_client.resources import Resource


def controller_uid(obj: Object) -> Iterable[str]:
    """Index function: the uid of the object's controller, if it has one."""
    owner = controller_reference(obj)
    return (owner["uid"],) if owner is not None else ()


def reference_to(resource: Resource, owner: Object) -> OwnerReference:
    """Build the ownerReference that a controller puts on what it creates (metav1.NewControllerRef)."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def typed(resource: Resource, obj: Object) -> Object:
    """Copy an object, shallowly, and add kind and apiVersion, which objects from a list do not have."""
    return {**obj, "apiVersion": resource.api_version, "kind": resource.kind}
