"""Fields that a write does not change, whatever it says: nobody comes to own them by it.

``GetResetFields`` of the strategies in k8s.io/kubernetes/pkg/registry. By default a write to the object resets the
status, one to the status resets the spec; some kinds keep their metadata, too, when their status is written.
"""

from __future__ import annotations

from drakit_embedded.apiserver.scheme.kinds import Kind

Tree = dict[str, "Tree"]

_NOTHING: Tree = {}
_STATUS: Tree = {"f:status": {}}
_SPEC: Tree = {"f:spec": {}}
_SPEC_AND_METADATA: Tree = {"f:metadata": {}, "f:spec": {}}
_METADATA_KEPT = {
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("certificates.k8s.io", "podcertificaterequests"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("networking.k8s.io", "servicecidrs"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceclaims"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "volumeattachments"),
    ("storagemigration.k8s.io", "storageversionmigrations"),
}
_CSR = ("certificates.k8s.io", "certificatesigningrequests")
_SPECIAL: dict[tuple[str, str, str], Tree] = {
    (*_CSR, ""): {"f:spec": {}, "f:status": {}},
    (*_CSR, "status"): {"f:spec": {}, "f:status": {"f:conditions": {}}},
    (*_CSR, "approval"): {"f:spec": {}, "f:status": {"f:certificate": {}}},
    ("", "namespaces", "finalize"): _STATUS,
    ("", "pods", "ephemeralcontainers"): {"f:metadata": {}, "f:status": {}},
    ("", "pods", "status"): {"f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}, "f:spec": {}},
    ("apps", "deployments", "status"): {"f:metadata": {"f:labels": {}}, "f:spec": {}},
}
# ResetObjectMetaForStatus (k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go), without what is the server's own.
_OF_METADATA = ("deletionTimestamp", "selfLink", "labels", "annotations", "finalizers", "ownerReferences")


def metadata_kept(kind: Kind) -> tuple[str, ...]:
    """List the fields of the metadata that a write to the status leaves as they were."""
    kept = of(kind, "status").get("f:metadata")
    if kept is None:
        return ()
    return tuple(element.removeprefix("f:") for element in kept) or _OF_METADATA


def of(kind: Kind, subresource: str) -> Tree:
    """Find the fields that a write to a kind or one of its subresources resets, as a set of ``managedfields``."""
    special = _SPECIAL.get((kind.group, kind.plural, subresource))
    if special is not None:
        return special
    if "status" not in kind.subresources:
        return _NOTHING
    if subresource != "status":
        return _STATUS
    keeps_metadata = kind.definition is not None or (kind.group, kind.plural) in _METADATA_KEPT
    return _SPEC_AND_METADATA if keeps_metadata else _SPEC
