"""What ``kubectl get`` shows of workloads and networks.

The rules are those of k8s.io/kubernetes/pkg/printers/internalversion/printers.go. Ages are left out; durations stay.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.wire import tables

_TEMPLATE: Object = {"spec": {"containers": [{"name": "a", "image": "b"}, {"name": "c", "image": "d"}]}}
_BATCH, _SCALING = ("batch", "jobs"), ("autoscaling", "horizontalpodautoscalers")
_RAN = {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:05:02Z"}


def _condition(kind: str, status: str = "True") -> Object:
    return {"conditions": [{"type": kind, "status": status}]}


def _twice(kind: str) -> list[Object]:
    return [{"type": kind, "status": status} for status in ("False", "True")]


def _utilization(kind: str, target: Object, current: Object) -> Object:
    member = kind[0].lower() + kind[1:]
    return {
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "maxReplicas": 5,
            "metrics": [_metric(kind, target)],
        },
        "status": {
            "currentReplicas": 2,
            "currentMetrics": [{"type": kind, member: {"name": "cpu", "current": current}}],
        },
    }


def _metric(kind: str, target: Object) -> Object:
    return {"type": kind, kind[0].lower() + kind[1:]: {"name": "cpu", "target": target}}


def _scaled(targets: str) -> list[Any]:
    return ["x", "Deployment/d", targets, "<unset>", 5, 2]


# story: (kind, object, cells without the age)
ROWS: dict[str, tuple[tuple[str, str], Object, list[Any]]] = {
    "a job that runs": (
        _BATCH,
        {
            "spec": {"completions": 3, "template": _TEMPLATE, "selector": {"matchLabels": {"k": "v"}}},
            "status": {"succeeded": 1},
        },
        ["x", "Running", "1/3", "", "a,c", "b,d", "k=v"],
    ),
    "a job of a work queue": (
        _BATCH,
        {
            "spec": {"parallelism": 4, "template": _TEMPLATE},
            "status": {**_RAN, **_condition("Complete"), "succeeded": 1},
        },
        ["x", "Complete", "1/1 of 4", "5m2s", "a,c", "b,d", "<none>"],
    ),
    # Several of a type: printers.go takes the first of a job or a gate, and the last of a node.
    "a job with a condition twice": (
        _BATCH,
        {"spec": {"completions": 1}, "status": {"conditions": _twice("Complete")}},
        ["x", "Running", "0/1", "", "", "", "<none>"],
    ),
    "a node with a condition twice": (
        ("", "nodes"),
        {"status": {"conditions": _twice("Ready")}},
        ["x", "Ready", "<none>", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    ),
    "a pod with a gate and its condition twice": (
        ("", "pods"),
        {"spec": {"readinessGates": [{"conditionType": "g"}]}, "status": {"conditions": _twice("g")}},
        ["x", "0/0", "", "0", "<none>", "<none>", "<none>", "0/1"],
    ),
    "a job without numbers": (
        _BATCH,
        {"spec": {"parallelism": 1, "template": _TEMPLATE}},
        ["x", "Running", "0/1", "", "a,c", "b,d", "<none>"],
    ),
    "a job that failed": (
        _BATCH,
        {"spec": {"completions": 1}, "status": _condition("Failed")},
        ["x", "Failed", "0/1", "", "", "", "<none>"],
    ),
    "a job that is about to fail": (
        _BATCH,
        {"spec": {"completions": 1}, "status": _condition("FailureTarget")},
        ["x", "FailureTarget", "0/1", "", "", "", "<none>"],
    ),
    "a job that was suspended": (
        _BATCH,
        {"spec": {"completions": 1}, "status": _condition("Suspended")},
        ["x", "Suspended", "0/1", "", "", "", "<none>"],
    ),
    "a job that goes on": (
        _BATCH,
        {"spec": {"completions": 1}, "status": _condition("Suspended", "False")},
        ["x", "Running", "0/1", "", "", "", "<none>"],
    ),
    "a suspended job that is being deleted": (
        _BATCH,
        {
            "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"completions": 1},
            "status": _condition("Suspended"),
        },
        ["x", "Terminating", "0/1", "", "", "", "<none>"],
    ),
    "a cron job": (
        ("batch", "cronjobs"),
        {"spec": {"schedule": "* * * * *", "suspend": False, "jobTemplate": {"spec": {"template": _TEMPLATE}}}},
        ["x", "* * * * *", "<none>", "False", 0, "<none>", "a,c", "b,d", "<none>"],
    ),
    "a suspended cron job": (
        ("batch", "cronjobs"),
        {
            "spec": {"schedule": "@daily", "timeZone": "Etc/UTC", "suspend": True, "jobTemplate": {}},
            "status": {"active": [{}, {}]},
        },
        ["x", "@daily", "Etc/UTC", "True", 2, "<none>", "", "", "<none>"],
    ),
    "a replication controller": (
        ("", "replicationcontrollers"),
        {
            "spec": {"replicas": 3, "selector": {"k": "v"}, "template": _TEMPLATE},
            "status": {"replicas": 2, "readyReplicas": 1},
        },
        ["x", 3, 2, 1, "a,c", "b,d", "k=v"],
    ),
    "a revision": (
        ("apps", "controllerrevisions"),
        {
            "metadata": {
                "name": "x",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}],
            },
            "revision": 4,
        },
        ["x", "daemonset.apps/d", 4],
    ),
    "a revision of nobody": (("apps", "controllerrevisions"), {"revision": 4}, ["x", "<none>", 4]),
    "an autoscaler by utilization": (
        _SCALING,
        _utilization("Resource", {"type": "Utilization", "averageUtilization": 80}, {"averageUtilization": 20}),
        _scaled("cpu: 20%/80%"),
    ),
    "an autoscaler by value": (
        _SCALING,
        _utilization("ContainerResource", {"type": "AverageValue", "averageValue": "100m"}, {"averageValue": "50m"}),
        _scaled("cpu: 50m/100m"),
    ),
    "an autoscaler by an average": (
        _SCALING,
        _utilization("External", {"type": "AverageValue", "averageValue": "100m"}, {}),
        _scaled("<unknown>/100m (avg)"),
    ),
    "an autoscaler by a value of an object": (
        _SCALING,
        _utilization("Object", {"type": "Value", "value": "10"}, {"value": "4"}),
        _scaled("4/10"),
    ),
    "an autoscaler by many metrics": (
        _SCALING,
        {
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                "minReplicas": 1,
                "maxReplicas": 5,
                "metrics": [_metric("Pods", {"averageValue": str(number)}) for number in range(4)],
            }
        },
        ["x", "Deployment/d", "<unknown>/0, <unknown>/1 + 2 more...", "1", 5, 0],
    ),
    "endpoints": (
        ("", "endpoints"),
        {
            "subsets": [
                {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}, {"port": 443}]},
            ]
        },
        ["x", "10.0.0.1:80,[fd00::1]:80,10.0.0.1:443 + 1 more..."],
    ),
    "endpoints without ports": (
        ("", "endpoints"),
        {"subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]},
        ["x", "10.0.0.1"],
    ),
    "no endpoints": (("", "endpoints"), {}, ["x", "<none>"]),
    "an endpoint slice": (
        ("discovery.k8s.io", "endpointslices"),
        {
            "addressType": "IPv4",
            "ports": [{"port": 80}, {"name": "all"}, {}],
            "endpoints": [{"addresses": [f"10.0.0.{number}"]} for number in range(5)],
        },
        ["x", "IPv4", "80,all,*", "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."],
    ),
    "an empty endpoint slice": (
        ("discovery.k8s.io", "endpointslices"),
        {"addressType": "IPv4"},
        ["x", "IPv4", "<unset>", "<unset>"],
    ),
    "a range of addresses": (
        ("networking.k8s.io", "servicecidrs"),
        {"spec": {"cidrs": ["10.96.0.0/12", "fd00::/112"]}},
        ["x", "10.96.0.0/12,fd00::/112"],
    ),
    "an address": (
        ("networking.k8s.io", "ipaddresses"),
        {"spec": {"parentRef": {"group": "", "resource": "services", "namespace": "default", "name": "s"}}},
        ["x", "services/default/s"],
    ),
}


@pytest.mark.parametrize(("kind", "obj", "row"), ROWS.values(), ids=ROWS)
def test_rows(kind: tuple[str, str], obj: Object, row: list[Any]) -> None:
    printer = tables.printer(*kind)
    made = datetime.now(UTC) - timedelta(days=3)
    metadata = {"name": "x", **obj.get("metadata", {}), "creationTimestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ")}
    cells = printer.cells({**obj, "metadata": metadata})
    names = [column["name"] for column in printer.columns]
    if kind != ("networking.k8s.io", "ipaddresses"):
        assert len(cells) == len(names)
    assert cells.pop(names.index("Age") if "Age" in names else -1) == "3d"
    assert cells == row


def test_a_job_that_runs_shows_for_how_long() -> None:
    started = datetime.now(UTC) - timedelta(hours=30)
    job = {"metadata": {"name": "x"}, "status": {"startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ")}}
    assert tables.printer("batch", "jobs").cells(job)[3] == "30h"


def test_columns_have_types() -> None:
    columns = {column["name"]: column["type"] for column in tables.printer("batch", "cronjobs").columns}
    assert (columns["Suspend"], columns["Active"], columns["Last Schedule"]) == ("boolean", "integer", "string")
