"""Rules of ResourceClaims and of their status.

Source: ``ValidateResourceClaim`` and its siblings in ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``, and ``pkg/registry/resource/utils.go`` for admin access.
"""

from __future__ import annotations

from typing import Any

from drakit_api.features import FeatureGates
from drakit_api.objects.allocations import results_in
from drakit_api.objects.equality import same_field
from drakit_api.validation import metadata
from drakit_api.validation.claims.allocation import claim_status, declared_claim_status
from drakit_api.validation.claims.requests import declared_device_claim, device_claim, request_names
from drakit_api.validation.errors import Errors, forbidden, invalid

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_ADMIN_DETAIL = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"


def on_create(obj: dict[str, Any], gates: FeatureGates, *, admin_namespace: bool) -> Errors:
    """Check a new claim, as ``ValidateResourceClaim`` does."""
    spec = obj.get("spec") or {}
    yield from admin_requests(spec, admin_namespace=admin_namespace)
    yield from metadata.on_create(obj.get("metadata") or {}, namespaced=True)
    yield from device_claim(spec.get("devices") or {}, "spec.devices", gates)


def declared_on_create(obj: dict[str, Any], version: str) -> Errors:
    """Check the declared rules of a new claim."""
    yield from declared_device_claim((obj.get("spec") or {}).get("devices") or {}, "spec.devices", version)


def on_update(obj: dict[str, Any], old: dict[str, Any]) -> Errors:
    """Check that only metadata changes, as ``ValidateResourceClaimUpdate`` does."""
    yield from metadata.on_create(obj.get("metadata") or {}, namespaced=True)
    yield from metadata.on_update(obj.get("metadata") or {}, old.get("metadata") or {})


def declared_on_update(obj: dict[str, Any], old: dict[str, Any]) -> Errors:
    """Check that the spec is unchanged."""
    if not same_field("resource/v1.ResourceClaim", "spec", obj, old):
        yield invalid("spec", None, "field is immutable")


def on_status_update(obj: dict[str, Any], old: dict[str, Any], *, admin_namespace: bool) -> Errors:
    """Check a claim's status, as ``ValidateResourceClaimStatusUpdate`` does."""
    status, previous = obj.get("status") or {}, old.get("status") or {}
    yield from _admin_results(status, previous, admin_namespace=admin_namespace)
    yield from metadata.on_update(obj.get("metadata") or {}, old.get("metadata") or {})
    known = request_names((obj.get("spec") or {}).get("devices") or {})
    deleted = (obj.get("metadata") or {}).get("deletionTimestamp") is not None
    yield from claim_status(status, previous, known, "status", claim_deleted=deleted)


def declared_on_status_update(obj: dict[str, Any], old: dict[str, Any]) -> Errors:
    """Check the declared rules of a claim's status."""
    yield from declared_claim_status(obj.get("status") or {}, old.get("status") or {}, "status")


def admin_requests(spec: dict[str, Any], *, admin_namespace: bool) -> Errors:
    """Refuse admin access outside of labelled namespaces; the error names the first request that asks for it."""
    if admin_namespace:
        return
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            yield forbidden(f"spec.devices.requests[{index}].adminAccess", _ADMIN_DETAIL)
            return


def _admin_results(status: dict[str, Any], old: dict[str, Any], *, admin_namespace: bool) -> Errors:
    if admin_namespace or _first_admin_result(old) is not None:
        return
    if (index := _first_admin_result(status)) is not None:
        yield forbidden(f"status.allocation.devices.results[{index}].adminAccess", _ADMIN_DETAIL)


def _first_admin_result(status: dict[str, Any]) -> int | None:
    return next((index for index, result in enumerate(results_in(status)) if result.get("adminAccess")), None)
