"""NodeRestriction: a kubelet writes what is its own: its node, its lease, its slices, and the pods bound to it.

After k8s.io/kubernetes/plugin/pkg/admission/noderestriction/admission.go. What it may read or touch at all is the Node
authorizer's business; here is what that cannot see, the content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission import node_certificates, node_pods, node_tokens
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.node_pods import node_of
from drakit_embedded.apiserver.authorization.node import NODE_LEASES
from drakit_embedded.apiserver.identity.users import node_name
from drakit_embedded.apiserver.registry.certificates import signing_requests

_RESTRICTED = "node-restriction.kubernetes.io"
# k8s.io/kubelet/pkg/apis/well_known_labels.go
_OWN_LABELS = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
_OWN_LABEL_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")
Rule = Callable[[str, Attributes, GuardedCluster], None]


def admit(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse with 403 a write of a kubelet to what is not its node's own; requests of others pass."""
    node = attributes.user.node
    if node is None:
        return
    if not node:
        raise attributes.refused(f"could not determine node from user {quote(attributes.user.name)}")
    rule = _RULES.get(attributes.resource)
    if rule is not None:
        rule(node, attributes, cluster)


def _node(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    name = attributes.name or ((attributes.object or {}).get("metadata") or {}).get("name", "")
    if name != node:
        raise attributes.refused(f"node {quote(node)} is not allowed to modify node {quote(name)}")
    new, old = attributes.object, attributes.old
    if new is None:
        return
    who = f"node {quote(node)}"
    source = (new.get("spec") or {}).get("configSource")
    if old is None:
        if source is not None:
            raise attributes.refused(f"{who} is not allowed to create pods with a non-nil configSource")
        if labels := _foreign_labels(new, {}):
            raise attributes.refused(f"{who} is not allowed to set the following labels: {', '.join(labels)}")
        return
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if source is not None and source != before.get("configSource"):
        raise attributes.refused(f"{who} is not allowed to update configSource to a new non-nil configSource")
    if (spec.get("taints") or []) != (before.get("taints") or []):
        raise attributes.refused(f"{who} is not allowed to modify taints")
    if (new["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
        raise attributes.refused(f"{who} is not allowed to modify ownerReferences")
    if labels := _foreign_labels(new, old["metadata"].get("labels") or {}):
        raise attributes.refused(f"is not allowed to modify labels: {', '.join(labels)}")


def _foreign_labels(node: Object, before: dict[str, str]) -> list[str]:
    """Find changed labels that kubelets may not change, since these would draw pods to the node."""
    labels = node["metadata"].get("labels") or {}
    changed = {key for key in (*labels, *before) if labels.get(key) != before.get(key)}
    return sorted(key for key in changed if _is_foreign(key))


def _is_foreign(label: str) -> bool:
    namespace = label.partition("/")[0] if "/" in label else ""
    if _below(namespace, _RESTRICTED):
        return True
    if not (_below(namespace, "kubernetes.io") or _below(namespace, "k8s.io")):
        return False
    return label not in _OWN_LABELS and not any(_below(namespace, own) for own in _OWN_LABEL_NAMESPACES)


def _below(namespace: str, suffix: str) -> bool:
    return namespace == suffix or namespace.endswith("." + suffix)


def _volume_claim(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    if attributes.subresource != "status":
        raise attributes.refused("may only update PVC status")
    if _without_progress(attributes.object or {}) != _without_progress(attributes.old or {}):
        raise attributes.refused(
            f"node {quote(node)} is not allowed to update fields other than status.quantity and status.conditions"
        )


def _without_progress(claim: Object) -> Object:
    """Copy a PersistentVolumeClaim without what a kubelet reports about its resizing."""
    own = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")
    metadata = {k: v for k, v in claim["metadata"].items() if k not in ("resourceVersion", "managedFields") and v}
    status = {key: value for key, value in (claim.get("status") or {}).items() if key not in own}
    return {**claim, "metadata": metadata, "status": status}


def _named_after(what: str) -> Rule:
    def check(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
        name = attributes.name or ((attributes.object or {}).get("metadata") or {}).get("name")
        if name != node:
            raise attributes.refused(f"can only access {what} with the same name as the requesting node")

    return check


_named_lease = _named_after("node lease")
_named_csi_node = _named_after("CSINode")


def _lease(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    if attributes.namespace != NODE_LEASES:
        raise attributes.refused(f"can only access leases in the {quote(NODE_LEASES)} system namespace")
    _named_lease(node, attributes, cluster)


def _csi_node(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    _named_csi_node(node, attributes, cluster)
    if attributes.subresource != "status":
        return
    if not cluster.gates.enabled("CSIVolumeHealth"):
        raise attributes.refused("CSIVolumeHealth feature gate is disabled")
    if (attributes.object or {}).get("spec") != (attributes.old or {}).get("spec"):
        raise attributes.refused(f"node {quote(node)} is not allowed to modify CSINode spec via status")


def _slice(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    if attributes.operation == "CREATE" and node_of(attributes.object) != node:
        raise attributes.refused("can only create ResourceSlice with the same NodeName as the requesting node")
    if attributes.operation == "DELETE" and node_of(attributes.old) != node:
        raise attributes.refused("can only delete ResourceSlice with the same NodeName as the requesting node")


def _signing_request(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    """Check that a kubelet asks for a certificate of its own node only."""
    if attributes.operation != "CREATE":
        return
    spec: dict[str, Any] = (attributes.object or {}).get("spec") or {}
    if spec.get("signerName") not in ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"):
        return
    name = node_name(node)
    if _common_name(attributes, spec.get("request") or "") != name:
        raise attributes.refused(f"can only create a node CSR with CN={name}")


def _common_name(attributes: Attributes, request: str) -> str:
    """Read the common name from a certificate request; of several the last, as in Go's ``pkix.Name``."""
    from cryptography.x509.oid import NameOID

    try:
        subject = signing_requests.parsed(request).subject
    except signing_requests.MalformedRequest as error:
        raise attributes.refused(f"unable to parse csr: {error}") from None
    return "".join(str(name.value) for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1:])


_RULES: dict[tuple[str, str], Rule] = {
    ("", "pods"): node_pods.admit,
    ("", "nodes"): _node,
    ("", "persistentvolumeclaims"): _volume_claim,
    ("", "serviceaccounts"): node_tokens.admit,
    ("coordination.k8s.io", "leases"): _lease,
    ("storage.k8s.io", "csinodes"): _csi_node,
    ("resource.k8s.io", "resourceslices"): _slice,
    ("certificates.k8s.io", "certificatesigningrequests"): _signing_request,
    ("certificates.k8s.io", "podcertificaterequests"): node_certificates.admit,
}
