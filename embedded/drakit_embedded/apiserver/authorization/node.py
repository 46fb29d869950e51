"""The Node authorizer: a kubelet reads what the pods on its node need, and keeps house for itself.

kube-apiserver keeps a graph of pods and what they refer to; here each pod's references are read from its spec when they
are asked for, and remembered until it changes.

After k8s.io/kubernetes/plugin/pkg/auth/authorizer/node/{node_authorizer,graph}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from drakit_api.core import pod_claims
from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.authorization.rbac_rules import Rule
from drakit_embedded.apiserver.registry.podspec import pod_references
from drakit_embedded.apiserver.registry.podspec.mirror_pods import is_mirror
from drakit_embedded.apiserver.storage.store import Key, Record, Store

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

# The namespace of nodes' leases (k8s.io/api/core/v1, NamespaceNodeLease).
NODE_LEASES = "kube-node-lease"
_CHANGES = ("get", "create", "update", "patch", "delete")
Reference = tuple[str, str]
# Whether it is allowed, and the reason if not.
Verdict = tuple[bool, str]
Judge = Callable[["NodeAuthorizer", str, Access], Verdict]


class NodeAuthorizer:
    """The Node authorizer; ``rules`` are for kinds that need no look at objects."""

    def __init__(self, store: Store, gates: FeatureGates, rules: tuple[Rule, ...]) -> None:
        self._store, self._gates, self._rules = store, gates, rules
        self._references: dict[Key, tuple[int, frozenset[Reference]]] = {}

    def decide(self, access: Access) -> Verdict:
        """Check whether the node that asks may; others are nobody's concern here."""
        node = access.user.node
        if node is None:
            return False, ""
        if not node:
            return False, f"unknown node for user {quote(access.user.name)}"
        judge = _JUDGES.get((access.group, access.resource)) if access.is_resource else None
        if judge is not None:
            return judge(self, node, access)
        return any(rule.allows(access) for rule in self._rules), ""

    def _related(self, node: str, access: Access) -> Verdict:
        if not access.name:
            return False, "No Object name found"
        return self._has_path(node, access), f"no relationship found between node '{node}' and this object"

    def _has_path(self, node: str, access: Access) -> bool:
        kind, namespace, name = access.resource, access.namespace, access.name
        if kind in ("pods", "resourceslices", "podcertificaterequests", "volumeattachments"):
            storage = kind if not access.group else f"{kind}.{access.group}"
            record = self._store.named(storage).get(namespace, name)
            return record is not None and _node_of(kind, record) == node
        if kind == "persistentvolumes":
            claim = self._claim_of_volume(name)
            return claim is not None and self._needed(node, claim[0], ("persistentvolumeclaims", claim[1]))
        if self._needed(node, namespace, (kind, name)):
            return True
        return kind == "secrets" and self._needed_by_volumes(node, namespace, name)

    def _needed(self, node: str, namespace: str, wanted: Reference) -> bool:
        """Check whether a pod on the node refers to an object of its namespace."""
        return any(wanted in self._references_of(pod) for pod in self._pods(node, namespace))

    def _pods(self, node: str, namespace: str) -> Iterator[Record]:
        for record in self._store.named("pods").select(namespace):
            if record.fields.get("spec.nodeName") == node:
                yield record

    def _references_of(self, record: Record) -> frozenset[Reference]:
        known = self._references.get(record.key)
        if known is None or known[0] != record.version:
            pods = self._store.named("pods").records
            if len(self._references) > 2 * len(pods):
                self._references = {key: value for key, value in self._references.items() if key in pods}
            known = self._references[record.key] = (record.version, frozenset(_references(record.object())))
        return known[1]

    def _claim_of_volume(self, name: str) -> Key | None:
        record = self._store.named("persistentvolumes").get("", name)
        claim = (record.object().get("spec") or {}).get("claimRef") if record is not None else None
        return (claim.get("namespace", ""), claim.get("name", "")) if claim else None

    def _needed_by_volumes(self, node: str, namespace: str, secret: str) -> bool:
        """Check whether a volume behind a claim that is used on the node needs a secret, wherever that is."""
        for record in self._store.named("persistentvolumes").select(None):
            spec = record.object().get("spec") or {}
            claim = spec.get("claimRef") or {}
            if (namespace, secret) not in _volume_secrets(spec):
                continue
            if self._needed(node, claim.get("namespace", ""), ("persistentvolumeclaims", claim.get("name", ""))):
                return True
        return False

    def _get(self, node: str, access: Access) -> Verdict:
        if access.verb != "get":
            return False, "can only get individual resources of this type"
        if access.subresource:
            return False, "cannot get subresource"
        return self._related(node, access)

    def _read(self, node: str, access: Access) -> Verdict:
        if access.verb not in ("get", "list", "watch"):
            return False, "can only read resources of this type"
        if access.subresource:
            return False, "cannot read subresource"
        if not access.namespace:
            return False, "can only read namespaced object of this type"
        return self._related(node, access)

    def _volume_claim(self, node: str, access: Access) -> Verdict:
        if access.subresource != "status":
            return self._get(node, access)
        if access.verb not in ("update", "patch"):
            return False, "can only get/update/patch this type"
        return self._related(node, access)

    def _account(self, node: str, access: Access) -> Verdict:
        if access.verb == "get" and not access.subresource:
            return self._read(node, access)
        if access.verb != "create" or not access.name:
            return False, "can only create tokens for individual service accounts"
        if access.subresource != "token":
            return False, "can only create token subresource of serviceaccount"
        return self._related(node, access)

    def _lease(self, node: str, access: Access) -> Verdict:
        if access.verb not in _CHANGES:
            return False, "can only get, create, update, patch, or delete a node lease"
        if access.namespace != NODE_LEASES:
            return False, f"can only access leases in the {quote(NODE_LEASES)} system namespace"
        if access.verb != "create" and access.name != node:
            return False, "can only access node lease with the same name as the requesting node"
        return True, ""

    def _csi_node(self, node: str, access: Access) -> Verdict:
        if access.subresource == "status":
            if not self._gates.enabled("CSIVolumeHealth"):
                return False, "CSINode status access requires CSIVolumeHealth feature"
            if access.verb not in ("get", "update", "patch"):
                return False, "can only get, update, or patch CSINode status"
        elif access.subresource:
            return False, "cannot authorize CSINode subresources"
        elif access.verb not in _CHANGES:
            return False, "can only get, create, update, patch, or delete a CSINode"
        if access.verb != "create" and access.name != node:
            return False, "can only access CSINode with the same name as the requesting node"
        return True, ""

    def _slice(self, node: str, access: Access) -> Verdict:
        if access.subresource:
            return False, "cannot authorize ResourceSlice subresources"
        if access.verb == "create":
            # NodeRestriction checks the node of the slice.
            return True, ""
        if access.verb in ("get", "update", "patch", "delete"):
            return self._related(node, access)
        if access.verb in ("watch", "list", "deletecollection"):
            why = "can only list/watch/deletecollection resourceslices with nodeName field selector"
            return ("spec.nodeName", node) in access.fields, why
        verbs = "get, watch, list, create, update, patch, delete, deletecollection"
        return False, f"only the following verbs are allowed for a ResourceSlice: {verbs}"

    def _certificate_request(self, node: str, access: Access) -> Verdict:
        if not self._gates.enabled("PodCertificateRequest"):
            return False, ""
        if access.subresource:
            return False, "nodes may not access the status subresource of PodCertificateRequests"
        if access.verb == "create":
            return True, ""
        if access.verb == "get":
            return self._related(node, access)
        if access.verb in ("list", "watch"):
            why = "can only list/watch podcertificaterequests with nodeName field selector"
            return ("spec.nodeName", node) in access.fields, why
        return False, f"nodes may not {access.verb} podcertificaterequests"

    def _node(self, node: str, access: Access) -> Verdict:
        if access.subresource == "status":
            return access.verb in ("update", "patch"), ""
        if access.subresource:
            return False, ""
        if access.verb in ("get", "list", "watch"):
            if access.name == node:
                return True, ""
            what = f"'{access.name}'" if access.name else "all nodes"
            return False, f"node '{node}' cannot read {what}, only its own Node object"
        return access.verb in ("create", "update", "patch"), ""

    def _pod(self, node: str, access: Access) -> Verdict:
        verb = access.verb
        if access.subresource == "status":
            return verb in ("update", "patch"), ""
        if access.subresource == "eviction":
            return verb == "create", ""
        if access.subresource:
            return False, ""
        if verb == "get":
            return self._get(node, access)
        if verb in ("list", "watch"):
            if ("spec.nodeName", node) in access.fields:
                return True, ""
            if access.name:
                return self._related(node, access)
            return False, "can only list/watch pods with spec.nodeName field selector"
        return verb in ("create", "delete"), ""


def _node_of(kind: str, record: Record) -> str:
    if kind == "volumeattachments":
        return str((record.object().get("spec") or {}).get("nodeName", ""))
    return record.fields.get("spec.nodeName", "")


def _references(pod: dict[str, Any]) -> Iterator[Reference]:
    """List what a node may read because of a pod; nothing for a mirror pod, which the node created itself."""
    if is_mirror(pod):
        return
    spec = pod.get("spec") or {}
    if account := spec.get("serviceAccountName"):
        yield "serviceaccounts", account
    for kind, names in (
        ("secrets", pod_references.secrets(spec)),
        ("configmaps", pod_references.config_maps(spec)),
        ("persistentvolumeclaims", pod_references.volume_claims(pod)),
        ("resourceclaims", pod_claims.claim_names(pod)),
    ):
        for name in names:
            yield kind, name


# Volumes with a secret. If no namespace is given, some use that of the claim.
_IN_NAMESPACE_OF_CLAIM = ("cephfs", "flexVolume", "iscsi", "rbd", "scaleIO")
_IN_ITS_OWN = ("cinder", "storageos")
_OF_DRIVERS = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")


def _volume_secrets(spec: dict[str, Any]) -> Iterator[Reference]:
    """Find namespace and name of the secrets that kubelets need for a volume (pkg/api/v1/persistentvolume/util.go)."""
    of_claim = (spec.get("claimRef") or {}).get("namespace", "")
    azure, csi = spec.get("azureFile") or {}, spec.get("csi") or {}
    yield azure.get("secretNamespace") or of_claim, azure.get("secretName", "")
    for sort in _IN_NAMESPACE_OF_CLAIM:
        reference = (spec.get(sort) or {}).get("secretRef") or {}
        yield reference.get("namespace") or of_claim, reference.get("name", "")
    for reference in (
        *((spec.get(sort) or {}).get("secretRef") or {} for sort in _IN_ITS_OWN),
        *(csi.get(use) or {} for use in _OF_DRIVERS),
    ):
        yield reference.get("namespace", ""), reference.get("name", "")


_JUDGES: dict[tuple[str, str], Judge] = {
    ("", "secrets"): NodeAuthorizer._read,
    ("", "configmaps"): NodeAuthorizer._read,
    ("", "persistentvolumeclaims"): NodeAuthorizer._volume_claim,
    ("", "persistentvolumes"): NodeAuthorizer._get,
    ("resource.k8s.io", "resourceclaims"): NodeAuthorizer._get,
    ("storage.k8s.io", "volumeattachments"): NodeAuthorizer._get,
    ("", "serviceaccounts"): NodeAuthorizer._account,
    ("coordination.k8s.io", "leases"): NodeAuthorizer._lease,
    ("storage.k8s.io", "csinodes"): NodeAuthorizer._csi_node,
    ("resource.k8s.io", "resourceslices"): NodeAuthorizer._slice,
    ("", "nodes"): NodeAuthorizer._node,
    ("", "pods"): NodeAuthorizer._pod,
    ("certificates.k8s.io", "podcertificaterequests"): NodeAuthorizer._certificate_request,
}
