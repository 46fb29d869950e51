"""The columns and cells of each kind that people look at with ``kubectl get``.

One entry a kind, each after the function of its kind in k8s.io/kubernetes/pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable, Mapping
from typing import Any

from drakit_embedded.apiserver.wire import selector_texts

Object = dict[str, Any]
Cells = Callable[[Object], list[Any]]
_NONE, _UNKNOWN, _NEVER = "<none>", "<unknown>", "0001-01-01T00:00:00Z"


def age(timestamp: str | None) -> str:
    """Time since a timestamp as ``duration.HumanDuration`` prints it."""
    if not timestamp:
        return _UNKNOWN
    try:
        then = calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return _UNKNOWN
    return duration(int(time.time()) - then)


def duration(seconds: int) -> str:
    """k8s.io/apimachinery/pkg/util/duration: two units at most, fewer as it gets longer."""
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


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _age(obj: Object) -> str:
    return age(obj["metadata"].get("creationTimestamp"))


def _labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or _NONE


def _selector(selector: Mapping[str, Any] | None) -> str:
    """metav1.FormatLabelSelector."""
    return selector_texts.printed(selector) or _NONE


def _template_cells(obj: Object) -> tuple[str, str]:
    """Names and images of the containers of a workload's template."""
    containers = (((obj.get("spec") or {}).get("template") or {}).get("spec") or {}).get("containers") or []
    return ",".join(c.get("name", "") for c in containers), ",".join(c.get("image", "") for c in containers)


def _default(obj: Object) -> list[Any]:
    return [_name(obj), obj["metadata"].get("creationTimestamp") or _NEVER]


def _namespace(obj: Object) -> list[Any]:
    return [_name(obj), (obj.get("status") or {}).get("phase", ""), _age(obj)]


def _node(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = next((c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    addresses = {entry.get("type"): entry.get("address") for entry in reversed(status.get("addresses") or ())}
    return [
        _name(obj),
        ",".join(words),
        _roles(obj["metadata"].get("labels") or {}),
        _age(obj),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or _NONE,
        addresses.get("ExternalIP") or _NONE,
        info.get("osImage") or _UNKNOWN,
        _kernel(info),
        info.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _kernel(info: Mapping[str, Any]) -> str:
    version, architecture = info.get("kernelVersion"), info.get("architecture")
    if not version:
        return _UNKNOWN
    return f"{version} ({architecture})" if architecture else str(version)


def _roles(labels: Mapping[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    roles |= {value for key, value in labels.items() if key == "kubernetes.io/role" and value}
    return ",".join(sorted(role for role in roles if role)) or _NONE


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
        _name(obj),
    ]


def _pod(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    reason, restarts, ready = _pod_state(obj, spec, status)
    gates = spec.get("readinessGates") or []
    true = {c.get("type") for c in status.get("conditions") or () if c.get("status") == "True"}
    met = sum(gate.get("conditionType") in true for gate in gates)
    return [
        _name(obj),
        f"{ready}/{len(spec.get('containers') or ())}",
        reason,
        str(restarts),
        _age(obj),
        status.get("podIP") or _NONE,
        spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE,
        f"{met}/{len(gates)}" if gates else _NONE,
    ]


def _pod_state(obj: Object, spec: Object, status: Object) -> tuple[str, int, int]:
    """The word under STATUS, restarts, and containers that are ready (printPod)."""
    reason = status.get("reason") or status.get("phase") or ""
    if any(
        c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in status.get("conditions") or ()
    ):
        reason = "SchedulingGated"
    restarts = ready = 0
    running = False
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        restarts += container.get("restartCount", 0)
        state = container.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated and terminated.get("exitCode", 0) == 0:
            continue
        if terminated:
            reason = f"Init:{_ended(terminated)}"
        elif waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
            reason = f"Init:{waiting['reason']}"
        else:
            reason = f"Init:{index}/{len(spec.get('initContainers') or ())}"
        return _deleted(obj, status, reason), restarts, 0
    restarts = 0
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


def _ended(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _is_ready(status: Object) -> bool:
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or ())


def _deleted(obj: Object, status: Object, reason: str) -> str:
    if not obj["metadata"].get("deletionTimestamp"):
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Failed", "Succeeded") else "Terminating"


def _deployment(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        _name(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        str(status.get("updatedReplicas", 0)),
        str(status.get("availableReplicas", 0)),
        _age(obj),
        *_template_cells(obj),
        _selector(spec.get("selector")),
    ]


def _replica_set(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [_name(obj), *counts, _age(obj), *_template_cells(obj), _selector(spec.get("selector"))]


def _stateful_set(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [_name(obj), ready, _age(obj), *_template_cells(obj)]


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
        _name(obj),
        *[status.get(key, 0) for key in keys],
        _labels(node_selector),
        _age(obj),
        *_template_cells(obj),
        _selector(spec.get("selector")),
    ]


def _config_map(obj: Object) -> list[Any]:
    return [_name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), _age(obj)]


def _secret(obj: Object) -> list[Any]:
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or ()), _age(obj)]


def _lease(obj: Object) -> list[Any]:
    return [_name(obj), (obj.get("spec") or {}).get("holderIdentity") or "", _age(obj)]


def _priority_class(obj: Object) -> list[Any]:
    return [_name(obj), obj.get("value", 0), bool(obj.get("globalDefault")), _age(obj), obj.get("preemptionPolicy", "")]


def _named(obj: Object) -> list[Any]:
    return [_name(obj), _age(obj)]


def _claim(obj: Object) -> list[Any]:
    return [_name(obj), claim_state(obj), _age(obj)]


def claim_state(obj: Object) -> str:
    """resourceClaimPrinterColumns: what has happened to a claim, in words."""
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
    return [_name(obj), spec.get("nodeName") or "", spec.get("driver", ""), pool.get("name", ""), _age(obj)]


def _taint_rule(obj: Object) -> list[Any]:
    taint = (obj.get("spec") or {}).get("taint") or {}
    added = age(taint["timeAdded"]) if taint.get("timeAdded") else ""
    return [_name(obj), taint.get("key", ""), taint.get("value", ""), taint.get("effect", ""), added, _age(obj)]


def _service(obj: Object) -> list[Any]:
    spec = obj.get("spec") or {}
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP") or _NONE]
    external = ",".join(spec.get("externalIPs") or ())
    match kind := spec.get("type") or "ClusterIP":
        case "LoadBalancer":
            points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
            found = sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})
            external = ",".join([*found, *filter(None, [external])]) or "<pending>"
        case "ExternalName":
            external = spec.get("externalName", "")
    ports = [_port(port) for port in spec.get("ports") or ()]
    return [
        _name(obj),
        kind,
        addresses[0],
        external or _NONE,
        ",".join(ports) or _NONE,
        _age(obj),
        _labels(spec.get("selector")),
    ]


def _port(port: Object) -> str:
    outside = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{outside}/{port.get('protocol') or 'TCP'}"


def _scale(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [_name(obj), spec.get("replicas", 0), status.get("replicas", 0), _age(obj)]


_TEMPLATE = ("-Containers", "-Images", "-Selector")
# Column names: a leading "-" is for `-o wide` only, a trailing "#" marks an integer.
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
    ("apps", "deployments"): (("Name", "Ready", "Up-to-date", "Available", "Age", *_TEMPLATE), _deployment),
    ("apps", "replicasets"): (("Name", "Desired#", "Current#", "Ready#", "Age", *_TEMPLATE), _replica_set),
    ("apps", "statefulsets"): (("Name", "Ready", "Age", "-Containers", "-Images"), _stateful_set),
    ("apps", "daemonsets"): (
        (
            *("Name", "Desired#", "Current#", "Ready#", "Up-to-date#", "Available#", "Node Selector", "Age"),
            *_TEMPLATE,
        ),
        _daemon_set,
    ),
    ("", "services"): (
        ("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "-Selector"),
        _service,
    ),
    ("autoscaling", "scales"): (("Name", "Desired#", "Available#", "Age"), _scale),
    ("coordination.k8s.io", "leases"): (("Name", "Holder", "Age"), _lease),
    ("scheduling.k8s.io", "priorityclasses"): (
        ("Name", "Value#", "Global-Default", "Age", "PreemptionPolicy"),
        _priority_class,
    ),
    ("resource.k8s.io", "deviceclasses"): (("Name", "Age"), _named),
    ("resource.k8s.io", "resourceclaims"): (("Name", "State", "Age"), _claim),
    ("resource.k8s.io", "resourceclaimtemplates"): (("Name", "Age"), _named),
    ("resource.k8s.io", "resourceslices"): (("Name", "Node", "Driver", "Pool", "Age"), _slice),
    ("resource.k8s.io", "devicetaintrules"): (("Name", "Key", "Value", "Effect", "TimeAdded", "Age"), _taint_rule),
}
PRINTERS[("events.k8s.io", "events")] = PRINTERS[("", "events")]
