"""What a ``LabelSelector`` selects: for controllers that look for theirs, and for the server that checks a template.

After LabelSelectorAsSelector in k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


def matches(selector: Object | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a LabelSelector selects these labels; no selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    labels = labels or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_satisfies(expression, labels) for expression in selector.get("matchExpressions") or ())


def _satisfies(expression: Object, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case operator:
            raise ValueError(f"label selector for {key}: unknown operator {operator!r}")
