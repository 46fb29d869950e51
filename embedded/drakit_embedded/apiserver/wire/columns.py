"""The columns and cells of each kind that people look at with ``kubectl get``.

One entry a kind, each after the function of its kind in k8s.io/kubernetes/pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable, Mapping
from typing import Any

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object

Cells = Callable[[Object], list[Any]]
NONE, UNKNOWN = "<none>", "<unknown>"
_NEVER = "0001-01-01T00:00:00Z"


def age(timestamp: str | None) -> str:
    """Print the time since a timestamp as ``duration.HumanDuration`` does."""
    if not timestamp:
        return UNKNOWN
    try:
        then = calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return UNKNOWN
    return duration(int(time.time()) - then)


def duration(seconds: int) -> str:
    """Print a duration with two units at most (k8s.io/apimachinery/pkg/util/duration)."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m" + (f"{seconds % 60}s" if seconds % 60 else "")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h" + (f"{minutes % 60}m" if minutes % 60 else "")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d" + (f"{hours % 24}h" if hours % 24 else "")
    if days < 730:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return f"{years}y" + (f"{rest}d" if years < 8 and rest else "")


def name_of(obj: Object) -> str:
    """Read ``metadata.name``."""
    name: str = obj["metadata"]["name"]
    return name


def age_of(obj: Object) -> str:
    """Print the time since the object was created."""
    return age(obj["metadata"].get("creationTimestamp"))


def label_texts(labels: Mapping[str, str] | None) -> str:
    """Print labels (labels.FormatLabels)."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def _default(obj: Object) -> list[Any]:
    return [name_of(obj), obj["metadata"].get("creationTimestamp") or _NEVER]


def _namespace(obj: Object) -> list[Any]:
    return [name_of(obj), (obj.get("status") or {}).get("phase", ""), age_of(obj)]


def _node(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    # Of several, the last one counts.
    ready = conditions.find(reversed(status.get("conditions") or ()), "Ready")
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    addresses = {entry.get("type"): entry.get("address") for entry in reversed(status.get("addresses") or ())}
    return [
        name_of(obj),
        ",".join(words),
        _roles(obj["metadata"].get("labels") or {}),
        age_of(obj),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or NONE,
        addresses.get("ExternalIP") or NONE,
        info.get("osImage") or UNKNOWN,
        _kernel(info),
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _kernel(info: Mapping[str, Any]) -> str:
    version, architecture = info.get("kernelVersion"), info.get("architecture")
    if not version:
        return UNKNOWN
    return f"{version} ({architecture})" if architecture else str(version)


def _roles(labels: Mapping[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    roles |= {value for key, value in labels.items() if key == "kubernetes.io/role" and value}
    return ",".join(sorted(role for role in roles if role)) or NONE


def _event(obj: Object) -> list[Any]:
    target, source = obj.get("involvedObject") or {}, obj.get("source") or {}
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    series = obj.get("series") or {}
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    count = series.get("count") or obj.get("count") or 1
    component = source.get("component") or obj.get("reportingComponent", "")
    host = source.get("host") or obj.get("reportingInstance", "")
    return [
        age(last),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{target.get('kind', '').lower()}/{target.get('name', '')}",
        target.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        (obj.get("message") or "").strip(),
        age(first),
        count,
        name_of(obj),
    ]


def _pod(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    reason, restarts, ready = _pod_state(obj, spec, status)
    gates = spec.get("readinessGates") or []
    met = sum(conditions.is_true(obj, gate.get("conditionType", "")) for gate in gates)
    return [
        name_of(obj),
        f"{ready}/{len(spec.get('containers') or ())}",
        reason,
        str(restarts),
        age_of(obj),
        status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{met}/{len(gates)}" if gates else NONE,
    ]


def _pod_state(obj: Object, spec: Object, status: Object) -> tuple[str, int, int]:
    """Compute the STATUS column of a pod, its restarts, and how many containers are ready (printPod)."""
    reason = status.get("reason") or status.get("phase") or ""
    if any(
        c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in status.get("conditions") or ()
    ):
        reason = "SchedulingGated"
    if (initializing := _initializing(spec, status)) is not None:
        reason, restarts = initializing
        return _deleted(obj, status, reason), restarts, 0
    restarts = ready = 0
    running = False
    for container in reversed(status.get("containerStatuses") or ()):
        restarts += container.get("restartCount", 0)
        state = container.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated:
            reason = _ended(terminated)
        elif container.get("ready") and state.get("running") is not None:
            running = True
            ready += 1
    if reason == "Completed" and running:
        reason = "Running" if _is_ready(status) else "NotReady"
    return _deleted(obj, status, reason), restarts, ready


def _initializing(spec: Object, status: Object) -> tuple[str, int] | None:
    """Describe the init container that is running, with restarts so far; None if all have finished."""
    restarts = 0
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        restarts += container.get("restartCount", 0)
        state = container.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated and terminated.get("exitCode", 0) == 0:
            continue
        if terminated:
            return f"Init:{_ended(terminated)}", restarts
        if waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}", restarts
        return f"Init:{index}/{len(spec.get('initContainers') or ())}", restarts
    return None


def _ended(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _is_ready(status: Object) -> bool:
    """Any of several counts (hasPodReadyCondition), unlike elsewhere."""
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or ())


def _deleted(obj: Object, status: Object, reason: str) -> str:
    if not obj["metadata"].get("deletionTimestamp"):
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Failed", "Succeeded") else "Terminating"


def _config_map(obj: Object) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj)]


def _secret(obj: Object) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age_of(obj)]


def _lease(obj: Object) -> list[Any]:
    return [name_of(obj), (obj.get("spec") or {}).get("holderIdentity") or "", age_of(obj)]


def _priority_class(obj: Object) -> list[Any]:
    return [
        name_of(obj),
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        age_of(obj),
        obj.get("preemptionPolicy", ""),
    ]


def _named(obj: Object) -> list[Any]:
    return [name_of(obj), age_of(obj)]


def _claim(obj: Object) -> list[Any]:
    return [name_of(obj), claim_state(obj), age_of(obj)]


def claim_state(obj: Object) -> str:
    """Print what has happened to a claim (resourceClaimPrinterColumns)."""
    status = obj.get("status") or {}
    states = []
    if obj["metadata"].get("deletionTimestamp"):
        states.append("deleted")
    if not status.get("allocation"):
        if not obj["metadata"].get("deletionTimestamp"):
            states.append("pending")
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states)


def _slice(obj: Object) -> list[Any]:
    spec = obj.get("spec") or {}
    pool = spec.get("pool") or {}
    return [name_of(obj), spec.get("nodeName") or "", spec.get("driver", ""), pool.get("name", ""), age_of(obj)]


def _taint_rule(obj: Object) -> list[Any]:
    taint = (obj.get("spec") or {}).get("taint") or {}
    added = age(taint["timeAdded"]) if taint.get("timeAdded") else ""
    return [name_of(obj), taint.get("key", ""), taint.get("value", ""), taint.get("effect", ""), added, age_of(obj)]


def _scale(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [name_of(obj), spec.get("replicas", 0), status.get("replicas", 0), age_of(obj)]


# Column names: a leading "-" is for `-o wide` only, a trailing "#" marks an integer, "?" a boolean.
DEFAULT: tuple[tuple[str, ...], Cells] = (("Name", "Created At"), _default)
PRINTERS: dict[tuple[str, str], tuple[tuple[str, ...], Cells]] = {
    ("", "namespaces"): (("Name", "Status", "Age"), _namespace),
    ("", "nodes"): (
        (
            *("Name", "Status", "Roles", "Age", "Version", "-Internal-IP", "-External-IP"),
            *("-OS-Image", "-Kernel-Version", "-Container-Runtime"),
        ),
        _node,
    ),
    ("", "pods"): (
        ("Name", "Ready", "Status", "Restarts", "Age", "-IP", "-Node", "-Nominated Node", "-Readiness Gates"),
        _pod,
    ),
    ("", "events"): (
        (
            *("Last Seen", "Type", "Reason", "Object", "-Subobject", "-Source", "Message"),
            *("-First Seen", "-Count", "-Name"),
        ),
        _event,
    ),
    ("", "configmaps"): (("Name", "Data", "Age"), _config_map),
    ("", "secrets"): (("Name", "Type", "Data#", "Age"), _secret),
    ("", "serviceaccounts"): (("Name", "Age"), _named),
    ("autoscaling", "scales"): (("Name", "Desired#", "Available#", "Age"), _scale),
    ("coordination.k8s.io", "leases"): (("Name", "Holder", "Age"), _lease),
    ("scheduling.k8s.io", "priorityclasses"): (
        ("Name", "Value#", "Global-Default?", "Age", "PreemptionPolicy"),
        _priority_class,
    ),
    ("resource.k8s.io", "deviceclasses"): (("Name", "Age"), _named),
    ("resource.k8s.io", "resourceclaims"): (("Name", "State", "Age"), _claim),
    ("resource.k8s.io", "resourceclaimtemplates"): (("Name", "Age"), _named),
    ("resource.k8s.io", "resourceslices"): (("Name", "Node", "Driver", "Pool", "Age"), _slice),
    ("resource.k8s.io", "devicetaintrules"): (("Name", "Key", "Value", "Effect", "TimeAdded", "Age"), _taint_rule),
}
PRINTERS[("events.k8s.io", "events")] = PRINTERS[("", "events")]
