"""What is said of a definition in its conditions, besides its names.

k8s.io/apiextensions-apiserver v0.37 pkg/controller/{establish,apiapproval,nonstructuralschema}.
"""

from __future__ import annotations

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object

_APPROVALS = {
    "approved": "ApprovedAnnotation",
    "bypassed": "UnapprovedAnnotation",
    "invalid": "InvalidAnnotation",
    "missing": "MissingAnnotation",
}
NOT_ACCEPTED: Object = {
    "type": "Established",
    "status": "False",
    "reason": "NotAccepted",
    "message": "not all names are accepted",
}
INSTALLING: Object = {
    "type": "Established",
    "status": "False",
    "reason": "Installing",
    "message": "the initial names have been accepted",
}
ESTABLISHED: Object = {
    "type": "Established",
    "status": "True",
    "reason": "InitialNamesAccepted",
    "message": "the initial names have been accepted",
}


def is_set(crd: Object, wanted: Object) -> bool:
    """Check whether a definition has a condition already."""
    old = conditions.find(crd["status"].get("conditions"), wanted["type"])
    return old is not None and all(old.get(field) == wanted[field] for field in ("status", "reason", "message"))


def established(crd: Object, *, accepted: bool) -> Object:
    """Compute the condition Established after a decision about the names."""
    old = conditions.find(crd["status"].get("conditions"), "Established")
    if accepted and (old is None or old["status"] != "True"):
        return INSTALLING
    return {field: old[field] for field in NOT_ACCEPTED} if old is not None else NOT_ACCEPTED


def approval(crd: Object) -> Object | None:
    """Judge the approval of a definition in a group of Kubernetes' community; None for other groups."""
    # Imported here, as it is loaded with the first definition.
    from drakit_embedded.apiserver.registry.definitions import approval as approvals

    if not approvals.is_protected(crd["spec"]["group"]):
        return None
    found = approvals.approval_of(crd)
    return {
        "type": "KubernetesAPIApprovalPolicyConformant",
        "status": "True" if found.state == "approved" else "False",
        "reason": _APPROVALS[found.state],
        "message": found.reason,
    }


def structure(crd: Object) -> Object | None:
    """Say what is not structural about the schemas of a definition; None if all is."""
    # Imported here: only definitions of a former release can have such schemas, and most clusters have none at all.
    from drakit_embedded.apiserver.registry.definitions.object_rules import non_structural_violations

    found = non_structural_violations(crd)
    if found is None:
        return None
    return {"type": "NonStructuralSchema", "status": "True", "reason": found[0], "message": found[1]}
