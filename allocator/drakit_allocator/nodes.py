"""What the allocator needs of a Node, and whether a node selector selects it.

Slices and single devices say on which nodes they can be reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drakit_allocator.errors import AllocationError
from drakit_api.core import node_selectors


@dataclass(frozen=True, slots=True)
class Node:
    """Name, labels and declared features of a node."""

    name: str
    labels: Mapping[str, str]
    declared_features: frozenset[str] = frozenset()

    @staticmethod
    def of(node: Mapping[str, Any]) -> Node:
        """Make the node from a Node object."""
        metadata = node.get("metadata") or {}
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        return Node(metadata.get("name", ""), metadata.get("labels") or {}, frozenset(declared))


def is_reachable(node: Node, node_name: str, all_nodes: bool, selector: Mapping[str, Any] | None) -> bool:
    """Tell whether devices with this node selection can be used on ``node`` (``NodeMatches`` of upstream's pools).

    Raises ``AllocationError`` for a selector that the API server would not have let in.
    """
    if node_name:
        return node.name == node_name
    if all_nodes:
        return True
    return selector is not None and selects(selector, node)


def selects(selector: Mapping[str, Any], node: Node) -> bool:
    """Tell whether a term of the selector selects the node; an empty term selects none.

    Raises ``AllocationError`` if any of the terms is broken.
    """
    if (found := node_selectors.first_problem(selector)) is not None:
        requirement, why = found
        raise AllocationError(f"failed to parse node selector requirement {dict(requirement)}: {why}")
    return node_selectors.selects(selector, node.name, node.labels)
