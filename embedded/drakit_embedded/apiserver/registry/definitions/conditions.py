"""Conditions of a definition: each keeps its place in the list, and its time as long as its status.

k8s.io/apiextensions-apiserver v0.37 pkg/apihelpers/helpers.go (SetCRDCondition).
"""

from __future__ import annotations

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.scheme import metadata


def set_condition(crd: Object, new: Object) -> None:
    """Set a condition, without its time."""
    listed = crd["status"].get("conditions")
    if listed is None:
        listed = crd["status"]["conditions"] = []
    old = conditions.find(listed, new["type"])
    if old is None:
        listed.append({**new, "lastTransitionTime": metadata.timestamp()})
        return
    if old["status"] != new["status"]:
        old["lastTransitionTime"] = metadata.timestamp()
    old |= new


def terminating(reason: str, message: str, *, status: str = "True") -> Object:
    """Build the condition Terminating."""
    return {"type": "Terminating", "status": status, "reason": reason, "message": message}
