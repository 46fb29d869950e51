"""NodeRestriction of pods: a kubelet makes mirror pods, ends and evicts what is bound to it, and reports their status.

After k8s.io/kubernetes/plugin/pkg/admission/noderestriction/admission.go, admitPod and admitPodStatus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.registry.podspec import pod_references
from drakit_embedded.apiserver.registry.podspec.mirror_pods import ANNOTATION, is_mirror
from drakit_embedded.apiserver.registry.podspec.pod_status_rules import CLAIM_FIELDS


def node_of(obj: Object | None) -> str:
    """Read ``spec.nodeName``; empty if it is not set."""
    return ((obj or {}).get("spec") or {}).get("nodeName") or ""


def admit(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse with 403 a write to a pod, or a part of it, that is not for this node to write."""
    match attributes.subresource:
        case "":
            _whole_pod(node, attributes, cluster)
        case "status":
            _pod_status(node, attributes)
        case "eviction":
            pod = cluster.store.named("pods").get(attributes.namespace, attributes.name)
            if pod is None:
                raise statuses.not_found("pod", "", attributes.name)
            if pod.fields.get("spec.nodeName") != node:
                raise attributes.refused(f"node {node} can only evict pods with spec.nodeName set to itself")
        case other:
            raise attributes.refused(
                f"unexpected pod subresource {quote(other)}, only 'status' and 'eviction' are allowed"
            )


def _whole_pod(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    if attributes.operation == "CREATE":
        _mirror_pod(node, attributes, cluster)
    elif attributes.operation == "DELETE":
        if node_of(attributes.old) != node:
            raise attributes.refused(f"node {quote(node)} can only delete pods with spec.nodeName set to itself")
    else:
        raise attributes.refused(
            f'unexpected operation "{attributes.operation}", node {quote(node)} can only create and delete mirror pods'
        )


def _mirror_pod(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    pod, who = attributes.object or {}, f"node {quote(node)}"
    if not is_mirror(pod):
        raise attributes.refused(f'pod does not have "{ANNOTATION}" annotation, {who} can only create mirror pods')
    if node_of(pod) != node:
        raise attributes.refused(f"{who} can only create pods with spec.nodeName set to itself")
    owners = pod["metadata"].get("ownerReferences") or []
    if len(owners) > 1:
        raise attributes.refused(f"{who} can only create pods with a single owner reference set to itself")
    _check_owner(node, attributes, owners, cluster)
    for what in _references(pod):
        raise attributes.refused(f"{who} can not create pods that reference {what}")


def _check_owner(node: str, attributes: Attributes, owners: list[Object], cluster: GuardedCluster) -> None:
    who = f"node {quote(node)}"
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise attributes.refused(f"{who} can only create pods with an owner reference set to itself")
    if not owner.get("controller"):
        raise attributes.refused(f"{who} can only create pods with a controller owner reference set to itself")
    if owner.get("blockOwnerDeletion"):
        raise attributes.refused(f"{who} must not set blockOwnerDeletion on an owner reference")
    found = cluster.store.named("nodes").get("", node)
    if found is None:
        # In the words of the node lister.
        raise statuses.not_found("node", "", node)
    if owner.get("uid") != found.uid:
        raise attributes.refused(f"node {node} UID mismatch: expected {owner.get('uid')} got {found.uid}")


def _references(pod: Object) -> Iterator[str]:
    """Find what kinds of objects a pod refers to, as refusals name them (pkg/api/pod/util.go HasAPIObjectReference)."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        yield "serviceaccounts"
    if any(True for _ in pod_references.secrets(spec)):
        yield "secrets"
    if any(True for _ in pod_references.config_maps(spec)):
        yield "configmaps"
    if spec.get("resourceClaims"):
        yield "resourceclaims"
    yield from _named_by(spec.get("volumes") or (), _REFERRING_VOLUMES)
    yield from _named_by(pod_references.projected(spec), _REFERRING_SOURCES)


def _named_by(sources: Iterable[Object], names: Mapping[str, str]) -> Iterator[str]:
    """Name what each source refers to; ``names`` are by the field that it has."""
    for source in sources:
        yield from (what for sort, what in names.items() if sort in source)


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


def _pod_status(node: str, attributes: Attributes) -> None:
    new, old, who = attributes.object or {}, attributes.old or {}, f"node {quote(node)}"
    if node_of(old) != node:
        why = "can only update pod status for pods with spec.nodeName set to itself"
        raise attributes.refused(f"{who} {why}")
    if (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        raise attributes.refused(f"{who} cannot update labels through pod status")
    status, before = new.get("status") or {}, old.get("status") or {}
    for field, shown in CLAIM_FIELDS.items():
        if (status.get(field) or None) != (before.get(field) or None):
            raise attributes.refused(f"{who} cannot update {shown}")
