"""DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or cannot be reached.

After k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds/admission.go.
"""

from __future__ import annotations

from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def admit(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Add the tolerations that the pod has not got in any form."""
    if attributes.subresource or attributes.object is None:
        return
    spec = attributes.object["spec"]
    given = spec.get("tolerations") or []
    spec["tolerations"] = given + [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
        for taint in _TAINTS
        if not any(_covers(toleration, taint) for toleration in given)
    ]


def _covers(toleration: dict[str, object], taint: str) -> bool:
    return toleration.get("key", "") in (taint, "") and toleration.get("effect", "") in ("NoExecute", "")
