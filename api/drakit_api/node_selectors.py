"""Whether a node selector matches a node.

Semantics: k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Selector = Mapping[str, Any]
Labels = Mapping[str, str]


def selects(selector: Selector | None, name: str, labels: Labels) -> bool:
    """Whether a node selector matches a node; no selector matches every node, a selector without terms none."""
    if selector is None:
        return True
    return any(_term_matches(term, name, labels) for term in selector.get("nodeSelectorTerms") or [])


def _term_matches(term: Mapping[str, Any], name: str, labels: Labels) -> bool:
    fields, expressions = term.get("matchFields") or [], term.get("matchExpressions") or []
    if not fields and not expressions:
        return False
    return all(_matches(item, {"metadata.name": name}) for item in fields) and all(
        _matches(item, labels) for item in expressions
    )


def _matches(requirement: Mapping[str, Any], labels: Labels) -> bool:
    value = labels.get(requirement["key"])
    values = requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: list[str]) -> bool:
    try:
        have, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return have > bound if operator == "Gt" else have < bound
