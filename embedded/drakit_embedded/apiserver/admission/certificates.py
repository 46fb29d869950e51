"""Whose certificates are asked for, and who may approve, sign and vouch for them.

After k8s.io/kubernetes/plugin/pkg/admission/certificates and pkg/certauthorization. Who asks is written into a request
before it is validated: Kubernetes does that in the strategy of the kind, which knows the user there.
"""

from __future__ import annotations

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.role_escalation import only_garbage
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.identity.users import MASTERS
from drakit_embedded.apiserver.registry.certificates.signing_requests import organizations, parsed

_OF_REQUESTER = ("username", "uid", "groups", "extra")
_API_SERVER_CLIENT = "kubernetes.io/kube-apiserver-client"


def name_requester(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Set the requesting user in a new request, whatever the client sent (PrepareForCreate)."""
    if attributes.object is None:
        return
    spec = attributes.object.get("spec") or {}
    told = {key: value for key, value in spec.items() if key not in _OF_REQUESTER}
    attributes.object["spec"] = {**told, **attributes.user.info()}


def restrict_subject(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse client certificates of the group ``system:masters`` with 403 (CertificateSubjectRestriction)."""
    spec = _spec(attributes.object)
    if spec.get("signerName") != _API_SERVER_CLIENT or MASTERS not in organizations(parsed(spec["request"])):
        return
    raise attributes.refused(f"use of {_API_SERVER_CLIENT} signer with {MASTERS} group is not allowed")


def approve(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse approval with 403 if the user may not approve requests for this signer (CertificateApproval)."""
    if attributes.subresource == "approval":
        _check(attributes, cluster, "approve", "approve requests with", _signer(attributes.old))


def sign(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse with 403 to set certificate or conditions if the user may not sign (CertificateSigning)."""
    if attributes.subresource == "status" and _signed(attributes.object) != _signed(attributes.old):
        _check(attributes, cluster, "sign", "sign requests with", _signer(attributes.old))


def attest(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse a trust bundle with 403 if the user may not attest for its signer (ClusterTrustBundleAttest)."""
    bundle = attributes.object
    if not (signer := _signer(bundle)) or (bundle is not None and only_garbage(attributes, bundle)):
        return
    _check(attributes, cluster, "attest", "attest for", signer)


def _check(attributes: Attributes, cluster: GuardedCluster, verb: str, doing: str, signer: str) -> None:
    """Check whether the user has the verb for the signer, or for all signers of its domain."""
    for name in (signer, f"{signer.split('/')[0]}/*"):
        access = Access(attributes.user, verb, attributes.kind.group, "signers", name=name)
        if cluster.authorizer.decide(access).allowed:
            return
    raise attributes.refused(f"user not permitted to {doing} signerName {quote(signer)}")


def _spec(obj: Object | None) -> Object:
    found: Object = (obj or {}).get("spec") or {}
    return found


def _signer(obj: Object | None) -> str:
    return str(_spec(obj).get("signerName") or "")


def _signed(obj: Object | None) -> tuple[object, object]:
    status = (obj or {}).get("status") or {}
    return status.get("certificate") or "", status.get("conditions") or []
