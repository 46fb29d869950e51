"""Pods: the defaults that clients rely on, and which status is whose.

Validation: ``pod_rules``, ``pod_update_rules`` and ``pod_status_rules``.

After k8s.io/kubernetes/pkg/apis/core/v1/defaults.go and pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from drakit_api.core import pod_affinity
from drakit_api.core.containers import LASTING, containers_of
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import FieldError, in_order
from drakit_embedded.apiserver.registry.defaulting.by_hand import round_up
from drakit_embedded.apiserver.registry.defaulting.structs import set_defaults
from drakit_embedded.apiserver.registry.podspec import (
    ephemeral_rules,
    pod_defaults,
    pod_quality,
    pod_rules,
    pod_status_rules,
    pod_update_rules,
    pod_warnings,
)
from drakit_embedded.apiserver.registry.podspec.image_names import pull_policy
from drakit_embedded.apiserver.registry.podspec.pod_status_rules import CLAIM_FIELDS, CONTAINER_STATUSES
from drakit_embedded.apiserver.registry.strategy import Cluster, Part, Strategy
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.statuses import FieldFault

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

_GRACE_SECONDS = 30
# Times are shown even if null, as the Go type does not omit them.
_CONDITION_TIMES = ("lastProbeTime", "lastTransitionTime")
# Status fields that a write cannot remove by leaving them out.
_KEPT_STATUS = ("qosClass", "observedGeneration", *CLAIM_FIELDS)


def default_spec(spec: Object, gates: FeatureGates) -> None:
    """Set the defaults of SetDefaults_PodSpec and SetDefaults_Container; those of volumes come from a table."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", _GRACE_SECONDS)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        # ``serviceAccount``, the field's former name, has the same value.
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        set_defaults(volume, "core/v1.Volume", gates)
    for amounts in (spec.get("overhead"), *(spec.get("resources") or {}).values()):
        if isinstance(amounts, dict):
            round_up(amounts)
    for container in containers_of(spec):
        _default_container(container)
        pod_defaults.default_probes(container)


def _default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    for amounts in container.setdefault("resources", {}).values():
        if isinstance(amounts, dict):
            round_up(amounts)
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if source.get("fieldRef") is not None:
            source["fieldRef"].setdefault("apiVersion", "v1")
        if source.get("resourceFieldRef") is not None:
            source["resourceFieldRef"].setdefault("divisor", "0")
        if source.get("fileKeyRef") is not None:
            source["fileKeyRef"].setdefault("optional", False)


def _default(pod: Object, cluster: Cluster) -> None:
    status = pod.get("status") or {}
    _keep_addresses_alike(status)
    for condition in status.get("conditions") or ():
        for time in _CONDITION_TIMES:
            condition.setdefault(time, None)
    spec = pod.setdefault("spec", {})
    if spec is not None:
        default_spec(spec, cluster.gates)
        for container in containers_of(spec):
            _request_limits(container["resources"] or {})
        spec.setdefault("enableServiceLinks", True)
        if spec.get("hostNetwork"):
            _open_host_ports(spec)
        if spec["terminationGracePeriodSeconds"] < 0:
            spec["terminationGracePeriodSeconds"] = 1


def _request_limits(resources: Object) -> None:
    """Default requests to limits (SetDefaults_Pod), in pods but not in the templates of workloads."""
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _open_host_ports(spec: Object) -> None:
    """Default ``hostPort`` to ``containerPort``, for pods on the host's network (defaultHostNetworkPorts)."""
    for container in containers_of(spec, LASTING):
        for port in container.get("ports") or ():
            port["hostPort"] = port.get("hostPort") or port.get("containerPort", 0)


def _keep_addresses_alike(status: Object) -> None:
    """Set ``podIP`` to the first of ``podIPs``, or the other way round (pkg/apis/core/v1/conversion.go)."""
    one, every = status.get("podIP"), status.get("podIPs")
    if one and (not every or every[0].get("ip") != one):
        # Older kubelets set ``podIP`` only.
        status["podIPs"] = [{"ip": one}]
    elif every and not one:
        status["podIP"] = every[0].get("ip", "")


def _prepare_create(pod: Object, cluster: Cluster) -> None:
    spec = pod["spec"]
    _merge_label_keys(spec, pod["metadata"].get("labels") or {})
    pod_quality.complete(spec)
    status: Object = {"phase": "Pending", "qosClass": pod_quality.qos_class(spec)}
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
    """Merge ``matchLabelKeys`` and ``mismatchLabelKeys`` into the label selectors: schedulers read only these."""
    of_pods = (term for _, term in pod_affinity.terms(spec))
    for term in (*(spec.get("topologySpreadConstraints") or ()), *of_pods):
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


def _validate(pod: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return _once(pod_rules.create_errors(pod))


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return _once(pod_update_rules.update_errors(new, old))


def _validate_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return _once(pod_status_rules.status_errors(new, old))


def _prepare_ephemeral(new: Object, old: Object, cluster: Cluster) -> None:
    ephemeral_rules.keep_all_else(new, old)


def _validate_ephemeral(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return _once(ephemeral_rules.change_errors(new, old))


def _once(errors: Iterable[FieldError]) -> Sequence[FieldFault]:
    """Sort the errors and drop repeated ones, as for all kinds with declarative validation."""
    return in_order(errors, ())


def _prepare_update(new: Object, old: Object, cluster: Cluster) -> None:
    """Keep pod-level resources that clients leave out because they do not know them."""
    wanted, resources = new.get("spec") or {}, (old.get("spec") or {}).get("resources")
    if resources is not None and wanted.get("resources") is None:
        wanted["resources"] = resources


def _prepare_status(new: Object, old: Object, cluster: Cluster) -> None:
    """Keep owners and what kubelets do not know in their status writes (podStatusStrategy.PrepareForUpdate)."""
    meta, was = new["metadata"], old["metadata"]
    for field in ("ownerReferences", "deletionTimestamp"):
        if field in was:
            meta[field] = was[field]
        else:
            meta.pop(field, None)
    status, before = new.setdefault("status", {}), old.get("status") or {}
    for field in _KEPT_STATUS:
        if field in before and status.get(field) is None:
            status[field] = before[field]
        elif status.get(field) == []:
            # An empty list removes them.
            del status[field]
    _keep_generations(status.get("conditions") or [], before.get("conditions") or [])
    _drop_disabled(status, before, cluster.gates)


def _keep_generations(conditions: Sequence[Object], before: Sequence[Object]) -> None:
    """Keep ``observedGeneration`` of conditions, of which several may have one type (preserveOldObservedGeneration)."""
    known: dict[str, list[int]] = {}
    for condition in before:
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in conditions:
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _drop_disabled(status: Object, before: Object, gates: FeatureGates) -> None:
    """Drop fields of disabled feature gates, unless the pod has them already (pkg/api/pod/util.go)."""
    field = "nodeAllocatableResourceClaimStatuses"
    if not gates.enabled("DRANodeAllocatableResources") and not before.get(field):
        status.pop(field, None)
    _drop_health(status, before, gates)


def _drop_health(status: Object, before: Object, gates: FeatureGates) -> None:
    """Drop the health of devices if its gate is off and the pod does not have it already."""
    if not gates.enabled("ResourceHealthStatus") and not any(_allocated(before)):
        for container in _container_statuses(status):
            container.pop("allocatedResourcesStatus", None)
    if not gates.enabled("ResourceHealthStatusMessage") and not any("message" in each for each in _allocated(before)):
        for resource in _allocated(status):
            resource.pop("message", None)


def _container_statuses(status: Object) -> Iterable[Object]:
    for field in CONTAINER_STATUSES.values():
        yield from status.get(field) or ()


def _allocated(status: Object) -> Iterable[Object]:
    """Iterate over the devices of all containers, with their health."""
    for container in _container_statuses(status):
        for allocated in container.get("allocatedResourcesStatus") or ():
            yield from allocated.get("resources") or ()


def _grace(pod: Object, asked: int | None) -> int:
    """Compute the grace period: only a pod that a kubelet runs needs one (CheckGracefulDelete)."""
    spec, phase = pod.get("spec") or {}, (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
        return 0
    seconds = asked if asked is not None else spec.get("terminationGracePeriodSeconds", 0)
    return seconds if seconds >= 0 else 1


def scheduled_condition() -> Object:
    """Build the condition PodScheduled=True, which binding sets."""
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
        prepare_update=_prepare_update,
        validate_update=_validate_update,
        prepare_status=_prepare_status,
        validate_status=_validate_status,
        parts={"ephemeralcontainers": Part(_prepare_ephemeral, _validate_ephemeral)},
        warn_of_create=pod_warnings.on_create,
        generation=True,
        grace=_grace,
        returns_deleted=True,
    ),
}
