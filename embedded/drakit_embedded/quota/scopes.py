"""Scopes: which objects of a namespace a quota is about."""

from __future__ import annotations

from typing import Any

from drakit_api.kubernetes_objects import Object

# core/v1 ScopedResourceSelectorRequirement
Requirement = dict[str, Any]


def of(quota: Object) -> list[Requirement]:
    """List the scopes of a quota, all of which an object must be in."""
    spec = quota.get("spec") or {}
    listed = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return listed + ((spec.get("scopeSelector") or {}).get("matchExpressions") or [])


def has_value(requirement: Requirement, value: str | None) -> bool:
    """Check whether a value (none, if it is not set) is what a requirement wants."""
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "Exists":
            return bool(value)
        case "DoesNotExist":
            return not value
        case "In":
            return bool(value) and value in values
        case "NotIn":
            return not value or value not in values
    return False
