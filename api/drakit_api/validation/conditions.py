"""Conditions in a status.

Source: ``ValidateConditions`` of ``k8s.io/apimachinery`` v0.37.1 ``pkg/apis/meta/v1/validation/validation.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import formats
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, at_most, duplicate, invalid, one_of, required

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
    yield from one_of(value.get("status") or "", _STATUSES, f"{path}.status")
    generation = value.get("observedGeneration") or 0
    if generation < 0:
        yield invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero")
    if not value.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    yield from _reason(value.get("reason") or "", f"{path}.reason")
    yield from at_most(value.get("message") or "", _MESSAGE_BYTES, f"{path}.message")


def _reason(reason: str, path: str) -> Errors:
    if not reason:
        yield required(path)
        return
    yield from (invalid(path, reason, problem) for problem in formats.condition_reason(reason))
    yield from at_most(reason, _REASON_BYTES, path)
