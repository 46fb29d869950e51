"""The terms of a pod's affinity to other pods, and the names of their fields, which node affinity has as well."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def terms(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield all terms of affinity and anti-affinity in a pod's spec, each with its path below the spec."""
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = (spec.get("affinity") or {}).get(kind) or {}
        for index, term in enumerate(rules.get(REQUIRED) or ()):
            yield f"affinity.{kind}.{REQUIRED}[{index}]", term
        for index, weighted in enumerate(rules.get(PREFERRED) or ()):
            yield f"affinity.{kind}.{PREFERRED}[{index}].podAffinityTerm", weighted.get("podAffinityTerm") or {}
