"""Conditions in a status.

Source: ``ValidateConditions`` of ``k8s.io/apimachinery`` v0.37.1 ``pkg/apis/meta/v1/validation/validation.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import formats
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, duplicate, invalid, not_supported, required, too_long

_STATUSES = ["False", "True", "Unknown"]
_REASON_BYTES = 1024
_MESSAGE_BYTES = 32 * 1024


def conditions(values: list[dict[str, Any]] | None, path: str) -> Errors:
    """Check that each condition is valid, and no type occurs twice."""
    seen = set()
    for index, value in enumerate(values or ()):
        kind = value.get("type") or ""
        if kind in seen:
            yield duplicate(f"{path}[{index}]", kind)
        seen.add(kind)
        yield from _condition(value, f"{path}[{index}]")


def _condition(value: dict[str, Any], path: str) -> Errors:
    if not value.get("type"):
        yield required(f"{path}.type", "is required")
    else:
        yield from names.label_key(value["type"], f"{path}.type")
    status = value.get("status") or ""
    if not status:
        yield required(f"{path}.status")
    elif status not in _STATUSES:
        yield not_supported(f"{path}.status", status, _STATUSES)
    generation = value.get("observedGeneration") or 0
    if generation < 0:
        yield invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero")
    if not value.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    yield from _reason(value.get("reason") or "", f"{path}.reason")
    if formats.byte_length(value.get("message") or "") > _MESSAGE_BYTES:
        yield too_long(f"{path}.message", _MESSAGE_BYTES)


def _reason(reason: str, path: str) -> Errors:
    if not reason:
        yield required(path)
        return
    yield from (invalid(path, reason, problem) for problem in formats.condition_reason(reason))
    if formats.byte_length(reason) > _REASON_BYTES:
        yield too_long(path, _REASON_BYTES)
