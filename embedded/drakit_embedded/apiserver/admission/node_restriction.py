"""NodeRestriction: a kubelet writes what is its own: its node, its lease, its slices, and the pods bound to it.

After k8s.io/kubernetes/plugin/pkg/admission/noderestriction/admission.go. What it may read or touch at all is the Node
authorizer's business; here is what that cannot see, the content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from drakit_api.gostrings import quote
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.authorization.rbac import aggregated
from drakit_embedded.apiserver.registry import pod_references
from drakit_embedded.apiserver.statuses import Object

if TYPE_CHECKING:
    from drakit_embedded.apiserver.api import Api

_LEASES = "kube-node-lease"
_MIRROR = "kubernetes.io/config.mirror"
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
Rule = Callable[[str, Attributes, "Api"], None]


def admit(attributes: Attributes, api: Api) -> None:
    """403 for what is not the node's own; requests of others pass."""
    node = attributes.user.node
    if node is None:
        return
    if not node:
        raise attributes.refused(f"could not determine node from user {quote(attributes.user.name)}")
    rule = _RULES.get(attributes.resource)
    if rule is not None:
        rule(node, attributes, api)


def _pod(node: str, attributes: Attributes, api: Api) -> None:
    match attributes.subresource:
        case "":
            _whole_pod(node, attributes, api)
        case "status":
            _pod_status(node, attributes)
        case "eviction":
            pod = api.store.named("pods").get(attributes.namespace, attributes.name)
            if pod is None:
                raise statuses.not_found("pod", "", attributes.name)
            if pod.fields.get("spec.nodeName") != node:
                raise attributes.refused(f"node {node} can only evict pods with spec.nodeName set to itself")
        case other:
            raise attributes.refused(
                f"unexpected pod subresource {quote(other)}, only 'status' and 'eviction' are allowed"
            )


def _whole_pod(node: str, attributes: Attributes, api: Api) -> None:
    if attributes.operation == "CREATE":
        _mirror_pod(node, attributes, api)
    elif attributes.operation == "DELETE":
        if _node_of(attributes.old) != node:
            raise attributes.refused(f"node {quote(node)} can only delete pods with spec.nodeName set to itself")
    else:
        raise attributes.refused(
            f'unexpected operation "{attributes.operation}", node {quote(node)} can only create and delete mirror pods'
        )


def _node_of(obj: Object | None) -> str:
    return ((obj or {}).get("spec") or {}).get("nodeName") or ""


def _mirror_pod(node: str, attributes: Attributes, api: Api) -> None:
    pod, who = attributes.object or {}, f"node {quote(node)}"
    if _MIRROR not in (pod["metadata"].get("annotations") or {}):
        raise attributes.refused(f'pod does not have "{_MIRROR}" annotation, {who} can only create mirror pods')
    if _node_of(pod) != node:
        raise attributes.refused(f"{who} can only create pods with spec.nodeName set to itself")
    owners = pod["metadata"].get("ownerReferences") or []
    if len(owners) > 1:
        raise attributes.refused(f"{who} can only create pods with a single owner reference set to itself")
    _check_owner(node, attributes, owners, api)
    for what in _references(pod):
        raise attributes.refused(f"{who} can not create pods that reference {what}")


def _check_owner(node: str, attributes: Attributes, owners: list[Object], api: Api) -> None:
    who = f"node {quote(node)}"
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise attributes.refused(f"{who} can only create pods with an owner reference set to itself")
    if not owner.get("controller"):
        raise attributes.refused(f"{who} can only create pods with a controller owner reference set to itself")
    if owner.get("blockOwnerDeletion"):
        raise attributes.refused(f"{who} must not set blockOwnerDeletion on an owner reference")
    found = api.store.named("nodes").get("", node)
    if found is None:
        # As the lister of nodes says it.
        raise statuses.not_found("node", "", node)
    if owner.get("uid") != found.uid:
        raise attributes.refused(f"node {node} UID mismatch: expected {owner.get('uid')} got {found.uid}")


def _references(pod: Object) -> Iterator[str]:
    """Other objects that a pod needs, as a refusal names them (pkg/api/pod/util.go HasAPIObjectReference)."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        yield "serviceaccounts"
    if any(True for _ in pod_references.secrets(spec)):
        yield "secrets"
    if any(True for _ in pod_references.config_maps(spec)):
        yield "configmaps"
    if spec.get("resourceClaims"):
        yield "resourceclaims"
    for volume in spec.get("volumes") or ():
        for sort, what in _REFERRING_VOLUMES.items():
            if sort in volume:
                yield what
    for source in pod_references.projected(spec):
        for sort, what in _REFERRING_SOURCES.items():
            if sort in source:
                yield what


_REFERRING_VOLUMES = {
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
}
_REFERRING_SOURCES = {
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}
# Fields of a pod's status that are the scheduler's and the controllers' (spelled as the refusals do).
_FOREIGN_STATUS = {
    "resourceClaimStatuses": "resource claim statues",
    "extendedResourceClaimStatus": "extended resource claim status",
    "nodeAllocatableResourceClaimStatuses": "node allocatable resource claim statuses",
}


def _pod_status(node: str, attributes: Attributes) -> None:
    new, old, who = attributes.object or {}, attributes.old or {}, f"node {quote(node)}"
    if _node_of(old) != node:
        why = "can only update pod status for pods with spec.nodeName set to itself"
        raise attributes.refused(f"{who} {why}")
    if (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        raise attributes.refused(f"{who} cannot update labels through pod status")
    status, before = new.get("status") or {}, old.get("status") or {}
    for field, shown in _FOREIGN_STATUS.items():
        if (status.get(field) or None) != (before.get(field) or None):
            raise attributes.refused(f"{who} cannot update {shown}")


def _node(node: str, attributes: Attributes, api: Api) -> None:
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
    """Labels that are changed and not for kubelets to change: they would draw pods to the node."""
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


def _volume_claim(node: str, attributes: Attributes, api: Api) -> None:
    if attributes.subresource != "status":
        raise attributes.refused("may only update PVC status")
    if _without_progress(attributes.object or {}) != _without_progress(attributes.old or {}):
        raise attributes.refused(
            f"node {quote(node)} is not allowed to update fields other than status.quantity and status.conditions"
        )


def _without_progress(claim: Object) -> Object:
    """A claim without what a kubelet says of its resizing."""
    own = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")
    metadata = {k: v for k, v in claim["metadata"].items() if k not in ("resourceVersion", "managedFields") and v}
    status = {key: value for key, value in (claim.get("status") or {}).items() if key not in own}
    return {**claim, "metadata": metadata, "status": status}


def _account(node: str, attributes: Attributes, api: Api) -> None:
    if attributes.operation != "CREATE" or attributes.subresource != "token":
        return
    spec = (attributes.object or {}).get("spec") or {}
    reference = spec.get("boundObjectRef") or {}
    if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not reference.get("name"):
        raise attributes.refused("node requested token not bound to a pod")
    if not reference.get("uid"):
        raise attributes.refused("node requested token with a pod binding without a uid")
    pod = api.find("pods", attributes.namespace, reference["name"])
    if pod is None:
        raise statuses.not_found("pod", "", reference["name"])
    if reference["uid"] != pod["metadata"]["uid"]:
        raise attributes.refused(
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
    if _node_of(pod) != node:
        raise attributes.refused("node requested token bound to a pod scheduled on a different node")
    _check_audience(attributes, spec.get("audiences") or [], pod, api)


def _check_audience(attributes: Attributes, audiences: list[str], pod: Object, api: Api) -> None:
    """A token is for somebody that the pod's volumes or their CSI drivers name, or that the node may ask for."""
    if len(audiences) > 1:
        raise attributes.refused("node may only request 0 or 1 audiences")
    audience = audiences[0] if audiences else ""
    sources = pod_references.projected(pod["spec"])
    tokens = [source["serviceAccountToken"] for source in sources if source.get("serviceAccountToken")]
    if any(token.get("audience", "") == audience for token in tokens):
        return
    wanted, errors = _of_drivers(pod, api)
    if audience in wanted:
        return
    if errors:
        raise attributes.refused(f"error validating audience {quote(audience)}: {aggregated(errors)}")
    access = Access(
        attributes.user,
        "request-serviceaccounts-token-audience",
        resource=audience,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    if not api.authorizer.decide(access).allowed:
        who = attributes.user.name
        raise attributes.refused(f"{who} is not authorized to request tokens for audience {quote(audience)}")


def _of_drivers(pod: Object, api: Api) -> tuple[set[str], list[str]]:
    """The audiences of the tokens that the pod's CSI drivers want, and what is missing on the way to them."""
    wanted: set[str] = set()
    errors: list[str] = []
    drivers = [(volume.get("csi") or {}).get("driver") for volume in pod["spec"].get("volumes") or ()]
    try:
        for claim in pod_references.volume_claims(pod):
            found = _need(api, "persistentvolumeclaims", "persistentvolumeclaim", pod["metadata"]["namespace"], claim)
            name = (found.get("spec") or {}).get("volumeName", "")
            volume = _need(api, "persistentvolumes", "persistentvolume", "", name)
            drivers.append(((volume.get("spec") or {}).get("csi") or {}).get("driver"))
        for driver in filter(None, drivers):
            found = _need(api, "csidrivers.storage.k8s.io", "csidriver.storage.k8s.io", "", driver)
            wanted |= {request.get("audience", "") for request in (found.get("spec") or {}).get("tokenRequests") or ()}
    except statuses.StatusError as error:
        errors.append(error.message)
    return wanted, errors


def _need(api: Api, storage: str, shown: str, namespace: str, name: str) -> Object:
    found = api.find(storage, namespace, name)
    if found is None:
        raise statuses.not_found(shown, "", name)
    return found


def _named_after(what: str) -> Rule:
    def check(node: str, attributes: Attributes, api: Api) -> None:
        name = attributes.name or ((attributes.object or {}).get("metadata") or {}).get("name")
        if name != node:
            raise attributes.refused(f"can only access {what} with the same name as the requesting node")

    return check


_named_lease = _named_after("node lease")
_named_csi_node = _named_after("CSINode")


def _lease(node: str, attributes: Attributes, api: Api) -> None:
    if attributes.namespace != _LEASES:
        raise attributes.refused(f"can only access leases in the {quote(_LEASES)} system namespace")
    _named_lease(node, attributes, api)


def _csi_node(node: str, attributes: Attributes, api: Api) -> None:
    _named_csi_node(node, attributes, api)
    if attributes.subresource != "status":
        return
    if not api.gates.enabled("CSIVolumeHealth"):
        raise attributes.refused("CSIVolumeHealth feature gate is disabled")
    if (attributes.object or {}).get("spec") != (attributes.old or {}).get("spec"):
        raise attributes.refused(f"node {quote(node)} is not allowed to modify CSINode spec via status")


def _slice(node: str, attributes: Attributes, api: Api) -> None:
    if attributes.operation == "CREATE" and _node_of(attributes.object) != node:
        raise attributes.refused("can only create ResourceSlice with the same NodeName as the requesting node")
    if attributes.operation == "DELETE" and _node_of(attributes.old) != node:
        raise attributes.refused("can only delete ResourceSlice with the same NodeName as the requesting node")


def _signing_request(node: str, attributes: Attributes, api: Api) -> None:
    """A certificate for a node is for this node."""
    if attributes.operation != "CREATE":
        return
    spec: dict[str, Any] = (attributes.object or {}).get("spec") or {}
    if spec.get("signerName") not in ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"):
        return
    if _common_name(attributes, spec.get("request") or "") != f"system:node:{node}":
        raise attributes.refused(f"can only create a node CSR with CN=system:node:{node}")


def _common_name(attributes: Attributes, request: str) -> str:
    import base64

    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        subject = x509.load_pem_x509_csr(base64.b64decode(request)).subject
    except ValueError:
        raise attributes.refused("unable to parse csr: PEM block type must be CERTIFICATE REQUEST") from None
    return "".join(str(name.value) for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)[:1])


_RULES: dict[tuple[str, str], Rule] = {
    ("", "pods"): _pod,
    ("", "nodes"): _node,
    ("", "persistentvolumeclaims"): _volume_claim,
    ("", "serviceaccounts"): _account,
    ("coordination.k8s.io", "leases"): _lease,
    ("storage.k8s.io", "csinodes"): _csi_node,
    ("resource.k8s.io", "resourceslices"): _slice,
    ("certificates.k8s.io", "certificatesigningrequests"): _signing_request,
}
