"""Pods: the defaults that clients rely on, and which status is whose. Validation: ``pod_rules``.

After k8s.io/kubernetes/pkg/apis/core/v1/defaults.go and pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from drakit_embedded.apiserver import metadata
from drakit_embedded.apiserver.registry import pod_defaults, pod_rules, pod_warnings
from drakit_embedded.apiserver.registry.pod_references import CONTAINERS as _CONTAINER_LISTS
from drakit_embedded.apiserver.registry.strategy import Cluster, Object, Strategy
from drakit_embedded.apiserver.statuses import FieldFault

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

_GRACE_SECONDS = 30
_PROTECTED_STATUS = ("qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus")


def default_spec(spec: Object) -> None:
    """SetDefaults_PodSpec and SetDefaults_Container; also for the templates of workloads."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", _GRACE_SECONDS)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if spec.get("serviceAccountName"):
        # The name's former spelling, which is kept the same.
        spec["serviceAccount"] = spec["serviceAccountName"]
    pod_defaults.default_volumes(spec)
    for container in containers(spec):
        _default_container(container)
        pod_defaults.default_probes(container)


def containers(spec: Object) -> Iterable[Object]:
    """All containers of a pod, of every sort."""
    for key in _CONTAINER_LISTS:
        yield from spec.get(key) or ()


def _default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        tag = (container.get("image") or "").rpartition("/")[2].partition(":")[2]
        container["imagePullPolicy"] = "Always" if tag in ("", "latest") and "@" not in tag else "IfNotPresent"
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference:
            reference.setdefault("apiVersion", "v1")


def _default(pod: Object, cluster: Cluster) -> None:
    _keep_addresses_alike(pod.get("status") or {})
    spec = pod.setdefault("spec", {})
    if spec is not None:
        default_spec(spec)
        for container in containers(spec):
            _request_limits(container["resources"] or {})
        spec.setdefault("enableServiceLinks", True)
        if spec["terminationGracePeriodSeconds"] < 0:
            spec["terminationGracePeriodSeconds"] = 1


def _request_limits(resources: Object) -> None:
    """SetDefaults_Pod: what is limited is requested; the templates of workloads stay as they are."""
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _keep_addresses_alike(status: Object) -> None:
    """The first of a pod's addresses stands in a field of its own, too (pkg/apis/core/v1/conversion.go)."""
    one, every = status.get("podIP"), status.get("podIPs")
    if one and (not every or every[0].get("ip") != one):
        # Older kubelets know the one only.
        status["podIPs"] = [{"ip": one}]
    elif every and not one:
        status["podIP"] = every[0].get("ip", "")


def _prepare_create(pod: Object, cluster: Cluster) -> None:
    spec = pod["spec"]
    _merge_label_keys(spec, pod["metadata"].get("labels") or {})
    status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            _condition("False", "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
        ]
    pod["status"] = status


def _condition(status: str, reason: str = "", message: str = "") -> Object:
    condition = {
        "type": "PodScheduled",
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": metadata.timestamp(),
        "reason": reason,
        "message": message,
    }
    return {key: value for key, value in condition.items() if value != ""}


def _merge_label_keys(spec: Object, labels: Object) -> None:
    """What ``matchLabelKeys`` and ``mismatchLabelKeys`` mean for this pod; schedulers read the selector alone."""
    affinity = spec.get("affinity") or {}
    terms = list(spec.get("topologySpreadConstraints") or ())
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms += rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [weighted.get("podAffinityTerm") or {} for weighted in preferred]
    for term in terms:
        if (selector := term.get("labelSelector")) is None:
            continue
        extra = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(field) or ()
            if key in labels
        ]
        if extra:
            selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *extra]


def qos_class(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort (pkg/apis/core/helper/qos/qos.go)."""
    guaranteed = True
    anything = False
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        compute = ("cpu", "memory")
        anything = anything or any(name in requests or name in limits for name in compute)
        if any(name not in limits or limits[name] != requests.get(name, limits[name]) for name in compute):
            guaranteed = False
    if not anything:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _validate(pod: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return list(pod_rules.spec_errors(pod.get("spec") or {}, "spec"))


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    wanted = new.get("spec") or {}
    return [*pod_rules.spec_errors(wanted, "spec"), *pod_rules.update_errors(wanted, old.get("spec") or {})]


def _prepare_status(new: Object, old: Object, cluster: Cluster) -> None:
    """The kubelet's writes keep owners, QoS class and the claims that were generated for the pod."""
    meta, was = new["metadata"], old["metadata"]
    for field in ("ownerReferences", "deletionTimestamp"):
        if field in was:
            meta[field] = was[field]
        else:
            meta.pop(field, None)
    status, before = new.setdefault("status", {}), old.get("status") or {}
    for field in _PROTECTED_STATUS:
        if field in before and status.get(field) is None:
            status[field] = before[field]
    _drop_health(status, before, cluster.gates)


def _drop_health(status: Object, before: Object, gates: FeatureGates) -> None:
    """Of devices, where the gates are off and the pod does not have it yet (pkg/api/pod/util.go)."""
    if not gates.enabled("ResourceHealthStatus") and not any(_allocated(before)):
        for container in _container_statuses(status):
            container.pop("allocatedResourcesStatus", None)
    if not gates.enabled("ResourceHealthStatusMessage") and not any("message" in each for each in _allocated(before)):
        for resource in _allocated(status):
            resource.pop("message", None)


def _container_statuses(status: Object) -> Iterable[Object]:
    for key in _CONTAINER_LISTS:
        yield from status.get(f"{key.removesuffix('s')}Statuses") or ()


def _allocated(status: Object) -> Iterable[Object]:
    """The devices of all containers, with their health."""
    for container in _container_statuses(status):
        for allocated in container.get("allocatedResourcesStatus") or ():
            yield from allocated.get("resources") or ()


def _grace(pod: Object, asked: int | None) -> int:
    """CheckGracefulDelete: only a pod that a kubelet runs needs time."""
    spec, phase = pod.get("spec") or {}, (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
        return 0
    seconds = asked if asked is not None else spec.get("terminationGracePeriodSeconds", 0)
    return seconds if seconds >= 0 else 1


def scheduled_condition() -> Object:
    """PodScheduled=True, which binding sets."""
    return _condition("True")


# k8s.io/kubernetes/pkg/apis/core/v1/conversion.go
_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_FIELD_NAMES = {
    **{path: path for path in ("metadata.name", "metadata.namespace", *_FIELDS)},
    # As the oldest clients call it; and one that may be asked for, but is never set.
    "spec.host": "spec.nodeName",
    "status.podIPs": "status.podIPs",
}
STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "pods"): Strategy(
        fields=_FIELDS,
        field_zeros={"spec.hostNetwork": "false"},
        field_names=_FIELD_NAMES,
        default=_default,
        prepare_create=_prepare_create,
        validate_create=_validate,
        validate_update=_validate_update,
        prepare_status=_prepare_status,
        warn_of_create=pod_warnings.on_create,
        generation=True,
        grace=_grace,
        returns_deleted=True,
    ),
}
