"""What makes a pod's affinity valid: to nodes, and to and from other pods.

After validateAffinity and below in k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.validation import names
from drakit_api.validation.errors import FieldError, invalid, required
from drakit_api.validation.items import each
from drakit_api.validation.nodeselector import node_selector, preference
from drakit_embedded.apiserver.registry.selector_rules import label_selector
from drakit_embedded.apiserver.registry.strategy import Object

Errors = Iterator[FieldError]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HEAVIEST = 100


def affinity(rules: Object, path: str) -> Errors:
    """``spec.affinity``."""
    nodes = rules.get("nodeAffinity") or {}
    if nodes.get(_REQUIRED) is not None:
        yield from node_selector(nodes[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}")
    yield from each(nodes.get(_PREFERRED), f"{path}.nodeAffinity.{_PREFERRED}", _preferred_nodes)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = rules.get(kind) or {}
        yield from each(pods.get(_REQUIRED), f"{path}.{kind}.{_REQUIRED}", _pods)
        yield from each(pods.get(_PREFERRED), f"{path}.{kind}.{_PREFERRED}", _preferred_pods)


def _preferred_nodes(term: Object, path: str) -> Errors:
    yield from _weight(term, path)
    yield from preference(term.get("preference") or {}, f"{path}.preference")


def _preferred_pods(term: Object, path: str) -> Errors:
    yield from _weight(term, path)
    yield from _pods(term.get("podAffinityTerm") or {}, f"{path}.podAffinityTerm")


def _weight(term: Object, path: str) -> Errors:
    weight = term.get("weight") or 0
    if not 1 <= weight <= _HEAVIEST:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _pods(term: Object, path: str) -> Errors:
    """validatePodAffinityTerm, without what matchLabelKeys may name."""
    for selector in ("labelSelector", "namespaceSelector"):
        if term.get(selector) is not None:
            yield from label_selector(term[selector], f"{path}.{selector}")
    for namespace in term.get("namespaces") or ():
        yield from names.dns_label(namespace, f"{path}.namespace")
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from names.label_key(key, f"{path}.topologyKey")
