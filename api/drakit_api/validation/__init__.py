"""What kube-apiserver refuses of resource.k8s.io, and in which words.

Objects enter decoded, defaulted and stripped of gated fields (see ``drakit_api.objects.lifecycle``) and leave as a list
of errors, empty for a valid object. Each kind has a module with its rules; those of parts that several kinds share are
in modules named after the part. Kubernetes validates twice, by handwritten rules and by rules declared in its Go types,
and lists the findings in that order; functions named ``declared...`` hold the second kind. Objects are always v1; the
declared rules speak of them as the ``version`` of the request has them, which only in v1beta1 makes a difference.

The words are those of 1.36 and later. A 1.37.1 that emulates 1.34 or 1.35 has most declared rules switched off (gate
DeclarativeValidationBeta), and refuses the same by its handwritten ones, in words that differ for some: a repeated
request is shown by its name, a driver's name must be lower case, bytes are called characters.

The specification is ``k8s.io/kubernetes`` 1.37.1, ``pkg/apis/resource/validation/validation.go``,
``pkg/apis/resource/*/zz_generated.validations.go`` and ``pkg/registry/resource``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import formats
from drakit_api.features import FeatureGates
from drakit_api.validation import deviceclass, metadata, taintrule
from drakit_api.validation.claims import resourceclaim, template
from drakit_api.validation.errors import Errors, FieldError, in_order, invalid_status
from drakit_api.validation.slices import resourceslice

__all__ = ["FieldError", "invalid_status", "validate_create", "validate_status_update", "validate_update"]

_NAMESPACED = {"resourceclaims", "resourceclaimtemplates"}


def validate_create(
    resource: str, obj: dict[str, Any], gates: FeatureGates, *, admin_namespace: bool = False, version: str = "v1"
) -> list[FieldError]:
    """List the errors of a new object, in kube-apiserver's order. ``resource`` is the plural ("resourceslices").

    ``admin_namespace`` tells whether the namespace has the label that allows admin access; ``version`` is that of the
    request, from which the object was converted. Raises ``LookupError`` for a resource without rules.
    """
    match resource:
        case "resourceslices":
            devices = resourceslice.questionable(obj)
            handwritten = resourceslice.on_create(obj, devices, gates)
            declared = resourceslice.declared(obj, None, devices, gates, version)
        case "resourceclaims":
            handwritten = resourceclaim.on_create(obj, gates, admin_namespace=admin_namespace)
            declared = resourceclaim.declared_on_create(obj, version)
        case "resourceclaimtemplates":
            handwritten = template.on_create(obj, gates, admin_namespace=admin_namespace)
            declared = template.declared(obj, version)
        case "deviceclasses":
            handwritten, declared = deviceclass.on_create(obj, gates), deviceclass.declared(obj)
        case "devicetaintrules":
            handwritten, declared = taintrule.on_create(obj), taintrule.declared(obj)
        case _:
            raise LookupError(f"no validation for {resource}")
    found, declared_found = list(handwritten), list(declared)
    if not found and not declared_found:
        found = list(_common(resource, obj))
    return in_order(found, declared_found)


def validate_update(
    resource: str, obj: dict[str, Any], old: dict[str, Any], gates: FeatureGates, *, version: str = "v1"
) -> list[FieldError]:
    """List the errors of an object that is to replace the stored ``old`` one. Raises as ``validate_create``."""
    match resource:
        case "resourceslices":
            devices = resourceslice.questionable(obj)
            handwritten = resourceslice.on_update(obj, old, devices, gates)
            declared = resourceslice.declared(obj, old, devices, gates, version)
        case "resourceclaims":
            handwritten = resourceclaim.on_update(obj, old)
            declared = resourceclaim.declared_on_update(obj, old)
        case "resourceclaimtemplates":
            handwritten, declared = template.on_update(obj, old, gates), template.declared(obj, version)
        case "deviceclasses":
            handwritten, declared = deviceclass.on_update(obj, old, gates), deviceclass.declared(obj)
        case "devicetaintrules":
            handwritten, declared = taintrule.on_update(obj, old), taintrule.declared(obj, old)
        case _:
            raise LookupError(f"no validation for {resource}")
    return in_order([*_common(resource, obj, old), *handwritten], declared)


def validate_metadata_update(resource: str, obj: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """List what ``validate_update`` would, for an object that is valid and unchanged but for its metadata."""
    return in_order(_common(resource, obj, old), ())


def validate_status_update(
    resource: str, obj: dict[str, Any], old: dict[str, Any], gates: FeatureGates, *, admin_namespace: bool = False
) -> list[FieldError]:
    """List the errors of a write to the status subresource of ``old``. Raises as ``validate_create``."""
    match resource:
        case "resourceclaims":
            handwritten = resourceclaim.on_status_update(obj, old, admin_namespace=admin_namespace)
            declared = resourceclaim.declared_on_status_update(obj, old)
        case "devicetaintrules":
            handwritten, declared = taintrule.on_status_update(obj, old), iter(())
        case _:
            raise LookupError(f"{resource} have no status")
    return in_order([*_common(resource, obj, old), *handwritten], declared)


def _common(resource: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> Errors:
    """Check what the generic registry checks of any object (``k8s.io/apiserver`` v0.37.1 ``pkg/registry/rest``)."""
    meta = obj.get("metadata") or {}
    yield from metadata.on_create(meta, namespaced=resource in _NAMESPACED, name_format=formats.path_segment)
    if old is not None:
        yield from metadata.on_update(meta, old.get("metadata") or {})
