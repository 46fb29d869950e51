"""Taints of nodes and tolerations of pods.

Sources: k8s.io/api ``core/v1/toleration.go``, k8s.io/component-helpers ``scheduling/corev1/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Taint = Mapping[str, Any]
Toleration = Mapping[str, Any]

UNSCHEDULABLE: Taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_KEEPS_PODS_AWAY = ("NoSchedule", "NoExecute")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration covers one taint; an absent effect or key covers all of them."""
    if (effect := toleration.get("effect")) and effect != taint.get("effect"):
        return False
    if (key := toleration.get("key")) and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    # Gt and Lt are alpha in 1.37 (TaintTolerationComparisonOperators): without the gate they tolerate nothing.
    return bool(operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or ""))


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def keeping_away(taints: Iterable[Taint]) -> list[Taint]:
    """Those taints that keep pods off a node; PreferNoSchedule only lowers its score."""
    return [taint for taint in taints if taint.get("effect") in _KEEPS_PODS_AWAY]


def untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Whether one of the taints, already restricted to those that count, is not tolerated."""
    return any(not tolerated(taint, tolerations) for taint in taints)
