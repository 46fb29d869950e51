"""Owner references and label selectors: how controllers find what is theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drakit_client.connection import Object
from drakit_client.resources import Resource
from drakit_embedded.pod_claims import controller_reference


def controller_uid(obj: Object) -> Iterable[str]:
    """Index function: the uid of the object's controller, if it has one."""
    owner = controller_reference(obj)
    return (owner["uid"],) if owner is not None else ()


def reference_to(resource: Resource, owner: Object) -> Object:
    """The ownerReference that a controller puts on what it creates (metav1.NewControllerRef)."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def typed(resource: Resource, obj: Object) -> Object:
    """A shallow copy with kind and apiVersion, which objects out of a list do not have."""
    return {**obj, "apiVersion": resource.api_version, "kind": resource.kind}


def matches(selector: Object | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a LabelSelector selects these labels; no selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    labels = labels or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_satisfies(expression, labels) for expression in selector.get("matchExpressions") or ())


def _satisfies(expression: Object, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case operator:
            raise ValueError(f"label selector for {key}: unknown operator {operator!r}")
