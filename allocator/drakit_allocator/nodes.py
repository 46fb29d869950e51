"""What the allocator needs of a Node, and whether a node selector selects it.

Slices and single devices say on which nodes they can be reached. The rules are those of ``component-helpers``
``scheduling/corev1/nodeaffinity`` and ``apimachinery`` ``pkg/labels`` 0.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drakit_allocator.errors import AllocationError

_INTEGER = re.compile(r"[+-]?[0-9]+")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_LABEL_PREFIX = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Node:
    """Name, labels and declared features of a node."""

    name: str
    labels: Mapping[str, str]
    declared_features: frozenset[str] = frozenset()

    @staticmethod
    def of(node: Mapping[str, Any]) -> Node:
        """From a Node object."""
        metadata = node.get("metadata") or {}
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        return Node(metadata.get("name", ""), metadata.get("labels") or {}, frozenset(declared))


def is_reachable(node: Node, node_name: str, all_nodes: bool, selector: Mapping[str, Any] | None) -> bool:
    """Whether devices with this node selection can be used on ``node`` (``NodeMatches`` of upstream's pools).

    Raises ``AllocationError`` for a selector that the API server would not have let in.
    """
    if node_name:
        return node.name == node_name
    if all_nodes:
        return True
    return selector is not None and selects(selector, node)


def selects(selector: Mapping[str, Any], node: Node) -> bool:
    """Whether a term selects the node. An empty one selects nothing, a broken one is an error in any case."""
    terms = [term for term in selector.get("nodeSelectorTerms") or () if _expressions(term) or _fields(term)]
    for term in terms:
        for requirement in _expressions(term):
            _check_label(requirement)
        for requirement in _fields(term):
            _check_field(requirement)
    return any(_term_matches(term, node) for term in terms)


def _expressions(term: Mapping[str, Any]) -> list[dict[str, Any]]:
    return term.get("matchExpressions") or []


def _fields(term: Mapping[str, Any]) -> list[dict[str, Any]]:
    return term.get("matchFields") or []


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    return all(_label_matches(requirement, node.labels) for requirement in _expressions(term)) and all(
        _field_matches(requirement, node) for requirement in _fields(term)
    )


def _label_matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    operator: str = requirement["operator"]
    values: list[str] = requirement.get("values") or []
    label = labels.get(requirement["key"])
    if operator == "In":
        return label in values
    if operator == "NotIn":
        return label is None or label not in values
    if operator == "Exists":
        return label is not None
    if operator == "DoesNotExist":
        return label is None
    if label is None or not _INTEGER.fullmatch(label):
        return False
    return int(label) > int(values[0]) if operator == "Gt" else int(label) < int(values[0])


def _field_matches(requirement: Mapping[str, Any], node: Node) -> bool:
    value = node.name if requirement["key"] == "metadata.name" else ""
    return bool((value == requirement["values"][0]) == (requirement["operator"] == "In"))


def _check_label(requirement: Mapping[str, Any]) -> None:
    key, operator, values = requirement.get("key", ""), requirement.get("operator"), requirement.get("values") or []
    if not _is_label_key(key):
        raise _broken(requirement, "the key is not a label name")
    if operator in ("In", "NotIn"):
        if not values:
            raise _broken(requirement, "In and NotIn need values")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            raise _broken(requirement, "Exists and DoesNotExist take no values")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1 or not _INTEGER.fullmatch(values[0]):
            raise _broken(requirement, "Gt and Lt need one integer")
    else:
        raise _broken(requirement, f"operator {operator!r} is not supported")
    if any(value and not _LABEL_NAME.fullmatch(value) for value in values):
        raise _broken(requirement, "a value is not a label value")


def _check_field(requirement: Mapping[str, Any]) -> None:
    if requirement.get("operator") not in ("In", "NotIn"):
        raise _broken(requirement, f"operator {requirement.get('operator')!r} is not supported for fields")
    if len(requirement.get("values") or []) != 1:
        raise _broken(requirement, "must have one element")


def _is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (_LABEL_PREFIX.fullmatch(prefix) and len(prefix) <= 253):
        return False
    return _LABEL_NAME.fullmatch(name) is not None


def _broken(requirement: Mapping[str, Any], why: str) -> AllocationError:
    return AllocationError(f"failed to parse node selector requirement {dict(requirement)}: {why}")
