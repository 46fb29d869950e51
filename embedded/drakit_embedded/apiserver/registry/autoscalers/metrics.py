"""What autoscalers measure, wanted and found, in the forms of v1 and of v2.

v2 has a target, which says of what type it is; v1 has a field for each type of value, and some of its quantities are
always there: zero where v2 has none. Source: k8s.io/kubernetes/pkg/apis/autoscaling/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity

_Convert = Callable[[Object], Object]
_ZERO = "0"


def _fields(**fields: object) -> Object:
    """Make an object of the fields that are set."""
    return {name: value for name, value in fields.items() if value is not None}


def _metric(source: Object, selector: str = "selector") -> Object:
    return _fields(name=source.get("metricName", ""), selector=source.get(selector))


def _wanted_object(source: Object) -> Object:
    value, average = source.get("targetValue", _ZERO), source.get("averageValue")
    if average is not None and not Quantity.parse(value).nanos:
        # v1 cannot leave it out.
        value = None
    of_type = "Value" if average is None else "AverageValue"
    target = _fields(type=of_type, value=value, averageValue=average)
    return {"describedObject": source.get("target") or {}, "target": target, "metric": _metric(source)}


def _wanted_pods(source: Object) -> Object:
    target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue", _ZERO)}
    return {"metric": _metric(source), "target": target}


def _wanted_resource(source: Object) -> Object:
    utilization = source.get("targetAverageUtilization")
    target = _fields(
        type="AverageValue" if utilization is None else "Utilization",
        averageValue=source.get("targetAverageValue"),
        averageUtilization=utilization,
    )
    return _fields(name=source.get("name", ""), target=target, container=source.get("container"))


def _wanted_external(source: Object) -> Object:
    value = source.get("targetValue")
    target = _fields(
        type="AverageValue" if value is None else "Value", value=value, averageValue=source.get("targetAverageValue")
    )
    return {"metric": _metric(source, "metricSelector"), "target": target}


def _found_object(source: Object) -> Object:
    current = _fields(value=source.get("currentValue", _ZERO), averageValue=source.get("averageValue"))
    return {"metric": _metric(source), "current": current, "describedObject": source.get("target") or {}}


def _found_pods(source: Object) -> Object:
    return {"metric": _metric(source), "current": {"averageValue": source.get("currentAverageValue", _ZERO)}}


def _found_resource(source: Object) -> Object:
    current = _fields(
        averageValue=source.get("currentAverageValue", _ZERO),
        averageUtilization=source.get("currentAverageUtilization"),
    )
    return _fields(name=source.get("name", ""), current=current, container=source.get("container"))


def _found_external(source: Object) -> Object:
    current = _fields(value=source.get("currentValue", _ZERO), averageValue=source.get("currentAverageValue"))
    return {"metric": _metric(source, "metricSelector"), "current": current}


def _named(source: Object) -> tuple[str, Object | None]:
    metric = source.get("metric") or {}
    return metric.get("name", ""), metric.get("selector")


def _older_wanted_object(source: Object) -> Object:
    (name, selector), target = _named(source), source.get("target") or {}
    return _fields(
        target=source.get("describedObject") or {},
        metricName=name,
        targetValue=target.get("value"),
        selector=selector,
        averageValue=target.get("averageValue"),
    )


def _older_wanted_pods(source: Object) -> Object:
    (name, selector), target = _named(source), source.get("target") or {}
    return _fields(metricName=name, targetAverageValue=target.get("averageValue"), selector=selector)


def _older_wanted_resource(source: Object) -> Object:
    target = source.get("target") or {}
    return _fields(
        name=source.get("name"),
        targetAverageUtilization=target.get("averageUtilization"),
        targetAverageValue=target.get("averageValue"),
        container=source.get("container"),
    )


def _older_wanted_external(source: Object) -> Object:
    (name, selector), target = _named(source), source.get("target") or {}
    return _fields(
        metricName=name,
        metricSelector=selector,
        targetValue=target.get("value"),
        targetAverageValue=target.get("averageValue"),
    )


def _older_found_object(source: Object) -> Object:
    (name, selector), current = _named(source), source.get("current") or {}
    return _fields(
        target=source.get("describedObject") or {},
        metricName=name,
        currentValue=current.get("value"),
        selector=selector,
        averageValue=current.get("averageValue"),
    )


def _older_found_pods(source: Object) -> Object:
    (name, selector), current = _named(source), source.get("current") or {}
    return _fields(metricName=name, currentAverageValue=current.get("averageValue"), selector=selector)


def _older_found_resource(source: Object) -> Object:
    current = source.get("current") or {}
    return _fields(
        name=source.get("name"),
        currentAverageUtilization=current.get("averageUtilization"),
        currentAverageValue=current.get("averageValue"),
        container=source.get("container"),
    )


def _older_found_external(source: Object) -> Object:
    (name, selector), current = _named(source), source.get("current") or {}
    return _fields(
        metricName=name,
        metricSelector=selector,
        currentValue=current.get("value"),
        currentAverageValue=current.get("averageValue"),
    )


def _each_source(conversions: Mapping[str, _Convert]) -> _Convert:
    """Make the conversion of a metric from those of its sources, of which it has one if it is valid."""

    def converted(metric: Object) -> Object:
        sources = {name: convert(metric[name]) for name, convert in conversions.items() if metric.get(name) is not None}
        return {"type": metric.get("type", ""), **sources}

    return converted


def _of_sources(wanted_object: _Convert, pods: _Convert, resource: _Convert, external: _Convert) -> _Convert:
    return _each_source(
        {
            "object": wanted_object,
            "pods": pods,
            "resource": resource,
            "containerResource": resource,
            "external": external,
        }
    )


# Of ``MetricSpec`` and ``MetricStatus``: from v1 to v2, and from v2 to v1.
wanted_to_v2 = _of_sources(_wanted_object, _wanted_pods, _wanted_resource, _wanted_external)
found_to_v2 = _of_sources(_found_object, _found_pods, _found_resource, _found_external)
wanted_to_v1 = _of_sources(_older_wanted_object, _older_wanted_pods, _older_wanted_resource, _older_wanted_external)
found_to_v1 = _of_sources(_older_found_object, _older_found_pods, _older_found_resource, _older_found_external)
