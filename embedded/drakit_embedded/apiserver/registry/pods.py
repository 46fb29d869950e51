"""Pods: the defaults that clients rely on, the rules for claims, and what may change once a pod exists.

After k8s.io/kubernetes/pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go,
pkg/registry/core/pod/strategy.go and the admission plugins that every cluster has (ServiceAccount,
DefaultTolerationSeconds, Priority).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drakit_embedded.apiserver import metadata
from drakit_embedded.apiserver.registry.strategies import Cluster, Object, Strategy
from drakit_embedded.apiserver.statuses import Cause, FieldFault, forbidden, quote

_UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300
_GRACE_SECONDS = 30
_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
# ValidatePodUpdate: all that may change in the spec of a pod.
_MUTABLE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_PROTECTED_STATUS = ("qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus")


def default_spec(spec: Object) -> None:
    """SetDefaults_PodSpec and SetDefaults_Container; also for the templates of workloads."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", _GRACE_SECONDS)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    for container in containers(spec):
        _default_container(container)


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
    resources = container["resources"] or {}
    limits, requests = resources.get("limits"), resources.get("requests")
    if limits:
        resources["requests"] = {**limits, **(requests or {})}


def _default(pod: Object, cluster: Cluster) -> None:
    spec = pod.setdefault("spec", {})
    if spec is not None:
        default_spec(spec)
        spec.setdefault("enableServiceLinks", True)


def _prepare_create(pod: Object, cluster: Cluster) -> None:
    spec = pod["spec"]
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = account
    _tolerate_unreachable(spec)
    _set_priority(pod, cluster)
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


def _tolerate_unreachable(spec: Object) -> None:
    """DefaultTolerationSeconds admission."""
    tolerations = spec.get("tolerations") or []
    for key in _UNREACHABLE:
        covered = any(
            toleration.get("key", "") in (key, "") and toleration.get("effect", "") in ("NoExecute", "")
            for toleration in tolerations
        )
        if not covered:
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations = [*tolerations, {**toleration, "tolerationSeconds": _TOLERATION_SECONDS}]
    spec["tolerations"] = tolerations


def _set_priority(pod: Object, cluster: Cluster) -> None:
    """Priority admission: the class gives the number."""
    spec, name = pod["spec"], pod["spec"].get("priorityClassName")
    found = cluster.find("priorityclasses.scheduling.k8s.io", "", name) if name else None
    if name and found is None:
        why = f"no PriorityClass with name {name} was found"
        raise forbidden("pods", "", pod["metadata"].get("name", ""), why)
    spec["priority"] = found["value"] if found else 0
    spec["preemptionPolicy"] = (found or {}).get("preemptionPolicy", "PreemptLowerPriority")


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
    return validate_spec(pod.get("spec") or {}, "spec")


def validate_spec(spec: Object, path: str) -> list[FieldFault]:
    """The parts of ValidatePodSpec that matter to a scheduler and to claims."""
    faults: list[FieldFault] = []
    if not spec.get("containers"):
        faults.append(Cause("FieldValueRequired", f"{path}.containers", "Required value"))
    names = _validate_claims(spec.get("resourceClaims") or [], f"{path}.resourceClaims", faults)
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or []):
            _validate_container(container, f"{path}.{key}[{index}]", seen, names, faults)
    policy = spec.get("restartPolicy")
    if policy not in ("Always", "OnFailure", "Never"):
        message = f'Unsupported value: {quote(policy or "")}: supported values: "Always", "OnFailure", "Never"'
        faults.append(Cause("FieldValueNotSupported", f"{path}.restartPolicy", message))
    if spec.get("nodeName") and (why := metadata.subdomain(spec["nodeName"])):
        faults.append(
            Cause("FieldValueInvalid", f"{path}.nodeName", f"Invalid value: {quote(spec['nodeName'])}: {why}")
        )
    faults += metadata.label_faults(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    return faults


def _validate_claims(claims: list[Object], path: str, faults: list[FieldFault]) -> set[str]:
    """validatePodResourceClaims; the result is the declared names."""
    names: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            faults.append(Cause("FieldValueRequired", f"{at}.name", "Required value"))
        elif name in names:
            faults.append(Cause("FieldValueDuplicate", f"{at}.name", f"Duplicate value: {quote(name)}"))
        elif why := metadata.dns_label(name):
            faults.append(Cause("FieldValueInvalid", f"{at}.name", f"Invalid value: {quote(name)}: {why}"))
        names.add(name)
        sources = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(key) is not None]
        shown = "{" + ", ".join(f"Name:{quote(name)}" for name in [name]) + "}"
        if len(sources) == 2:
            message = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            faults.append(Cause("FieldValueInvalid", at, f"Invalid value: {shown}: {message}"))
        elif not sources:
            message = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            faults.append(Cause("FieldValueRequired", at, f"Required value: {message}"))
        faults += [
            Cause("FieldValueInvalid", f"{at}.{key}", f"Invalid value: {quote(claim[key])}: {why}")
            for key in sources
            if (why := metadata.subdomain(claim[key]))
        ]
    return names


def _validate_container(
    container: Object, path: str, seen: set[str], claims: set[str], faults: list[FieldFault]
) -> None:
    name = container.get("name") or ""
    if not name:
        faults.append(Cause("FieldValueRequired", f"{path}.name", "Required value"))
    elif why := metadata.dns_label(name):
        faults.append(Cause("FieldValueInvalid", f"{path}.name", f"Invalid value: {quote(name)}: {why}"))
    elif name in seen:
        faults.append(Cause("FieldValueDuplicate", f"{path}.name", f"Duplicate value: {quote(name)}"))
    seen.add(name)
    if not container.get("image"):
        faults.append(Cause("FieldValueRequired", f"{path}.image", "Required value"))
    used: set[tuple[str, str]] = set()
    for index, reference in enumerate((container.get("resources") or {}).get("claims") or []):
        _validate_reference(reference, f"{path}.resources.claims[{index}]", used, claims, faults)


def _validate_reference(
    reference: Object, path: str, used: set[tuple[str, str]], claims: set[str], faults: list[FieldFault]
) -> None:
    """validateResourceClaimNames: a container may use a claim once as a whole, or single requests of it."""
    name, request = reference.get("name") or "", reference.get("request") or ""
    if not name:
        faults.append(Cause("FieldValueRequired", f"{path}.name", "Required value"))
        return
    shown = f"{name}/{request}" if request else name
    overlaps = (name, "") in used if request else any(other == name for other, _ in used)
    if overlaps or (name, request) in used:
        faults.append(Cause("FieldValueDuplicate", path, f"Duplicate value: {quote(shown)}"))
    used.add((name, request))
    if name not in claims:
        message = f"Not found: {quote(name)}"
        faults.append(Cause("FieldValueNotFound", f"{path}.name", message))


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Only images, deadlines, tolerations and gates of an existing pod may change."""
    wanted, stored = _frozen(new.get("spec") or {}), _frozen(old.get("spec") or {})
    if wanted == stored:
        return []
    message = (
        "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
    return [Cause("FieldValueForbidden", "spec", message)]


def _frozen(spec: Object) -> Object:
    kept = {key: value for key, value in spec.items() if key not in _MUTABLE}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [{**container, "image": None} for container in kept[key] or []]
    return kept


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


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "pods"): Strategy(
        fields=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ),
        default=_default,
        prepare_create=_prepare_create,
        validate_create=_validate,
        validate_update=_validate_update,
        prepare_status=_prepare_status,
        generation=True,
        grace=_grace,
        returns_deleted=True,
    ),
}
