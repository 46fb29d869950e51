"""Which kinds are acted on in an embedded cluster, and which are stored and nothing more.

A test against this API server proves nothing about an object that nothing acts on, so whoever writes one is warned.
Every kind of ``kinds`` that is stored and can be written is in ``ACTED_ON`` or ``STORED_ONLY`` (a test sees to that):
a kind that comes to work moves from the second to the first, and the warning is gone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from drakit_embedded.apiserver.scheme.kinds import Kind

Part = Literal["apiserver", "controllers", "scheduler", "kubelet"]


class Unused(NamedTuple):
    """Why nothing acts on a kind: the component that would in Kubernetes, and what does not happen without it."""

    part: Part
    missing: str
    # How to get a cluster that acts on it, where the real component alone is not enough.
    instead: str = ""


# By group. What the API server, the controllers, the scheduler or the kubelets of drakit act on; what is data for other
# objects and for clients (ConfigMap, Lease, Event); and what Kubernetes itself leaves to programs that users bring
# (Ingress, VolumeAttachment).
ACTED_ON: dict[str, frozenset[str]] = {
    "": frozenset(
        {
            *("configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "pods", "podtemplates"),
            *("replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts", "services"),
        }
    ),
    "apiextensions.k8s.io": frozenset({"customresourcedefinitions"}),
    "apps": frozenset({"controllerrevisions", "daemonsets", "deployments", "replicasets"}),
    "events.k8s.io": frozenset({"events"}),
    "admissionregistration.k8s.io": frozenset(
        {
            *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations"),
            *("validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"),
        }
    ),
    "certificates.k8s.io": frozenset({"podcertificaterequests"}),
    "networking.k8s.io": frozenset({"ingressclasses", "ingresses", "ipaddresses"}),
    "rbac.authorization.k8s.io": frozenset({"clusterrolebindings", "clusterroles", "rolebindings", "roles"}),
    "storage.k8s.io": frozenset({"csinodes", "volumeattachments", "volumeattributesclasses"}),
    "scheduling.k8s.io": frozenset({"priorityclasses"}),
    "storagemigration.k8s.io": frozenset({"storageversionmigrations"}),
    "coordination.k8s.io": frozenset({"leases"}),
    "discovery.k8s.io": frozenset({"endpointslices"}),
    "resource.k8s.io": frozenset(
        {"deviceclasses", "devicetaintrules", "resourceclaims", "resourceclaimtemplates", "resourceslices"}
    ),
}

_NO_PODS = Unused("controllers", "no pods are made for it")
_NO_FLOWS = Unused("apiserver", "no request waits or is refused because of it")
_NO_VOLUMES = Unused("controllers", "no volume is made or bound")

# By (group, plural).
STORED_ONLY: dict[tuple[str, str], Unused] = {
    ("", "persistentvolumeclaims"): _NO_VOLUMES,
    ("", "persistentvolumes"): _NO_VOLUMES,
    ("apps", "statefulsets"): _NO_PODS,
    ("autoscaling", "horizontalpodautoscalers"): Unused("controllers", "nothing is scaled by it"),
    ("batch", "cronjobs"): Unused("controllers", "no jobs are made for it"),
    ("batch", "jobs"): _NO_PODS,
    ("certificates.k8s.io", "certificatesigningrequests"): Unused(
        "controllers", "no controller approves or signs it", "--cluster kind"
    ),
    ("certificates.k8s.io", "clustertrustbundles"): Unused("kubelet", "no pod gets its certificates"),
    ("networking.k8s.io", "networkpolicies"): Unused(
        "kubelet", "pods have no network that it could restrict", "--cluster kind"
    ),
    ("networking.k8s.io", "servicecidrs"): Unused("apiserver", "Services get no addresses from it"),
    ("policy", "poddisruptionbudgets"): Unused("apiserver", "evictions are granted without asking it"),
    ("storage.k8s.io", "csidrivers"): Unused("kubelet", "no volume is mounted by it"),
    ("storage.k8s.io", "csistoragecapacities"): Unused("scheduler", "pods are placed without looking at it"),
    ("storage.k8s.io", "storageclasses"): _NO_VOLUMES,
    ("node.k8s.io", "runtimeclasses"): Unused("apiserver", "pods get neither overhead nor node selectors from it"),
    ("resource.k8s.io", "resourcepoolstatusrequests"): Unused("controllers", "no controller answers it"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _NO_FLOWS,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _NO_FLOWS,
}

# Options by which a cluster gets the real component; a real API server takes real controllers.
_INSTEAD: dict[Part, str] = {
    "apiserver": "--real apiserver,controllers",
    "controllers": "--real controllers",
    "scheduler": "--real scheduler",
    "kubelet": "--real kubelet",
}
_READ_MORE = 'docs/clusters.md, "Stored and nothing more"'
# Kinds, by (group, plural), that drakit's API server serves but refuses to write.
NOT_WRITABLE: dict[tuple[str, str], str] = {
    ("apiregistration.k8s.io", "apiservices"): "takes no APIServices: it aggregates no other API server",
}


def warning(kind: Kind, ours: Collection[Part]) -> str:
    """Build the warning that nothing acts on a kind, in one line; empty if something does.

    ``ours`` are the parts of the cluster that are drakit's own. Of the others it is not known what they act on.
    """
    unused = STORED_ONLY.get((kind.group, kind.plural))
    if unused is None or unused.part not in ours:
        return ""
    return (
        f"drakit: the {kind.kind} is stored and nothing acts on it: {unused.missing}. "
        f"With {unused.instead or _INSTEAD[unused.part]} it works; {_READ_MORE}"
    )


def limit(kind: Kind) -> str:
    """Say why objects of a kind can be read and not written, in one line; empty for a kind without such a limit."""
    refused = NOT_WRITABLE.get((kind.group, kind.plural))
    if refused is None:
        return ""
    return (
        f"drakit's embedded API server {refused}. A cluster with Kubernetes' own kube-apiserver does: "
        f"`drakit cluster up {_INSTEAD['apiserver']}`, or all of Kubernetes with `--cluster binaries`"
    )
