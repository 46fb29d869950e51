"""When two values mean the same to Kubernetes: what is empty is as good as not there.

After k8s.io/apimachinery/pkg/api/equality/semantic.go.
"""

from __future__ import annotations

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal but for empty maps, lists and nulls."""
    return bool(_without_empty(one) == _without_empty(other))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        found = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item is not None} or None
    if isinstance(value, list):
        return [_without_empty(item) for item in value] or None
    return value
