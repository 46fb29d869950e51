"""Mirror pods: a kubelet's copies of pods that it has from a file (k8s.io/api/core/v1/annotation_key_constants.go)."""

from __future__ import annotations

from typing import Any

ANNOTATION = "kubernetes.io/config.mirror"


def is_mirror(pod: dict[str, Any]) -> bool:
    """Check whether a pod is a mirror pod."""
    return ANNOTATION in (pod["metadata"].get("annotations") or {})
