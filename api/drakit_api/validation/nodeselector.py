"""Node selectors of slices, devices, allocations and pods.

Source: ``ValidateNodeSelector`` of ``k8s.io/kubernetes`` 1.37.1 ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.validation import names
from drakit_api.validation.errors import Errors, forbidden, invalid, invalid_constant, required
from drakit_api.validation.items import each


def node_selector(value: dict[str, Any], path: str) -> Errors:
    """Check that there is a term, and that each has valid requirements."""
    terms = value.get("nodeSelectorTerms")
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    yield from each(terms, f"{path}.nodeSelectorTerms", _term)


def preference(value: dict[str, Any], path: str) -> Errors:
    """Check a term that nodes should match; its values need not be valid label values."""
    yield from each(value.get("matchExpressions"), f"{path}.matchExpressions", _requirement_of_any_values)
    yield from each(value.get("matchFields"), f"{path}.matchFields", _field_requirement)


def _term(value: dict[str, Any], path: str) -> Errors:
    yield from each(value.get("matchExpressions"), f"{path}.matchExpressions", _requirement)
    yield from each(value.get("matchFields"), f"{path}.matchFields", _field_requirement)


def _requirement(value: dict[str, Any], path: str) -> Errors:
    yield from _requirement_of_any_values(value, path)
    yield from each(value.get("values"), f"{path}.values", names.label_value)


def _requirement_of_any_values(value: dict[str, Any], path: str) -> Errors:
    operator, values = value.get("operator") or "", value.get("values") or []
    match operator:
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        case "Gt" | "Lt":
            if len(values) != 1:
                yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
        case _:
            yield invalid_constant(f"{path}.operator", operator, "not a valid selector operator")
    yield from names.label_key(value.get("key") or "", f"{path}.key")


def _field_requirement(value: dict[str, Any], path: str) -> Errors:
    operator, values, key = value.get("operator") or "", value.get("values") or [], value.get("key") or ""
    if operator not in ("In", "NotIn"):
        yield invalid_constant(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", detail)
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
    else:
        yield from each(values, f"{path}.values", names.dns_subdomain)
