"""What pods count for (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go, k8s.io/component-helpers/resource)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from drakit_api.core import pod_affinity
from drakit_api.core.containers import LASTING, containers_of
from drakit_api.core.pod_claims import is_terminal
from drakit_api.core.pod_resources import is_of_pods, needed
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_embedded.quota.amounts import ONE, Amounts, added, parsed
from drakit_embedded.quota.names import (
    COMPUTE,
    CPU_AND_MEMORY,
    REQUESTS,
    count_of,
    is_extended_in_pods,
    is_extended_in_quota,
    is_huge_pages,
    is_huge_pages_in_quota,
    with_sides,
)
from drakit_embedded.quota.scopes import Requirement, has_value

_COUNT = count_of("", "pods")
_NAMES = with_sides(COMPUTE) | {_COUNT, "pods"}


def matching(names: Iterable[str]) -> list[str]:
    """Select the names that pods count for."""
    return [name for name in names if name in _NAMES or is_huge_pages_in_quota(name) or is_extended_in_quota(name)]


def usage(pod: Object) -> Amounts:
    """Compute what one pod uses; once it has ended, only ``count/pods``."""
    used: Amounts = {_COUNT: ONE}
    if _has_ended(pod):
        return used
    spec = pod.get("spec") or {}
    return added(used, _compute(needed(spec, "requests", parsed), needed(spec, "limits", parsed)))


def _has_ended(pod: Object) -> bool:
    if is_terminal(pod):
        return True
    meta: ObjectMeta = pod["metadata"]
    deleted, grace = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    if not deleted or grace is None:
        return False
    return time.time() > gotime.seconds(deleted) + int(grace)


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    """List requests and limits under the names that quotas have for them."""
    used: Amounts = {"pods": ONE}
    for name in COMPUTE:
        if name in requests:
            used[name] = used[REQUESTS + name] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if is_huge_pages(name):
            used[name] = amount
        if is_huge_pages(name) or is_extended_in_pods(name):
            used[REQUESTS + name] = amount
    return used


def _of(container: Mapping[str, Any], side: str) -> Amounts:
    return parsed((container.get("resources") or {}).get(side))


def constraints(names: Iterable[str], pod: Object) -> str:
    """Say what a pod lacks that a quota on these names requires; empty if nothing."""
    spec = pod.get("spec") or {}
    if has_pod_level(spec):
        return ""
    missing: dict[str, set[str]] = {}
    required = CPU_AND_MEMORY & set(names)
    for container in containers_of(spec, LASTING):
        said = _compute(_of(container, "requests"), _of(container, "limits"))
        for name in required - said.keys():
            missing.setdefault(name, set()).add(container["name"])
    listed = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
    return f"must specify {listed}" if listed else ""


def has_pod_level(spec: Object) -> bool:
    """Check whether ``spec.resources`` has a request or limit of a resource that a pod as a whole can have."""
    resources = spec.get("resources") or {}
    names = [name for side in ("requests", "limits") for name in resources.get(side) or ()]
    return any(map(is_of_pods, names))


def in_scope(requirement: Requirement, pod: Object) -> bool:
    """Check whether a pod is in a scope of a quota."""
    spec = pod.get("spec") or {}
    match requirement.get("scopeName"):
        case "Terminating":
            return is_terminating(pod)
        case "NotTerminating":
            return not is_terminating(pod)
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return has_value(requirement, spec.get("priorityClassName"))
        case "CrossNamespacePodAffinity":
            return any(term.get("namespaces") or "namespaceSelector" in term for _, term in pod_affinity.terms(spec))
    return False


def is_terminating(pod: Object) -> bool:
    """Check whether the pod has a deadline (``activeDeadlineSeconds``); deletion does not count."""
    seconds = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return seconds is not None and int(seconds) >= 0


def _is_best_effort(pod: Object) -> bool:
    return (pod.get("status") or {}).get("qosClass") == "BestEffort"
