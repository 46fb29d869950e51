"""The columns of what runs pods: the kinds of apps, batch and autoscaling, and replication controllers.

One entry a kind, as in ``columns``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drakit_api.core.conditions import is_true
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.wire import selector_texts
from drakit_embedded.apiserver.wire.columns import NONE, UNKNOWN, Cells, age, age_of, duration, label_texts, name_of

# Job conditions that are shown as its status, the first one that is true; None: being deleted (printJob).
_JOB_STATUS = ("Complete", "Failed", None, "Suspended", "FailureTarget", "SuccessCriteriaMet")
_SHOWN_METRICS = 2


def _template_cells(obj: Object) -> tuple[str, str]:
    """List names and images of the containers of a workload's template."""
    containers = (((obj.get("spec") or {}).get("template") or {}).get("spec") or {}).get("containers") or []
    return ",".join(c.get("name", "") for c in containers), ",".join(c.get("image", "") for c in containers)


def _selector(selector: Mapping[str, Any] | None) -> str:
    """Print a label selector (metav1.FormatLabelSelector)."""
    return selector_texts.printed(selector) or NONE


def _deployment(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        str(status.get("updatedReplicas", 0)),
        str(status.get("availableReplicas", 0)),
        age_of(obj),
        *_template_cells(obj),
        _selector(spec.get("selector")),
    ]


def _replica_set(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [name_of(obj), *counts, age_of(obj), *_template_cells(obj), _selector(spec.get("selector"))]


def _stateful_set(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(obj), ready, age_of(obj), *_template_cells(obj)]


def _daemon_set(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    keys = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    node_selector = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector")
    return [
        name_of(obj),
        *[status.get(key, 0) for key in keys],
        label_texts(node_selector),
        age_of(obj),
        *_template_cells(obj),
        _selector(spec.get("selector")),
    ]


def _replication_controller(obj: Object) -> list[Any]:
    """Fill the cells; the selector is a map of labels, and not a label selector."""
    return [*_replica_set(obj)[:-1], label_texts((obj.get("spec") or {}).get("selector"))]


def _controller_revision(obj: Object) -> list[Any]:
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((entry for entry in owners if entry.get("controller")), None)
    shown = NONE
    if owner is not None:
        group, _, _ = owner.get("apiVersion", "").rpartition("/")
        kind = f"{owner['kind']}.{group}" if group else owner["kind"]
        shown = f"{kind.lower()}/{owner['name']}"
    return [name_of(obj), shown, obj.get("revision", 0), age_of(obj)]


def _job(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    shown = [name_of(obj), _job_status(obj), _completions(spec, status), _job_duration(status), age_of(obj)]
    return [*shown, *_template_cells(obj), _selector(spec.get("selector"))]


def _completions(spec: Object, status: Object) -> str:
    done, wanted, parallel = status.get("succeeded", 0), spec.get("completions"), spec.get("parallelism", 0)
    if wanted is not None:
        return f"{done}/{wanted}"
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_status(obj: Object) -> str:
    for status in _JOB_STATUS:
        if status is not None and is_true(obj, status):
            return status
        if status is None and obj["metadata"].get("deletionTimestamp"):
            return "Terminating"
    return "Running"


def _job_duration(status: Object) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return duration(gotime.seconds(end) - gotime.seconds(start)) if end else age(start)


def _cron_job(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    template = spec.get("jobTemplate") or {}
    suspended, last = spec.get("suspend"), status.get("lastScheduleTime")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") if spec.get("timeZone") is not None else NONE,
        "<unset>" if suspended is None else str(suspended),
        len(status.get("active") or ()),
        age(last) if last else NONE,
        age_of(obj),
        *_template_cells(template),
        _selector((template.get("spec") or {}).get("selector")),
    ]


def _autoscaler(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        "<unset>" if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age_of(obj),
    ]


def _metrics(wanted: Sequence[Object], current: Sequence[Object]) -> str:
    """Print the metrics of an autoscaler (formatHPAMetrics)."""
    if not wanted:
        return NONE
    shown = [_metric(metric, current[at] if at < len(current) else {}) for at, metric in enumerate(wanted)]
    more = len(shown) - _SHOWN_METRICS
    return ", ".join(shown[:_SHOWN_METRICS]) + (f" + {more} more..." if more > 0 else "")


def _metric(wanted: Object, current: Object) -> str:
    kind = wanted.get("type", "")
    if kind not in ("External", "Pods", "Object", "Resource", "ContainerResource"):
        return "<unknown type>"
    member = kind[0].lower() + kind[1:]
    metric = wanted.get(member) or {}
    target, now = metric.get("target") or {}, (current.get(member) or {}).get("current") or {}
    of_resource = f"{metric.get('name', '')}: " if kind.endswith("Resource") else ""
    average = target.get("averageValue")
    if average is not None or kind == "Pods":
        suffix = " (avg)" if kind in ("External", "Object") else ""
        return f"{of_resource}{now.get('averageValue') or UNKNOWN}/{average or '0'}{suffix}"
    if of_resource:
        return f"{of_resource}{_percent(now, UNKNOWN)}/{_percent(target, '<auto>')}"
    return f"{now.get('value') or UNKNOWN}/{target.get('value') or '0'}"


def _percent(value: Mapping[str, Any], unset: str) -> str:
    utilization = value.get("averageUtilization")
    return unset if utilization is None else f"{utilization}%"


_TEMPLATE = ("-Containers", "-Images", "-Selector")
_REPLICAS = ("Name", "Desired#", "Current#", "Ready#", "Age", *_TEMPLATE)
PRINTERS: dict[tuple[str, str], tuple[tuple[str, ...], Cells]] = {
    ("", "replicationcontrollers"): (_REPLICAS, _replication_controller),
    ("apps", "controllerrevisions"): (("Name", "Controller", "Revision", "Age"), _controller_revision),
    ("apps", "deployments"): (("Name", "Ready", "Up-to-date", "Available", "Age", *_TEMPLATE), _deployment),
    ("apps", "replicasets"): (_REPLICAS, _replica_set),
    ("apps", "statefulsets"): (("Name", "Ready", "Age", "-Containers", "-Images"), _stateful_set),
    ("apps", "daemonsets"): (
        (
            *("Name", "Desired#", "Current#", "Ready#", "Up-to-date#", "Available#", "Node Selector", "Age"),
            *_TEMPLATE,
        ),
        _daemon_set,
    ),
    ("batch", "jobs"): (("Name", "Status", "Completions", "Duration", "Age", *_TEMPLATE), _job),
    ("batch", "cronjobs"): (
        ("Name", "Schedule", "Timezone", "Suspend?", "Active#", "Last Schedule", "Age", *_TEMPLATE),
        _cron_job,
    ),
    ("autoscaling", "horizontalpodautoscalers"): (
        ("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"),
        _autoscaler,
    ),
}
