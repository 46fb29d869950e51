"""Label selectors as text, as tables and scales show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def printed(selector: Mapping[str, Any] | None) -> str:
    """Print all requirements in the order of their keys; empty if there are none.

    LabelSelectorAsSelector (k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go), printed by pkg/labels/selector.go.
    """
    selector = selector or {}
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression.get("key", ""), ",".join(sorted(expression.get("values") or ()))
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append((key, forms.get(expression.get("operator", ""), f"!{key}")))
    # Requirements of one key stay in their order.
    return ",".join(part for _, part in sorted(parts, key=lambda part: part[0]))
