"""NodeDeclaredFeatureValidator, as far as slices go: who takes resources of a node does so of nodes that know of it.

After k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures/admission.go. Updates of pods need no feature that
nodes declare here.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.core.label_selectors import COMPARISONS
from drakit_api.core.node_selectors import Selector, selects
from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import int64
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

FEATURE = "DRANodeAllocatableResources"


def validate(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse with 403 a slice with devices that take resources of nodes which lack that feature or do not exist."""
    if not (cluster.gates.enabled(FEATURE) and cluster.gates.enabled("NodeDeclaredFeatures")):
        return
    spec = (attributes.object or {}).get("spec") or {}
    for device in spec.get("devices") or ():
        if device.get("nodeAllocatableResources"):
            _check(device, device if spec.get("perDeviceNodeSelection") else spec, attributes, cluster)


def _check(device: Object, placed: Object, attributes: Attributes, cluster: GuardedCluster) -> None:
    """Check the nodes of a device; ``placed`` says where it is: the device itself, or its slice."""
    name, selector = placed.get("nodeName"), placed.get("nodeSelector")
    if name:
        node = cluster.find("nodes", "", name)
        if node is None:
            raise attributes.refused(f"node {quote(name)} not found for device {quote(device['name'])}")
        _require(node, attributes)
        return
    if selector is not None and (problems := list(_problems(selector))):
        raise statuses.bad_request(f"failed to create node selector: {aggregated(problems)}")
    if selector is None and not placed.get("allNodes"):
        shown = f"device {quote(device['name'])} in ResourceSlice"
        raise attributes.refused(f"{shown} has NodeAllocatableResources but does not map to any nodes")
    for record in cluster.store.named("nodes").records.values():
        node = record.object()
        if _is_on(selector, node):
            _require(node, attributes)


def _require(node: Object, attributes: Attributes) -> None:
    if FEATURE not in ((node.get("status") or {}).get("declaredFeatures") or ()):
        raise attributes.refused(f"node {quote(node['metadata']['name'])} does not support {FEATURE} feature")


def _problems(selector: Object) -> Iterator[str]:
    """Report what ``labels.NewRequirement`` refuses and the validation of slices does not."""
    for at, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        for index, expression in enumerate(term.get("matchExpressions") or ()):
            if expression["operator"] not in COMPARISONS:
                continue
            if int64(value := expression["values"][0]) is None:
                path = f"nodeSelectorTerms[{at}].matchExpressions[{index}].values[0]"
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                yield f"{path}: Invalid value: {quote(value)}: {detail}"


def _is_on(selector: Selector | None, node: Object) -> bool:
    return selects(selector, node["metadata"]["name"], node["metadata"].get("labels") or {})
