"""Which taints of a node keep a pod away.

Source: k8s.io/component-helpers ``scheduling/corev1/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drakit_api.core.tolerations import Taint, Toleration, is_tolerated

UNSCHEDULABLE: Taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_KEEPS_PODS_AWAY = ("NoSchedule", "NoExecute")


def keeping_away(taints: Iterable[Taint]) -> list[Taint]:
    """Return the taints that keep pods off a node; PreferNoSchedule only lowers its score."""
    return [taint for taint in taints if taint.get("effect") in _KEEPS_PODS_AWAY]


def untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Tell whether one of the taints, already restricted to those that count, is not tolerated."""
    return any(not is_tolerated(taint, tolerations) for taint in taints)
