"""Bodies of HorizontalPodAutoscalers in both versions: metrics of every type, scaling rules, statuses, odd annotations.

All of them are valid, or not read at all: what is refused by their rules is not looked at here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object

KEY = "autoscaling.alpha.kubernetes.io/"
REFERENCE: Object = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
_OTHER: Object = {"kind": "Service", "name": "s", "apiVersion": "v1"}
_SELECTOR: Object = {
    "matchLabels": {"z": "1", "a": "<&>"},
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["y", "x"]}, {"key": "l", "operator": "Exists"}],
}
_TIME = "2001-02-03T04:05:06Z"


def _source(kind: str, **source: Any) -> Object:
    member = kind[0].lower() + kind[1:]
    return {"type": kind, member: source}


def _resource(name: str, **target: Any) -> Object:
    return _source("Resource", name=name, target=target)


def processors(percentage: int) -> Object:
    """The metric of v2 that v1 has a field for."""
    return _resource("cpu", type="Utilization", averageUtilization=percentage)


_METRIC: Object = {"name": "m-<&>", "selector": _SELECTOR}
_AVERAGE: Object = {"type": "AverageValue", "averageValue": "1500m"}
_VALUE: Object = {"type": "Value", "value": "2e3"}
# What v2 may want, by a name.
WANTED: dict[str, Object] = {
    "memory": _resource("memory", type="Utilization", averageUtilization=70),
    "bytes": _resource("memory", type="AverageValue", averageValue="1024Mi"),
    "cores": _resource("cpu", type="AverageValue", averageValue="0.5"),
    "pods": _source("Pods", metric=_METRIC, target=_AVERAGE),
    "an object": _source("Object", describedObject=_OTHER, metric={"name": "m"}, target=_VALUE),
    "an object by average": _source("Object", describedObject=_OTHER, metric=_METRIC, target=_AVERAGE),
    "a container": _source(
        "ContainerResource", name="cpu", container="c", target={"type": "Utilization", "averageUtilization": 1}
    ),
    "a container by average": _source("ContainerResource", name="memory", container="c", target=_AVERAGE),
    "external": _source("External", metric={"name": "m", "selector": {}}, target=_VALUE),
    "external by average": _source("External", metric={"name": "m"}, target=_AVERAGE),
}
# The same in v1.
OLDER: dict[str, Object] = {
    "memory": _source("Resource", name="memory", targetAverageUtilization=70),
    "bytes": _source("Resource", name="memory", targetAverageValue="1Gi"),
    "a percentage beside the field": _source("Resource", name="cpu", targetAverageUtilization=33),
    "pods": _source("Pods", metricName="m-<&>", targetAverageValue="1500m", selector=_SELECTOR),
    "an object": _source("Object", target=_OTHER, metricName="m", targetValue="2e3"),
    "an object by average": _source("Object", target=_OTHER, metricName="m", targetValue="0", averageValue="5"),
    "a container": _source("ContainerResource", name="cpu", container="c", targetAverageUtilization=1),
    "external": _source("External", metricName="m", metricSelector={}, targetValue="7"),
    "external by average": _source("External", metricName="m", targetAverageValue="7"),
}
_RULES: dict[str, Object] = {
    "none in one direction": {"scaleUp": {"stabilizationWindowSeconds": 5}},
    "none in either": {},
    "of all kinds": {
        "scaleUp": {
            "selectPolicy": "Min",
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}],
            "tolerance": "50m",
        },
        "scaleDown": {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 3600, "tolerance": "0"},
    },
}
_POLICY = '{"Type":"Pods","Value":1,"PeriodSeconds":15}'
SCALE_UP = f'{{"ScaleUp":{{"Policies":[{_POLICY}]}}}}'
CONDITIONS = json.dumps([{"type": "AbleToScale", "status": "True", "lastTransitionTime": _TIME}])
_POD = '{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}'
# Texts of the annotation ``metrics``, good and bad.
_TEXTS = {
    "empty": "",
    "blank": "  ",
    "null": "null",
    "an empty list": "[]",
    "an object": "{}",
    "a number": "5",
    "cut off": f"[{_POD}",
    "more behind": f"[{_POD}] x",
    "blanks around": f" [ {_POD} ]\n",
    "unknown fields": '[{"type":"Pods","more":[1],"pods":{"metricName":"m","x":{},"targetAverageValue":"1"}}]',
    "other cases": '[{"TYPE":"Pods","pODs":{"METRICname":"m","TargetAverageValue":"1"}}]',
    "two cases": '[{"Type":"x","type":"Pods","pods":{"metricName":"n","MetricName":"m","targetAverageValue":"1"}}]',
    "a key twice": '[{"type":"Pods","pods":{"metricName":"m"},"pods":{"targetAverageValue":"1"}}]',
    "nulls": '[{"type":"Pods","object":null,"pods":{"metricName":"m","selector":null,"targetAverageValue":"1"}}]',
    "a number as a name": '[{"type":"Pods","pods":{"metricName":1,"targetAverageValue":"1"}}]',
    "a number as a quantity": '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":1}}]',
    "no quantity": '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"x"}}]',
    "a long fraction": '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"0.00000000001"}}]',
    "a fraction as a percentage": '[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":1.5}}]',
    "a large percentage": '[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":2147483648}}]',
    "a wrong one behind": f'[{_POD},{{"type":1}}]',
    "escapes": '[{"type":"Pods","pods":{"metricName":"\\u003cm\\u003e\\u00e9\\t\\u2028","targetAverageValue":"1"}}]',
}
# Texts of the annotation ``behavior``.
_RULE_TEXTS = {
    "empty": "",
    "null": "null",
    "nothing": "{}",
    "a list": "[]",
    "null in it": '{"ScaleUp":null}',
    "policies": SCALE_UP,
    "lower case": '{"scaleup":{"policies":[{"type":"Pods","value":1,"periodseconds":15}]}}',
    "names of v2": '{"scaleDown":{"selectPolicy":"Min","policies":[{"type":"Percent","value":1,"periodSeconds":9}]}}',
    "both": f'{{"ScaleUp":{{"Policies":[{_POLICY}],"StabilizationWindowSeconds":7,"SelectPolicy":"Min"}},'
    f'"ScaleDown":{{"Policies":[{_POLICY}],"Tolerance":"0.10"}}}}',
    "unknown fields": f'{{"x":1,"ScaleUp":{{"y":2,"Policies":[{_POLICY}]}}}}',
    "a wrong type": f'{{"ScaleUp":{{"Policies":[{_POLICY}],"SelectPolicy":1}}}}',
    "no quantity": f'{{"ScaleUp":{{"Policies":[{_POLICY}],"Tolerance":"much"}}}}',
}


def texts(*metrics: Object) -> str:
    """Metrics of v1 as an annotation has them."""
    return json.dumps(metrics)


def made(version: str, *, name: str = "a", annotations: Object | None = None, **spec: Any) -> Object:
    """A body in a version with what is needed."""
    more = {} if annotations is None else {"annotations": annotations}
    assert version in ("v1", "v2")
    return {"metadata": {"name": name, **more}, "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3, **spec}}


def of_v1() -> Iterator[tuple[str, Object]]:
    """New objects in v1."""
    yield "the least", made("v1")
    yield "a percentage", made("v1", targetCPUUtilizationPercentage=50, minReplicas=2)
    yield "annotations that mean nothing", made("v1", annotations={f"{KEY}scale-up-tolerance": "1", f"{KEY}x": "y"})
    yield "status", {**made("v1"), "status": {"currentReplicas": 1, "currentCPUUtilizationPercentage": 5}}
    conditions = {f"{KEY}conditions": CONDITIONS, f"{KEY}current-metrics": "[]"}
    yield "status in annotations", made("v1", annotations=conditions)
    for name, metric in OLDER.items():
        yield f"metrics: {name}", made("v1", annotations={f"{KEY}metrics": texts(metric)})
    several = {f"{KEY}metrics": texts(*OLDER.values()), f"{KEY}behavior": SCALE_UP, "z": "1", "a": "2"}
    yield "metrics: several, and a percentage", made("v1", annotations=several, targetCPUUtilizationPercentage=5)
    for name, text in _TEXTS.items():
        yield f"metrics annotation: {name}", made("v1", annotations={f"{KEY}metrics": text})
    yield (
        "metrics annotation: none that can be read, and a percentage",
        made("v1", annotations={f"{KEY}metrics": "x"}, targetCPUUtilizationPercentage=5),
    )
    for name, text in _RULE_TEXTS.items():
        yield f"behavior annotation: {name}", made("v1", annotations={f"{KEY}behavior": text})


def of_v2() -> Iterator[tuple[str, Object]]:
    """New objects in v2."""
    yield "the least", made("v2")
    for name, metric in WANTED.items():
        yield f"metrics: {name}", made("v2", metrics=[metric])
    yield "metrics: all", made("v2", metrics=[*WANTED.values(), processors(60)])
    yield "metrics: processors twice", made("v2", metrics=[processors(60), WANTED["pods"], processors(61)])
    for name, rules in _RULES.items():
        yield f"behavior: {name}", made("v2", behavior=rules)
    own = {f"{KEY}{name}": "[]" for name in ("metrics", "behavior", "conditions", "current-metrics", "x")}
    yield "annotations of v1", made("v2", annotations={**own, f"{KEY}scale-down-tolerance": "1"})
    yield "only annotations of v1", made("v2", annotations={f"{KEY}behavior": SCALE_UP})


def _found(kind: str, current: Object, **source: Any) -> Object:
    return _source(kind, **source, current=current)


_BOTH = {"averageValue": "3", "averageUtilization": 40}
_FOUND = {
    "processors": _found("Resource", _BOTH, name="cpu"),
    "processors without a percentage": _found("Resource", {"averageValue": "3"}, name="cpu"),
    "a percentage alone": _found("Resource", {"averageUtilization": 4}, name="memory"),
    "a container": _found("ContainerResource", _BOTH, name="cpu", container="c"),
    "pods": _found("Pods", {"averageValue": "3k"}, metric=_METRIC),
    "an object": _found("Object", {"value": "3"}, metric={"name": "m"}, describedObject=_OTHER),
    "an object by average": _found("Object", {"averageValue": "3"}, metric=_METRIC, describedObject=_OTHER),
    "external": _found("External", {"value": "3"}, metric=_METRIC),
    "external by average": _found("External", {"averageValue": "3"}, metric={"name": "m"}),
}
_CONDITION = {"type": "ScalingActive", "status": "False", "lastTransitionTime": _TIME}


def statuses_of_v2() -> Iterator[tuple[str, Object]]:
    """Statuses in v2."""
    plain = {"currentReplicas": 2, "desiredReplicas": 3, "observedGeneration": 1, "lastScaleTime": _TIME}
    yield "numbers", plain
    for name, metric in _FOUND.items():
        yield f"metrics: {name}", {"currentMetrics": [metric], "desiredReplicas": 1}
    yield "metrics: all", {**plain, "currentMetrics": list(_FOUND.values())}
    more = {**_CONDITION, "reason": "R", "message": 'it is <so> & "so"\n', "observedGeneration": 3}
    yield "conditions", {"conditions": [more, {**_CONDITION, "type": "AbleToScale"}], "desiredReplicas": 1}
    yield "a condition without a time", {"conditions": [{"type": "AbleToScale", "status": "True"}]}


def statuses_of_v1() -> Iterator[tuple[str, Object]]:
    """Bodies with statuses in v1, in fields and in annotations."""
    plain: Object = {"currentReplicas": 2, "desiredReplicas": 3, "observedGeneration": 1, "lastScaleTime": _TIME}
    yield "numbers", {"status": plain}
    yield "a percentage", {"status": {**plain, "currentCPUUtilizationPercentage": 12}}
    older = texts(
        _source("Resource", name="memory", currentAverageUtilization=5, currentAverageValue="6"),
        _source("ContainerResource", name="cpu", container="c", currentAverageValue="7"),
        _source("Pods", metricName="m", currentAverageValue="8", selector=_SELECTOR),
        _source("Object", metricName="m", target=_OTHER, currentValue="9", averageValue="10"),
        _source("Object", metricName="m", target=_OTHER),
        _source("External", metricName="m", metricSelector=_SELECTOR, currentValue="11"),
        _source("External", metricName="m", currentAverageValue="12"),
    )
    for name, given in {
        "metrics": {f"{KEY}current-metrics": older},
        "no metrics": {f"{KEY}current-metrics": "[]"},
        "metrics that cannot be read": {f"{KEY}current-metrics": '[{"type":"Pods","pods":{"currentAverageValue":{}}}]'},
        "conditions": {f"{KEY}conditions": CONDITIONS},
        "conditions in upper case": {f"{KEY}conditions": '[{"TYPE":"T","STATUS":"True","REASON":"r"}]'},
        "a condition of no time": {f"{KEY}conditions": '[{"type":"T","status":"True","lastTransitionTime":"now"}]'},
        "a condition of another zone": {
            f"{KEY}conditions": '[{"type":"T","status":"True","lastTransitionTime":"2001-02-03T04:05:06+01:00"}]'
        },
        "both, and what is no status": {f"{KEY}conditions": CONDITIONS, f"{KEY}current-metrics": older, "x": "y"},
    }.items():
        status = {**plain, "currentCPUUtilizationPercentage": 12}
        yield f"annotations: {name}", {"metadata": {"annotations": given}, "status": status}
