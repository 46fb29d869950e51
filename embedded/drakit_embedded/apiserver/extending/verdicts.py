"""What is said of a definition in its conditions, besides its names.

k8s.io/apiextensions-apiserver v0.37 pkg/controller/{establish,apiapproval}, pkg/apihelpers/helpers.go.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from drakit_api.core import conditions
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.scheme import metadata

APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_MORE = "see https://github.com/kubernetes/enhancements/pull/1111"

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


def set_condition(crd: Object, new: Object) -> bool:
    """Set a condition in the place that it has; False if it is there already (SetCRDCondition)."""
    listed = crd["status"].get("conditions")
    if listed is None:
        listed = crd["status"]["conditions"] = []
    old = conditions.find(listed, new["type"])
    if old is None:
        listed.append({**new, "lastTransitionTime": metadata.timestamp()})
        return True
    if all(old.get(field) == new[field] for field in ("status", "reason", "message")):
        return False
    if old["status"] != new["status"]:
        old["lastTransitionTime"] = metadata.timestamp()
    old |= new
    return True


def established(crd: Object, *, accepted: bool) -> Object:
    """Compute the condition Established after a decision about the names."""
    old = conditions.find(crd["status"].get("conditions"), "Established")
    if accepted and (old is None or old["status"] != "True"):
        return INSTALLING
    return {field: old[field] for field in NOT_ACCEPTED} if old is not None else NOT_ACCEPTED


def approval(crd: Object) -> Object | None:
    """Judge the approval of a definition in a group of Kubernetes' community; None for other groups."""
    if _PROTECTED.fullmatch(crd["spec"]["group"]) is None:
        return None
    given: str = (crd["metadata"].get("annotations") or {}).get(APPROVAL) or ""
    status, reason = "False", "InvalidAnnotation"
    must = f"protected groups must have approval annotation {quote(APPROVAL)}"
    message = f'{must} with either a URL or a reason starting with "unapproved", {_MORE}'
    if not given:
        reason, message = "MissingAnnotation", f"{must}, {_MORE}"
    elif given.startswith("unapproved"):
        reason, message = "UnapprovedAnnotation", f"not approved: {quote(given)}"
    elif _is_url(given):
        status, reason, message = "True", "ApprovedAnnotation", f"approved in {given}"
    return {
        "type": "KubernetesAPIApprovalPolicyConformant",
        "status": status,
        "reason": reason,
        "message": message,
    }


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)


def terminating(reason: str, message: str, *, status: str = "True") -> Object:
    """Build the condition Terminating."""
    return {"type": "Terminating", "status": status, "reason": reason, "message": message}
