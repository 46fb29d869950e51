"""What makes a pod's affinity valid: to nodes, and to and from other pods.

After validateAffinity and below in k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from drakit_api.core.pod_affinity import PREFERRED, REQUIRED
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, forbidden, invalid, required
from drakit_api.validation.items import each
from drakit_api.validation.nodeselector import node_selector, preference
from drakit_embedded.apiserver.registry.selector_rules import label_selector

_HEAVIEST = 100


def affinity(spec: Object, path: str) -> Errors:
    """Validate ``spec.affinity``."""
    rules, path = spec["affinity"], f"{path}.affinity"
    nodes = rules.get("nodeAffinity") or {}
    if nodes.get(REQUIRED) is not None:
        yield from node_selector(nodes[REQUIRED], f"{path}.nodeAffinity.{REQUIRED}")
    yield from each(nodes.get(PREFERRED), f"{path}.nodeAffinity.{PREFERRED}", _preferred_nodes)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = rules.get(kind) or {}
        yield from each(pods.get(REQUIRED), f"{path}.{kind}.{REQUIRED}", _pods)
        yield from each(pods.get(PREFERRED), f"{path}.{kind}.{PREFERRED}", _preferred_pods)


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
    """Validate a pod affinity term (validatePodAffinityTerm)."""
    for selector in ("labelSelector", "namespaceSelector"):
        if term.get(selector) is not None:
            yield from label_selector(term[selector], f"{path}.{selector}")
    for namespace in term.get("namespaces") or ():
        yield from names.dns_label(namespace, f"{path}.namespace")
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from names.label_key(key, f"{path}.topologyKey")
    yield from label_keys(term, path)


def label_keys(term: Object, path: str) -> Errors:
    """Validate ``matchLabelKeys`` and ``mismatchLabelKeys`` (ValidateMatchLabelKeysAndMismatchLabelKeys)."""
    matched, mismatched = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    if not matched and not mismatched:
        return
    selector = term.get("labelSelector")
    for field, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set")
        elif keys:
            yield from each(keys, f"{path}.{field}", names.label_key)
    yield from _selected_twice(matched, selector or {}, path)
    for index, key in enumerate(matched):
        if key in mismatched:
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _selected_twice(keys: list[str], selector: Object, path: str) -> Errors:
    known = {*(selector.get("matchLabels") or ())}
    for requirement in selector.get("matchExpressions") or ():
        key = requirement.get("key") or ""
        if key in keys and key in known:
            # Upstream omits the name of the field in the path.
            at = f"{path}[{len(keys) - 1 - keys[::-1].index(key)}]"
            yield invalid(at, key, "exists in both matchLabelKeys and labelSelector")
        known.add(key)
