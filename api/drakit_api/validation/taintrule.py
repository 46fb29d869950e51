"""Rules of DeviceTaintRules and of their status.

Source: ``ValidateDeviceTaintRule`` and its siblings in ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import limits
from drakit_api.validation import metadata, names
from drakit_api.validation.conditions import conditions
from drakit_api.validation.errors import Errors, too_many
from drakit_api.validation.taints import declared_taint, taint


def on_create(obj: dict[str, Any]) -> Errors:
    """Check a new rule, as ``ValidateDeviceTaintRule`` does."""
    yield from metadata.on_create(obj.get("metadata") or {}, namespaced=False)
    yield from _spec(obj.get("spec") or {})


def on_update(obj: dict[str, Any], old: dict[str, Any]) -> Errors:
    """Check a changed rule, as ``ValidateDeviceTaintRuleUpdate`` does."""
    yield from metadata.on_update(obj.get("metadata") or {}, old.get("metadata") or {})
    yield from _spec(obj.get("spec") or {})


def declared(obj: dict[str, Any], old: dict[str, Any] | None = None) -> Errors:
    """Check the taint's effect, unless an update leaves it as it was."""
    previous = None if old is None else (old.get("spec") or {}).get("taint") or {}
    yield from declared_taint((obj.get("spec") or {}).get("taint") or {}, "spec.taint", previous)


def on_status_update(obj: dict[str, Any], old: dict[str, Any]) -> Errors:
    """Check a rule's status, as ``ValidateDeviceTaintRuleStatusUpdate`` does."""
    yield from metadata.on_update(obj.get("metadata") or {}, old.get("metadata") or {})
    entries = (obj.get("status") or {}).get("conditions") or []
    yield from conditions(entries, "status.conditions")
    if len(entries) > limits.TAINT_RULE_CONDITIONS:
        yield too_many("status.conditions", len(entries), limits.TAINT_RULE_CONDITIONS)


def _spec(spec: dict[str, Any]) -> Errors:
    selector, path = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    if selector.get("driver") is not None:
        yield from names.driver(selector["driver"], f"{path}.driver")
    if selector.get("pool") is not None:
        yield from names.pool(selector["pool"], f"{path}.pool")
    if selector.get("device") is not None:
        yield from names.dns_label(selector["device"], f"{path}.device")
    yield from taint(spec.get("taint") or {}, "spec.taint")
