"""NodeRestriction of tokens: a kubelet gets them for accounts of its pods, bound to these, for whom they name.

After k8s.io/kubernetes/plugin/pkg/admission/noderestriction/admission.go, admitServiceAccount.
"""

from __future__ import annotations

from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.node_pods import node_of
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.registry.podspec import pod_references


def admit(node: str, attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse a token with 403 that is not for a pod of this node."""
    if attributes.operation != "CREATE" or attributes.subresource != "token":
        return
    spec = (attributes.object or {}).get("spec") or {}
    reference = spec.get("boundObjectRef") or {}
    if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not reference.get("name"):
        raise attributes.refused("node requested token not bound to a pod")
    if not reference.get("uid"):
        raise attributes.refused("node requested token with a pod binding without a uid")
    pod = cluster.find("pods", attributes.namespace, reference["name"])
    if pod is None:
        raise statuses.not_found("pod", "", reference["name"])
    if reference["uid"] != pod["metadata"]["uid"]:
        raise attributes.refused(
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
    if node_of(pod) != node:
        raise attributes.refused("node requested token bound to a pod scheduled on a different node")
    _check_audience(attributes, spec.get("audiences") or [], pod, cluster)


def _check_audience(attributes: Attributes, audiences: list[str], pod: Object, cluster: GuardedCluster) -> None:
    """Check that the pod's volumes or CSI drivers name the audience, or that the node is authorized for it."""
    if len(audiences) > 1:
        raise attributes.refused("node may only request 0 or 1 audiences")
    audience = audiences[0] if audiences else ""
    sources = pod_references.projected(pod["spec"])
    tokens = [source["serviceAccountToken"] for source in sources if source.get("serviceAccountToken")]
    if any(token.get("audience", "") == audience for token in tokens):
        return
    wanted, errors = _of_drivers(pod, cluster)
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
    if not cluster.authorizer.decide(access).allowed:
        who = attributes.user.name
        raise attributes.refused(f"{who} is not authorized to request tokens for audience {quote(audience)}")


def _of_drivers(pod: Object, cluster: GuardedCluster) -> tuple[set[str], list[str]]:
    """Collect the audiences that the pod's CSI drivers want, and errors met while looking for the drivers."""
    wanted: set[str] = set()
    errors: list[str] = []
    for volume in pod["spec"].get("volumes") or ():
        try:
            if driver := _driver(pod, volume, cluster):
                found = _need(cluster, "csidrivers.storage.k8s.io", "csidriver.storage.k8s.io", "", driver)
                requests = (found.get("spec") or {}).get("tokenRequests") or ()
                wanted |= {request.get("audience", "") for request in requests}
        except statuses.StatusError as error:
            errors.append(error.message)
    return wanted, errors


def _driver(pod: Object, volume: Object, cluster: GuardedCluster) -> str:
    """Find the CSI driver of a pod's volume; empty if it has none.

    Raises:
        StatusError: 404 for a PersistentVolumeClaim or PersistentVolume that does not exist.
    """
    name = pod_references.volume_claim(pod, volume)
    if name is None:
        return str((volume.get("csi") or {}).get("driver", ""))
    claim = _need(cluster, "persistentvolumeclaims", "persistentvolumeclaim", pod["metadata"]["namespace"], name)
    bound = _need(cluster, "persistentvolumes", "persistentvolume", "", (claim.get("spec") or {}).get("volumeName", ""))
    return str(((bound.get("spec") or {}).get("csi") or {}).get("driver", ""))


def _need(cluster: GuardedCluster, storage: str, shown: str, namespace: str, name: str) -> Object:
    found = cluster.find(storage, namespace, name)
    if found is None:
        raise statuses.not_found(shown, "", name)
    return found
