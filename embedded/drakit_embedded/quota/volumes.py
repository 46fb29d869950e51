"""What claims for volumes count for (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/persistent_volume_claims.go)."""

from __future__ import annotations

from collections.abc import Iterable

from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity
from drakit_embedded.quota.amounts import ONE, Amounts, parsed
from drakit_embedded.quota.names import count_of
from drakit_embedded.quota.scopes import Requirement, has_value

_COUNT = count_of("", "persistentvolumeclaims")
_NAMES = ("persistentvolumeclaims", "requests.storage")
_OF_CLASS = ".storageclass.storage.k8s.io/"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def matching(names: Iterable[str]) -> list[str]:
    """Select the names that PersistentVolumeClaims count for."""
    of_classes = tuple(_OF_CLASS + name for name in _NAMES)
    return [name for name in names if name == _COUNT or name in _NAMES or name.endswith(of_classes)]


def usage(claim: Object) -> Amounts:
    """Count one claim, and the storage that it asks for; both also by storage class."""
    used: Amounts = {_COUNT: ONE, "persistentvolumeclaims": ONE}
    spec = claim.get("spec") or {}
    storage = parsed((spec.get("resources") or {}).get("requests")).get("storage")
    if storage is not None:
        allocated = parsed((claim.get("status") or {}).get("allocatedResources")).get("storage", storage)
        most = max(storage, allocated)
        used["requests.storage"] = most if most.is_integer else Quantity.of(most.as_integer())
    name = (claim["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION) or spec.get("storageClassName")
    if name:
        used |= {f"{name}{_OF_CLASS}{kind}": used[kind] for kind in _NAMES if kind in used}
    return used


def in_scope(requirement: Requirement, claim: Object) -> bool:
    """Check whether a claim is in a scope of a quota: by one of its classes of attributes."""
    if requirement.get("scopeName") != "VolumeAttributesClass":
        return False
    classes = _attribute_classes(claim)
    return any(has_value(requirement, name) for name in classes) if classes else has_value(requirement, None)


def _attribute_classes(claim: Object) -> set[str]:
    """Collect the VolumeAttributesClasses that a claim asks for, has, or is being changed to."""
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target)
    return {name for name in names if name}
