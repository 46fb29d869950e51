"""Where definitions of custom resources are, and their conditions: all that a server without definitions asks for."""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"


def is_true(crd: Object, condition: str) -> bool:
    """Check whether a condition of a definition is true."""
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)
