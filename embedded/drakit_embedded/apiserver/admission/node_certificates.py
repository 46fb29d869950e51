"""NodeRestriction of certificates for pods: a kubelet asks for them for pods that it runs, as their accounts.

After k8s.io/kubernetes/plugin/pkg/admission/noderestriction/admission.go, admitPodCertificateRequest. What may only be
that the server has not heard of it yet is no refusal there but an error (500): the kubelet tries again.
"""

from __future__ import annotations

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.node_pods import node_of
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.registry.podspec import pod_references
from drakit_embedded.apiserver.registry.podspec.mirror_pods import is_mirror
from drakit_embedded.apiserver.statuses import StatusError

_GATE = "PodCertificateRequest"
_MAY_SIGN = "request-serviceaccounts-podcertificate-signer"


def admit(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse (403, 500) a request that is not for a pod of this node, its account and a signer that it needs."""
    if not cluster.gates.enabled(_GATE):
        raise attributes.refused(f"{_GATE} feature gate is disabled")
    if attributes.operation != "CREATE":
        raise attributes.refused(f"unexpected operation {attributes.operation}")
    if attributes.subresource:
        raise attributes.refused(f"unexpected subresource {attributes.subresource}")
    spec = (attributes.object or {}).get("spec") or {}
    _check_node(node, attributes, spec, cluster)
    pod = _checked_pod(attributes, spec, cluster)
    _check_account(attributes, spec, pod, cluster)
    _check_signer(attributes, spec, pod, cluster)


def _check_node(node: str, attributes: Attributes, spec: Object, cluster: GuardedCluster) -> None:
    named = spec.get("nodeName", "")
    if named != node:
        why = f"{_GATE}.Spec.NodeName={quote(named)}, which is not the requesting node {quote(node)}"
        raise attributes.refused(why)
    found = cluster.store.named("nodes").get("", node)
    if found is None:
        raise _missing("node", node, node)
    if found.uid != spec.get("nodeUID", ""):
        uids = f"{quote(spec.get('nodeUID', ''))}, inconsistent with the running node ({quote(found.uid)})"
        raise _error(f"{_who(attributes, spec)} names node UID {uids}")


def _checked_pod(attributes: Attributes, spec: Object, cluster: GuardedCluster) -> Object:
    """Find the pod that the request is for, and refuse one that the node may not ask for."""
    name, shown = spec.get("podName", ""), _pod_key(attributes, spec)
    pod = cluster.find("pods", attributes.namespace, name)
    if pod is None:
        raise _missing("pod", name, f"{attributes.namespace}/{name}")
    uid, given = pod["metadata"]["uid"], spec.get("podUID", "")
    if uid != given:
        raise _error(
            f"{_who(attributes, spec)} contains pod UID ({quote(given)}) which differs from running pod {quote(uid)}"
        )
    if node_of(pod) != spec["nodeName"]:
        raise attributes.refused(f"pod {shown} is not running on node {quote(spec['nodeName'])} named in the {_GATE}")
    if is_mirror(pod):
        raise attributes.refused(f"pod {shown} is a mirror pod")
    return pod


def _check_account(attributes: Attributes, spec: Object, pod: Object, cluster: GuardedCluster) -> None:
    name, own = spec.get("serviceAccountName", ""), pod["spec"].get("serviceAccountName", "")
    if name != own:
        why = f"contains serviceAccountName ({quote(name)}) that differs from running pod ({quote(own)})"
        raise attributes.refused(f"{_who(attributes, spec)} {why}")
    account = cluster.store.named("serviceaccounts").get(attributes.namespace, name)
    if account is None:
        raise _missing("service account", name, f"{attributes.namespace}/{name}")
    given = spec.get("serviceAccountUID", "")
    if account.uid != given:
        uids = f"{quote(given)}, which differs from the running service account ({quote(account.uid)})"
        raise _error(f"{_who(attributes, spec)} names service account UID {uids}")


def _check_signer(attributes: Attributes, spec: Object, pod: Object, cluster: GuardedCluster) -> None:
    """Check that the pod mounts a certificate of this signer, or that the node is authorized for the signer."""
    signer = spec.get("signerName", "")
    certificates = (source.get("podCertificate") or {} for source in pod_references.projected(pod["spec"]))
    if any(certificate.get("signerName") == signer for certificate in certificates):
        return
    access = Access(
        attributes.user,
        _MAY_SIGN,
        attributes.kind.group,
        signer.replace("/", ":"),  # in RBAC rules, a slash in a resource begins the subresource
        namespace=attributes.namespace,
        name=spec.get("serviceAccountName", ""),
    )
    if not cluster.authorizer.decide(access).allowed:
        why = f"does not mount a podCertificate projected volume for signer {quote(signer)}"
        raise attributes.refused(f"pod {_pod_key(attributes, spec)} {why}")


def _pod_key(attributes: Attributes, spec: Object) -> str:
    return quote(f"{attributes.namespace}/{spec.get('podName', '')}")


def _who(attributes: Attributes, spec: Object) -> str:
    return f"{_GATE} for pod {_pod_key(attributes, spec)}"


def _missing(what: str, name: str, shown: str) -> StatusError:
    """Build the error of a missing object, as the lister of its kind words it."""
    not_found = f"{what.replace(' ', '')} {quote(name)} not found"
    return _error(f"while retrieving {what} {quote(shown)} named in the {_GATE}: {not_found}")


def _error(why: str) -> StatusError:
    return StatusError(500, "", why)
