"""Taints of devices and tolerations of requests.

Source: ``validateDeviceTaint`` and ``validateDeviceToleration`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``, and ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.validation import names
from drakit_api.validation.errors import Errors, invalid, one_of

EFFECTS = ["NoExecute", "NoSchedule", "None"]
OPERATORS = ["Equal", "Exists"]


def taint(value: dict[str, Any], path: str) -> Errors:
    """Check key and value of a taint."""
    yield from names.label_key(value.get("key") or "", f"{path}.key")
    if value.get("value"):
        yield from names.label_value(value["value"], f"{path}.value")


def declared_taint(value: dict[str, Any], path: str, old: dict[str, Any] | None = None) -> Errors:
    """Check the effect of a taint, unless it is unchanged."""
    effect = value.get("effect") or ""
    if old is not None and effect == (old.get("effect") or ""):
        return
    yield from one_of(effect, EFFECTS, f"{path}.effect")


def toleration(value: dict[str, Any], path: str) -> Errors:
    """Check the value of a toleration, which depends on the operator."""
    operator, text = value.get("operator"), value.get("value") or ""
    if operator == "Exists" and text:
        yield invalid(f"{path}.value", text, "must be empty for operator `Exists`")
    if operator == "Equal":
        yield from names.label_value(text, f"{path}.value")


def declared_toleration(value: dict[str, Any], path: str) -> Errors:
    """Check key, operator and effect of a toleration."""
    if value.get("key"):
        yield from names.label_key(value["key"], f"{path}.key")
    yield from one_of(value.get("operator") or "", OPERATORS, f"{path}.operator")
    if value.get("effect"):
        yield from one_of(value["effect"], EFFECTS, f"{path}.effect")
