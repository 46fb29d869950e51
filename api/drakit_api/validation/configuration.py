"""Opaque configuration for drivers: in classes, claims and allocations; and other embedded JSON objects.

Source: ``validateDeviceConfiguration`` and ``validateRawExtension`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``, and ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from drakit_api import limits
from drakit_api.objects.raw_extensions import Embedded
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, invalid, required, too_long

SOURCES = ["FromClaim", "FromClass"]


def configuration(value: dict[str, Any], path: str, *, stored: bool = False) -> Errors:
    """Check an opaque configuration, whose parameters must be an object; ``stored`` ones are of any size."""
    opaque = value.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
    else:
        maximum = None if stored else limits.OPAQUE_PARAMETERS_LENGTH
        yield from json_object(opaque.get("parameters"), f"{path}.opaque.parameters", maximum)


def declared_configuration(value: dict[str, Any], path: str) -> Errors:
    """Check the driver of an opaque configuration."""
    if value.get("opaque") is not None:
        yield from names.declared_driver(value["opaque"].get("driver") or "", f"{path}.opaque.driver")


def json_object(value: Any, path: str, maximum: int | None) -> Errors:
    """Check an embedded JSON object of at most ``maximum`` bytes as it came in; None for any size."""
    if value is None:
        yield required(path)
    elif maximum is not None and _length(value) > maximum:
        yield too_long(path, maximum)
    elif not isinstance(value, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")


def _length(value: Any) -> int:
    return len(value.text.encode()) if isinstance(value, Embedded) else len(msgspec.json.encode(value))
