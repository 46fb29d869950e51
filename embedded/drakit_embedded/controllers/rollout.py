"""The arithmetic of a Deployment: how many pods may exist and be missing, and which replica set takes how many.

Follows k8s.io/kubernetes/pkg/controller/deployment/util/deployment_util.go. Pure functions over Deployments and
ReplicaSets, so that each rule can be tested without a cluster.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from drakit_api.kubernetes_objects import Object

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"

# Letters without vowels and digits that could read as words (k8s.io/apimachinery/pkg/util/rand).
_SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def replicas_of(obj: Object) -> int:
    """Read ``spec.replicas``, 1 if unset."""
    count: int = obj["spec"].get("replicas", 1)
    return count


def available_of(replica_set: Object) -> int:
    """Read ``status.availableReplicas``, 0 if unset."""
    count: int = (replica_set.get("status") or {}).get("availableReplicas", 0)
    return count


def is_rolling(deployment: Object) -> bool:
    """Check whether the strategy is RollingUpdate, which is the default."""
    return bool((deployment["spec"].get("strategy") or {}).get("type", "RollingUpdate") == "RollingUpdate")


def fenceposts(deployment: Object) -> tuple[int, int]:
    """Compute (max surge, max unavailable) in pods.

    Both are 0 without a rolling update; in one, which could then never move, only if no pod is wanted.
    """
    if not is_rolling(deployment):
        return 0, 0
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    desired = replicas_of(deployment)
    surge = _scaled(rolling.get("maxSurge", "25%"), desired, math.ceil)
    unavailable = _scaled(rolling.get("maxUnavailable", "25%"), desired, math.floor)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, desired)


def template_hash(template: Object) -> str:
    """Compute a label value that tells pod templates apart; stable across processes."""
    digest = hashlib.sha256(msgspec.json.encode(without_hash(template), order="deterministic")).digest()
    return "".join(_SAFE_LETTERS[byte % len(_SAFE_LETTERS)] for byte in digest[:10])


def without_hash(template: Object) -> Object:
    """Copy a template without the label that the controller adds, and without what is empty, for comparison.

    Clients written in Go send empty structs and nulls where others send nothing; ``kubectl rollout undo`` does.
    """
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    compared: Object = _without_empty({**template, "metadata": {**metadata, "labels": labels}})
    return compared


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        pruned = {key: _without_empty(entry) for key, entry in value.items()}
        return {key: entry for key, entry in pruned.items() if entry is not None and entry not in ({}, [])}
    if isinstance(value, list):
        return [_without_empty(entry) for entry in value]
    return value


def newest_set(deployment: Object, replica_sets: Iterable[Object]) -> Object | None:
    """Find the replica set with the deployment's own template; the oldest one if there are several."""
    wanted = without_hash(deployment["spec"]["template"])
    same = [candidate for candidate in replica_sets if without_hash(candidate["spec"]["template"]) == wanted]
    return min(same, key=age, default=None)


def age(obj: Object) -> tuple[str, str]:
    """Compute a key that sorts the oldest first."""
    return str(obj["metadata"].get("creationTimestamp", "")), obj["metadata"]["name"]


def revision_of(obj: Object) -> int:
    """Read the revision annotation as a number; 0 without one."""
    return annotated_number(obj, REVISION) or 0


def annotated_number(obj: Object, annotation: str) -> int | None:
    """Read a non-negative number from an annotation; None for anything else."""
    text = (obj["metadata"].get("annotations") or {}).get(annotation, "")
    return int(text) if text.isdecimal() else None


def new_set_size(deployment: Object, total: int, current: int) -> int:
    """Compute the size of the new replica set: all sets ask for ``total`` pods now, the new one for ``current``."""
    desired = replicas_of(deployment)
    if not is_rolling(deployment) or current >= desired:
        return desired
    room = desired + fenceposts(deployment)[0] - total
    return current + max(0, min(room, desired - current))


def scale_down(deployment: Object, old: Sequence[Object], new: Object) -> dict[str, int]:
    """Compute new sizes of old replica sets, by name: without unhealthy pods, then as small as availability allows.

    Those whose size stays are left out.
    """
    sizes = {candidate["metadata"]["name"]: replicas_of(candidate) for candidate in old}
    minimum = replicas_of(deployment) - fenceposts(deployment)[1]
    new_unavailable = replicas_of(new) - available_of(new)
    budget = sum(sizes.values()) + replicas_of(new) - minimum - new_unavailable
    if budget <= 0:
        return {}
    for candidate in sorted(old, key=age):
        name = candidate["metadata"]["name"]
        unhealthy = min(budget, sizes[name] - available_of(candidate))
        if unhealthy > 0:
            sizes[name] -= unhealthy
            budget -= unhealthy
    surplus = sum(available_of(candidate) for candidate in [*old, new]) - minimum
    for candidate in sorted(old, key=age):
        name = candidate["metadata"]["name"]
        taken = max(0, min(surplus, sizes[name]))
        sizes[name] -= taken
        surplus -= taken
    return {
        c["metadata"]["name"]: sizes[c["metadata"]["name"]]
        for c in old
        if replicas_of(c) != sizes[c["metadata"]["name"]]
    }


def proportional(deployment: Object, active: Sequence[Object]) -> dict[str, int]:
    """Scale the replica sets in the middle of a rollout, in proportion to their sizes; new sizes by name."""
    desired = replicas_of(deployment)
    allowed = desired + fenceposts(deployment)[0] if desired else 0
    change = allowed - sum(replicas_of(candidate) for candidate in active)
    # Of equally large sets the newer one grows first and the older one shrinks first.
    ordered = sorted(active, key=age, reverse=change > 0)
    ordered.sort(key=replicas_of, reverse=True)
    sizes = {candidate["metadata"]["name"]: replicas_of(candidate) for candidate in ordered}
    remaining = change
    for candidate in ordered:
        share = _share(deployment, candidate)
        share = min(share, remaining) if change > 0 else max(share, remaining)
        if remaining:
            sizes[candidate["metadata"]["name"]] += share
            remaining -= share
    if ordered:
        largest = ordered[0]["metadata"]["name"]
        sizes[largest] = max(0, sizes[largest] + remaining)
    return sizes


def _share(deployment: Object, replica_set: Object) -> int:
    size, desired = replicas_of(replica_set), replicas_of(deployment)
    if desired == 0:
        return -size
    before = annotated_number(replica_set, MAX_REPLICAS) or (deployment.get("status") or {}).get("replicas", 0)
    if not before:
        return 0
    return math.floor(size * (desired + fenceposts(deployment)[0]) / before + 0.5) - size


def _scaled(value: Any, total: int, rounded: Any) -> int:
    if isinstance(value, str):
        return int(rounded(int(value.removesuffix("%")) * total / 100))
    return int(value)
