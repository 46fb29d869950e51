"""Defaulting functions that do more than set fields; ``defaults.json`` calls them by name."""

from __future__ import annotations

import copy
from collections.abc import Callable

from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity

_MILLI = 1_000_000
_SMALLER = ("n", "u")
_PERIOD_SECONDS = 15
_SCALE_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": _PERIOD_SECONDS},
        {"type": "Percent", "value": 100, "periodSeconds": _PERIOD_SECONDS},
    ],
}
_SCALE_DOWN = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": _PERIOD_SECONDS}],
}


def round_up(amounts: Object) -> None:
    """Round quantities up to thousandths: SetDefaults_ResourceList of pkg/apis/core/v1/defaults.go."""
    for name, amount in amounts.items():
        # These suffixes are written for quantities this small, and only for them.
        if amount.endswith(_SMALLER):
            nanos = Quantity.parse(amount).nanos
            amounts[name] = str(Quantity(-(-nanos // _MILLI) * _MILLI))


def _complete_behavior(autoscaler: Object) -> None:
    """Do what SetDefaults_HorizontalPodAutoscalerBehavior does in pkg/apis/autoscaling/v2/defaults.go.

    Behavior that is given at all has rules in both directions, with all that they do not say.
    """
    behavior = autoscaler["spec"].get("behavior")
    if behavior is not None:
        for direction, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            given = {key: value for key, value in (behavior.get(direction) or {}).items() if value is not None}
            behavior[direction] = {**copy.deepcopy(rules), **given}


def _later(obj: Object) -> None:
    """Do nothing: ``pod_quality.complete`` completes the resources of a pod when it is made."""


RULES: dict[str, Callable[[Object], None]] = {
    "round up to thousandths": round_up,
    "complete scaling behavior": _complete_behavior,
    "pod-level limits of huge pages": _later,
    "pod-level requests": _later,
}
