"""On which nodes a daemon set's pods should run, and what its pods are made of.

Follows nodeShouldRunDaemonPod in daemon_controller.go and util/daemonset_util.go of pkg/controller/daemon. Where there
is room for a pod is the scheduler's question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from drakit_api.core import node_selectors
from drakit_api.core.tolerations import is_tolerated
from drakit_api.kubernetes_objects import Object

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
GENERATION = "deprecated.daemonset.template.generation"
_NODE_NAME = "metadata.name"
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK_UNAVAILABLE = ("node.kubernetes.io/network-unavailable", "NoSchedule")


class Fit(NamedTuple):
    """Whether a node should get a pod, and whether one that is there may stay."""

    should_run: bool
    may_stay: bool


def fit(daemon_set: Object, node: Object) -> Fit:
    """Compare a node with the template's node name, selector, affinity and tolerations."""
    spec, name = daemon_set["spec"]["template"]["spec"], node["metadata"]["name"]
    if spec.get("nodeName") and spec["nodeName"] != name:
        return Fit(False, False)
    if not _is_selected(spec, name, node["metadata"].get("labels") or {}):
        return Fit(False, False)
    wanted = tolerations(spec)
    untolerated = {taint["effect"] for taint in node["spec"].get("taints") or () if not is_tolerated(taint, wanted)}
    may_stay = "NoExecute" not in untolerated
    return Fit(may_stay and "NoSchedule" not in untolerated, may_stay)


def tolerations(spec: Object) -> list[Object]:
    """Add to the template's tolerations those of all daemon pods, by which they stay on nodes with problems."""
    found: list[Object] = list(spec.get("tolerations") or ())
    for key, effect in (*_TOLERATED, *([_NETWORK_UNAVAILABLE] if spec.get("hostNetwork") else ())):
        added = {"key": key, "operator": "Exists", "effect": effect}
        same = [t for t in found if {**t, "tolerationSeconds": None} == {**added, "tolerationSeconds": None}]
        found = [t for t in found if t not in same] + [added]
    return found


def pod_template(daemon_set: Object, revision_hash: str, node_name: str) -> Object:
    """Build the template of a pod that can be scheduled to one node only."""
    template = daemon_set["spec"]["template"]
    metadata, spec = template.get("metadata") or {}, template["spec"]
    labels = {**(metadata.get("labels") or {}), HASH_LABEL: revision_hash}
    if generation := template_generation(daemon_set):
        labels[GENERATION_LABEL] = generation
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    term = {"matchFields": [{"key": _NODE_NAME, "operator": "In", "values": [node_name]}]}
    pinned = {**node_affinity, "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {
        "metadata": {**metadata, "labels": labels},
        "spec": {**spec, "tolerations": tolerations(spec), "affinity": {**affinity, "nodeAffinity": pinned}},
    }


def template_generation(daemon_set: Object) -> str:
    """Read the number of template changes, which the API server counts in an annotation; "" if there is none."""
    text: str = (daemon_set["metadata"].get("annotations") or {}).get(GENERATION, "")
    return text if text.isdecimal() else ""


def target_node(pod: Object) -> str | None:
    """Find the node that a pod runs on, or is to be scheduled to."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    for term in _required(pod["spec"]).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == _NODE_NAME and field["operator"] == "In" and len(field["values"]) == 1:
                return str(field["values"][0])
    return None


def _is_selected(spec: Object, name: str, labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    return node_selectors.selects(_required(spec) or None, name, labels)


def _required(spec: Object) -> dict[str, Any]:
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
