"""ServiceAccount admission: a pod runs as an account of its namespace, and finds its token where clients look for it.

After k8s.io/kubernetes/plugin/pkg/admission/serviceaccount/admission.go. A namespace's ``default`` account is not
waited for: it is there a moment after the namespace, and never where no controllers run.
"""

from __future__ import annotations

from drakit_api.core.containers import LASTING, containers_of
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission import mountable_secrets
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.identity.account_tokens import WARNED_SECONDS
from drakit_embedded.apiserver.registry.podspec import pod_references as references
from drakit_embedded.apiserver.registry.podspec.mirror_pods import is_mirror
from drakit_embedded.apiserver.scheme import metadata

_DEFAULT = "default"
# Prefix of the names of volumes with a token.
_VOLUME = "kube-api-access-"
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - where it is, not what it is
_READABLE = 0o644
_ROOT_CA = "kube-root-ca.crt"


def admit(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Name the pod's account, and mount its token; 403 for an account that is not there, or not for its secrets."""
    pod = attributes.object
    if pod is None or attributes.subresource:
        return
    spec = pod["spec"]
    if is_mirror(pod):
        _check_mirror(attributes, spec)
        return
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or _DEFAULT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    namespace = attributes.namespace
    account = cluster.find("serviceaccounts", namespace, name)
    if account is None and name != _DEFAULT:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise attributes.refused(why)
    account = account or {}
    if _mounts_token(spec, account):
        _mount_token(spec)
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": secret.get("name", "")} for secret in account["imagePullSecrets"]]
    for fault in mountable_secrets.faults(spec, account) if account else ():
        raise attributes.refused(fault)


def _check_mirror(attributes: Attributes, spec: Object) -> None:
    """Refuse service accounts, Secrets and tokens in a mirror pod, a kubelet's copy of a static pod."""
    if spec.get("serviceAccountName"):
        raise attributes.refused("a mirror pod may not reference service accounts")
    if next(references.secrets(spec), None) is not None:
        raise attributes.refused("a mirror pod may not reference secrets")
    if any(source.get("serviceAccountToken") for source in references.projected(spec)):
        raise attributes.refused("a mirror pod may not use ServiceAccountToken volume projections")


def _mounts_token(spec: Object, account: Object) -> bool:
    """Check whether a pod mounts a token; what the pod says comes before what its ServiceAccount says."""
    wishes = (owner.get("automountServiceAccountToken") for owner in (spec, account))
    return next((wish for wish in wishes if wish is not None), True)


def _mount_token(spec: Object) -> None:
    names = (volume.get("name", "") for volume in spec.get("volumes") or ())
    there = next((name for name in names if name.startswith(_VOLUME)), "")
    volume = there or _VOLUME + metadata.random_suffix()
    mounted = False
    for container in containers_of(spec, LASTING):
        mounts = container.get("volumeMounts") or []
        if any(mount.get("mountPath") == _TOKEN_PATH for mount in mounts):
            continue
        container["volumeMounts"] = [*mounts, {"name": volume, "readOnly": True, "mountPath": _TOKEN_PATH}]
        mounted = True
    if mounted and not there:
        spec["volumes"] = [*(spec.get("volumes") or []), {"name": volume, "projected": _projection()}]


def _projection() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": WARNED_SECONDS, "path": "token"}},
            {"configMap": {"name": _ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": _READABLE,
    }
