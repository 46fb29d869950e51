"""The API services: one object for each group and version that is served, and the order in which discovery has them.

The objects are what the autoregister controller of kube-apiserver makes (k8s.io/kubernetes/pkg/controlplane/apiserver/
aggregator.go).
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.api_groups import PRIORITIES

GROUP = "apiregistration.k8s.io"
# Label of objects that the server keeps in step with what it serves.
_MANAGED = "kube-aggregator.kubernetes.io/automanaged"
MANAGED = {_MANAGED: "onstart"}
CUSTOM = {_MANAGED: "true"}
# Of each group and version that comes from definitions (k8s.io/kubernetes/pkg/controlplane/controller/crdregistration).
_CUSTOM_GROUP, _CUSTOM_VERSION = 1000, 100


def rank(group: str) -> tuple[int, str]:
    """Compute the sort key of a group in discovery; lower comes first."""
    return (-PRIORITIES[group][0] if group in PRIORITIES else -_CUSTOM_GROUP, group)


def local(group: str, version: str, now: str) -> Object:
    """Build the APIService of a version that this server itself serves; ``GROUP``, which holds them, has none."""
    priority, versions = PRIORITIES.get(group, (_CUSTOM_GROUP, {version: _CUSTOM_VERSION}))
    spec: Object = {"group": group} if group else {}
    spec |= {"version": version, "groupPriorityMinimum": priority, "versionPriority": versions[version]}
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {
        "metadata": {
            "name": f"{version}.{group}",
            "labels": dict(MANAGED if group in PRIORITIES else CUSTOM),
        },
        "spec": spec,
        "status": {"conditions": [available]},
    }
