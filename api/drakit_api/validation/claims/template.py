"""Rules of ResourceClaimTemplates.

Source: ``ValidateResourceClaimTemplate`` and its siblings in ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.features import FeatureGates
from drakit_api.objects import encoding, schema
from drakit_api.objects.equality import same_field
from drakit_api.validation import metadata
from drakit_api.validation.claims.requests import declared_device_claim, device_claim
from drakit_api.validation.claims.resourceclaim import admin_requests
from drakit_api.validation.errors import Errors, forbidden, invalid

_META_FIELDS = ("annotations", "labels")


def on_create(obj: dict[str, Any], gates: FeatureGates, *, admin_namespace: bool) -> Errors:
    """Check a new template, as ``ValidateResourceClaimTemplate`` does."""
    yield from admin_requests((obj.get("spec") or {}).get("spec") or {}, admin_namespace=admin_namespace)
    yield from _template(obj, gates)


def on_update(obj: dict[str, Any], old: dict[str, Any], gates: FeatureGates) -> Errors:
    """Check all of a template again, and that its spec is unchanged."""
    yield from _template(obj, gates)
    yield from metadata.on_update(obj.get("metadata") or {}, old.get("metadata") or {})
    if not same_field("resource/v1.ResourceClaimTemplate", "spec", obj, old):
        shown = encoding.internal_encoder("resource/v1.ResourceClaimTemplateSpec")(obj.get("spec") or {})
        yield invalid("spec", shown, "field is immutable")


def declared(obj: dict[str, Any], version: str) -> Errors:
    """Check the declared rules, on creation and update."""
    devices = ((obj.get("spec") or {}).get("spec") or {}).get("devices") or {}
    yield from declared_device_claim(devices, "spec.spec.devices", version)


def _template(obj: dict[str, Any], gates: FeatureGates) -> Errors:
    spec, path = obj.get("spec") or {}, "spec.metadata"
    yield from metadata.on_create(obj.get("metadata") or {}, namespaced=True)
    meta = spec.get("metadata") or {}
    yield from metadata.annotation_rules(meta, path)
    yield from metadata.label_rules(meta, path)
    for field in schema.fields_of("meta/v1.ObjectMeta"):
        if field.name not in _META_FIELDS and _is_set(meta.get(field.name), field.type):
            name = field.go[0].lower() + field.go[1:]
            yield forbidden(f"{path}.{name}", "cannot be set")
    yield from device_claim((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices", gates)


def _is_set(value: Any, kind: schema.Type) -> bool:
    """Tell whether Go's ``IsZero`` is false: an empty list is more than none, and so is a pointer to 0."""
    return value is not None if kind.pointer or kind.shape == "list" else bool(value)
