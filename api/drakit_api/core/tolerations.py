"""Whether a toleration covers a taint: of pods for nodes, and of requests for devices, which have the same rules.

Sources: ``Toleration.ToleratesTaint`` (``k8s.io/api`` ``core/v1/toleration.go``) and ``ToleratesTaint``
(``k8s.io/dynamic-resource-allocation`` ``resourceclaim/devicetoleration.go``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Taint = Mapping[str, Any]
Toleration = Mapping[str, Any]


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether one toleration covers one taint; an absent effect or key covers all of them."""
    if (effect := toleration.get("effect")) and effect != taint.get("effect"):
        return False
    if (key := toleration.get("key")) and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    # Gt and Lt are alpha in 1.37 (TaintTolerationComparisonOperators): without the gate they tolerate nothing.
    return bool(operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or ""))


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Say whether any of the tolerations covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
