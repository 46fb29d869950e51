"""Groups of the Kubernetes community: their definitions say who has approved of the API.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apihelpers/helpers.go``, and ``validateAPIApproval`` of
``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from drakit_api.golang import gourls
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, invalid, required

ANNOTATION = "api-approved.kubernetes.io"
_PATH = f"metadata.annotations[{ANNOTATION}]"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(NamedTuple):
    """Whether an API is approved of, and why."""

    state: Literal["approved", "bypassed", "invalid", "missing"]
    reason: str


def is_protected(group: str) -> bool:
    """Tell whether a group is one of the community."""
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def approval_of(crd: Object) -> Approval:
    """Read who has approved of a definition (``GetAPIApprovalState``)."""
    text = (crd["metadata"].get("annotations") or {}).get(ANNOTATION) or ""
    must = f"protected groups must have approval annotation {quote(ANNOTATION)}"
    if not text:
        return Approval("missing", f"{must}, {_SEE}")
    if text.startswith("unapproved"):
        return Approval("bypassed", f"not approved: {quote(text)}")
    if _is_full_url(text):
        return Approval("approved", f"approved in {text}")
    return Approval("invalid", f'{must} with either a URL or a reason starting with "unapproved", {_SEE}')


def _is_full_url(text: str) -> bool:
    try:
        url = gourls.parse(text)
    except ValueError:
        return False
    return bool(url.host and url.scheme)


def approval_faults(crd: Object, old: Object | None) -> Errors:
    """Check the annotation of a definition; one whose state has not changed may stay as it is."""
    if not is_protected(crd["spec"].get("group") or ""):
        return
    approval = approval_of(crd)
    if old is not None and approval_of(old).state == approval.state:
        return
    if approval.state == "missing":
        yield required(_PATH, approval.reason)
    elif approval.state == "invalid":
        yield invalid(_PATH, crd["metadata"]["annotations"][ANNOTATION], approval.reason)
