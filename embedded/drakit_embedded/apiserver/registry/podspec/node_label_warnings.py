"""What a client is told of the labels by which a pod chooses nodes: some have got other names, some no node can have.

After k8s.io/kubernetes/pkg/api/node/util.go and the beginning of warningsForPodSpecAndMeta in pkg/api/pod/warnings.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api import formats
from drakit_api.core.pod_affinity import PREFERRED, REQUIRED
from drakit_api.kubernetes_objects import Object

_NODES = "spec.affinity.nodeAffinity"


def _renamed(since: str, name: str) -> str:
    return f'deprecated since {since}; use "{name}" instead'


_DEPRECATED = {
    "beta.kubernetes.io/arch": _renamed("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": _renamed("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": _renamed("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": _renamed("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": _renamed("v1.17", "node.kubernetes.io/instance-type"),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def of_spec(spec: Object) -> Iterator[str]:
    """Warn of labels in the node selector and node affinity of a pod's spec."""
    for key in sorted(_DEPRECATED.keys() & (spec.get("nodeSelector") or {}).keys()):
        yield f"spec.nodeSelector[{key}]: {_DEPRECATED[key]}"
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    for index, term in enumerate((nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from _of_term(term, f"{_NODES}.{REQUIRED}.nodeSelectorTerms[{index}]")
    for index, weighted in enumerate(nodes.get(PREFERRED) or ()):
        path, term = f"{_NODES}.{PREFERRED}[{index}].preference", weighted.get("preference") or {}
        yield from _of_term(term, path)
        yield from _of_values(term, path)


def _of_term(term: Object, path: str) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        yield from of_key(expression.get("key"), f"{path}.matchExpressions[{index}].key")


def of_key(key: str | None, path: str) -> Iterator[str]:
    """Warn of a deprecated label, e.g. that of a topology."""
    if key in _DEPRECATED:
        yield f"{path}: {key} is {_DEPRECATED[key]}"


def _of_values(term: Object, path: str) -> Iterator[str]:
    """Warn of values that no label can have, in preferred terms; in required ones they are errors."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        for number, value in enumerate(expression.get("values") or ()):
            for problem in formats.label_value(value):
                yield f"{path}.matchExpressions[{index}].values[{number}]: {value} is invalid, {problem}"
