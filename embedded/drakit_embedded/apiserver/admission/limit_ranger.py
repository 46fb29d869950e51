"""LimitRanger: what containers, pods and claims for volumes ask for is within the limits of their namespace.

After k8s.io/kubernetes/plugin/pkg/admission/limitranger/admission.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from drakit_api.core.pod_resources import needed
from drakit_api.golang.goerrors import aggregated
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.quota.amounts import Amounts, parsed

_ANNOTATION = "kubernetes.io/limit-ranger"
_LISTS = (("containers", "container"), ("initContainers", "init container"))
# Reports what is wrong with requests and limits under a bound of one name.
Check = Callable[[str, str, Quantity, Amounts, Amounts], str]


def admit(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Set default requests and limits of containers."""
    pod = attributes.object
    if attributes.subresource or pod is None:
        return
    for limits in _limits(attributes, cluster):
        defaults: dict[str, Object] = {"requests": {}, "limits": {}}
        for item in limits:
            if item.get("type") == "Container":
                defaults["requests"] |= item.get("defaultRequest") or {}
                defaults["limits"] |= item.get("default") or {}
        if told := [text for text in _fill_in(pod["spec"], defaults) if text]:
            annotations = pod["metadata"].get("annotations") or {}
            pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: f"LimitRanger plugin set: {'; '.join(told)}"}


def _limits(attributes: Attributes, cluster: GuardedCluster) -> Iterator[list[Object]]:
    """Iterate over the LimitRanges of the namespace, as lists of their items."""
    for record in cluster.store.named("limitranges").select(attributes.namespace):
        yield (record.object().get("spec") or {}).get("limits") or []


def _fill_in(spec: Object, defaults: dict[str, Object]) -> Iterator[str]:
    """Set what is missing, and say what that was."""
    for field, shown in _LISTS:
        for container in spec.get(field) or ():
            resources = container["resources"] = container.get("resources") or {}
            for side, word in (("requests", "request"), ("limits", "limit")):
                given = resources.get(side) or {}
                added = {name: amount for name, amount in defaults[side].items() if name not in given}
                if added:
                    resources[side] = {**given, **added}
                    yield f"{', '.join(sorted(added))} {word} for {shown} {container.get('name', '')}"


def validate(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse an object beyond the limits with 403."""
    obj = attributes.object
    if attributes.subresource or obj is None or (attributes.old or {}).get("metadata", {}).get("deletionTimestamp"):
        return
    faults = _pod_faults if attributes.kind.plural == "pods" else _claim_faults
    for limits in _limits(attributes, cluster):
        if errors := [why for item in limits for why in faults(item, obj)]:
            raise attributes.refused(aggregated(errors))


def _pod_faults(item: Object, pod: Object) -> Iterator[str]:
    spec = pod["spec"]
    if item.get("type") == "Container":
        for field, _ in _LISTS:
            for container in spec.get(field) or ():
                resources = container.get("resources") or {}
                yield from _faults(item, parsed(resources.get("requests")), parsed(resources.get("limits")))
    elif item.get("type") == "Pod":
        yield from _faults(item, *(needed(spec, side, parsed, overhead=False) for side in ("requests", "limits")))


def _claim_faults(item: Object, claim: Object) -> Iterator[str]:
    if item.get("type") != "PersistentVolumeClaim":
        return
    requests = parsed(((claim.get("spec") or {}).get("resources") or {}).get("requests"))
    for field, check in (("min", _below), ("max", _beyond_request)):
        for name, bound in sorted(parsed(item.get(field)).items()):
            if why := check(item["type"], name, bound, requests, {}):
                yield why


def _faults(item: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    checks: tuple[tuple[str, Check], ...] = (("min", _below), ("max", _beyond), ("maxLimitRequestRatio", _apart))
    for field, check in checks:
        for name, bound in sorted(parsed(item.get(field)).items()):
            if why := check(item["type"], name, bound, requests, limits):
                yield why


def _below(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    rule = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{rule}.  No request is specified"
    if requests[name] < bound:
        return f"{rule}, but request is {requests[name]}"
    return f"{rule}, but limit is {limits[name]}" if name in limits and limits[name] < bound else ""


def _beyond(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    rule = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        return f"{rule}.  No limit is specified"
    if limits[name] > bound:
        return f"{rule}, but limit is {limits[name]}"
    return f"{rule}, but request is {requests[name]}" if name in requests and requests[name] > bound else ""


def _beyond_request(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    rule = f"maximum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{rule}.  No request is specified"
    return f"{rule}, but request is {requests[name]}" if requests[name] > bound else ""


def _apart(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    rule = f"{name} max limit to request ratio per {kind} is {bound}"
    for side, amounts in (("request", requests), ("limit", limits)):
        if name not in amounts or not amounts[name].nanos:
            return f"{rule}, but no {side} is specified or {side} is 0"
    ratio = limits[name].nanos / requests[name].nanos
    beyond = limits[name].nanos * Quantity.of(1).nanos > bound.nanos * requests[name].nanos
    return f"{rule}, but provided ratio is {ratio:f}" if beyond else ""
