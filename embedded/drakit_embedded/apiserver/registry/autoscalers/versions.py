"""Autoscalers in v1 and in v2: what v1 has no fields for is JSON in annotations there.

What an annotation says is overlooked if it cannot be read. In v2 these annotations do not exist: they are lost, whoever
sets them. Source: k8s.io/kubernetes/pkg/apis/autoscaling, v1/conversion.go, annotations.go and helpers.go.
"""

from __future__ import annotations

from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.autoscalers import metrics, texts

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
_CURRENT_METRICS, _CONDITIONS = f"{_PREFIX}current-metrics", f"{_PREFIX}conditions"
_ANNOTATIONS = frozenset(
    {
        *(_METRICS, _BEHAVIOR, _CURRENT_METRICS, _CONDITIONS),
        *(f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance"),
    }
)
_METRIC_SPEC, _METRIC_STATUS = "autoscaling/v1.MetricSpec", "autoscaling/v1.MetricStatus"
_CONDITION = "autoscaling/v1.HorizontalPodAutoscalerCondition"
_RULES = "autoscaling/v2.HorizontalPodAutoscalerBehavior"
_TARGET, _CURRENT = "targetCPUUtilizationPercentage", "currentCPUUtilizationPercentage"
# DefaultCPUUtilization of annotations.go
_DEFAULT_PERCENTAGE = 80
_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
# By v2; v1 shows it.
_OMITTED_IF_ZERO = "currentReplicas"


def to_v2(obj: Object) -> Object:
    """Convert an object of v1, without kind and apiVersion; it is not changed, but shares its parts."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    converted = {**obj, "spec": _newer_spec(obj.get("spec") or {}, annotations)}
    status = _newer_status(obj.get("status") or {}, annotations)
    if status or "status" in obj:
        converted["status"] = status
    return without_texts(converted)


def from_v2(obj: Object) -> Object:
    """Convert an object of v2, as ``to_v2`` does the other way."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    converted = {**without_texts(obj), "spec": _older_spec(spec)}
    if "status" in obj:
        converted["status"] = _older_status(status)
    if found := _texts_of(spec, status):
        meta = converted.get("metadata") or {}
        annotations = {**(meta.get("annotations") or {}), **found}
        converted["metadata"] = {**meta, "annotations": dict(sorted(annotations.items()))}
    return converted


def without_texts(obj: Object) -> Object:
    """Copy an object without the annotations of v1 (DropRoundTripHorizontalPodAutoscalerAnnotations)."""
    meta = obj.get("metadata") or {}
    annotations = meta.get("annotations") or {}
    if _ANNOTATIONS.isdisjoint(annotations):
        return obj
    kept = {key: value for key, value in annotations.items() if key not in _ANNOTATIONS}
    meta = {key: value for key, value in meta.items() if key != "annotations"}
    return {**obj, "metadata": {**meta, "annotations": kept} if kept else meta}


def _newer_spec(spec: Object, annotations: Object) -> Object:
    converted = _kept(spec, _SPEC)
    wanted = [_utilization(spec[_TARGET])] if spec.get(_TARGET) is not None else []
    others = texts.read_list(annotations.get(_METRICS, ""), _METRIC_SPEC) or []
    converted["metrics"] = [*map(metrics.wanted_to_v2, others), *wanted] or [_utilization(_DEFAULT_PERCENTAGE)]
    if behavior := texts.read_internal(annotations.get(_BEHAVIOR, ""), _RULES):
        converted["behavior"] = behavior
    return converted


def _utilization(percentage: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percentage}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _newer_status(status: Object, annotations: Object) -> Object:
    converted = {name: value for name, value in _kept(status, _STATUS).items() if value or name != _OMITTED_IF_ZERO}
    current = texts.read_list(annotations.get(_CURRENT_METRICS, ""), _METRIC_STATUS)
    if current:
        converted["currentMetrics"] = list(map(metrics.found_to_v2, current))
    elif current is None and status.get(_CURRENT) is not None:
        found = {"name": "cpu", "current": {"averageUtilization": status[_CURRENT]}}
        converted["currentMetrics"] = [{"type": "Resource", "resource": found}]
    conditions = texts.read_list(annotations.get(_CONDITIONS, ""), _CONDITION)
    if conditions:
        converted["conditions"] = conditions
    return converted


def _older_spec(spec: Object) -> Object:
    converted = _kept(spec, _SPEC)
    wanted = next(filter(None, map(_wanted_percentage, spec.get("metrics") or ())), None)
    if wanted is not None:
        converted[_TARGET] = wanted[0]
    return converted


def _older_status(status: Object) -> Object:
    converted = _kept({_OMITTED_IF_ZERO: 0, **status}, _STATUS)
    for metric in status.get("currentMetrics") or ():
        percentage = _of_processors(metric, "current")
        if percentage is not None:
            converted[_CURRENT] = percentage
    return converted


def _wanted_percentage(metric: Object) -> tuple[int] | None:
    """Find the utilization of processors that a metric wants, if it is one that v1 has a field for."""
    percentage = _of_processors(metric, "target")
    return None if percentage is None else (percentage,)


def _of_processors(metric: Object, part: str) -> Any:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    return (resource.get(part) or {}).get("averageUtilization")


def _texts_of(spec: Object, status: Object) -> dict[str, str]:
    """Print what v1 has no fields for."""
    wanted = [metric for metric in spec.get("metrics") or () if _wanted_percentage(metric) is None]
    current = status.get("currentMetrics")
    found = {}
    if wanted:
        found[_METRICS] = texts.printed_list(list(map(metrics.wanted_to_v1, wanted)), _METRIC_SPEC)
    if current:
        # Also of processors, whose value v1 has no field for.
        found[_CURRENT_METRICS] = texts.printed_list(
            [metrics.found_to_v1(metric) for metric in current], _METRIC_STATUS
        )
    if spec.get("behavior") is not None:
        found[_BEHAVIOR] = texts.printed_internal(spec["behavior"], _RULES)
    if status.get("conditions"):
        found[_CONDITIONS] = texts.printed_list(status["conditions"], _CONDITION)
    return found


def _kept(part: Object, names: tuple[str, ...]) -> Object:
    return {name: part[name] for name in names if name in part}
