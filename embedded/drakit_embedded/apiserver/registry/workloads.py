"""Deployments, replica sets, stateful sets and daemon sets: defaults, and what a new one's status is.

After k8s.io/kubernetes/pkg/apis/apps/{v1/defaults.go,validation/validation.go} and pkg/registry/apps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from drakit_api.validation.errors import FieldError, invalid
from drakit_embedded.apiserver.registry import workload_rules
from drakit_embedded.apiserver.registry.pods import default_spec
from drakit_embedded.apiserver.registry.selector_rules import in_order
from drakit_embedded.apiserver.registry.strategy import Cluster, Object, Strategy
from drakit_embedded.apiserver.statuses import FieldFault

Rules = Callable[[Object, str], Iterable[FieldError]]

_PROGRESS_SECONDS = 600
_REVISIONS = 10


def _default_template(obj: Object) -> Object:
    spec: Object = obj.setdefault("spec", {})
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    default_spec(template.setdefault("spec", {}))
    return spec


def _default_deployment(obj: Object, cluster: Cluster) -> None:
    spec = _default_template(obj)
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    spec.setdefault("progressDeadlineSeconds", _PROGRESS_SECONDS)


def _default_replica_set(obj: Object, cluster: Cluster) -> None:
    _default_template(obj).setdefault("replicas", 1)


def _default_daemon_set(obj: Object, cluster: Cluster) -> None:
    spec = _default_template(obj)
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)


def _start_status(obj: Object, cluster: Cluster) -> None:
    obj["status"] = {}


def _start_replica_set(obj: Object, cluster: Cluster) -> None:
    obj["status"] = {"replicas": 0}


def _start_daemon_set(obj: Object, cluster: Cluster) -> None:
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    obj["status"] = dict.fromkeys(counts, 0)


def _on_create(rules: Rules, obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return list(rules(obj.get("spec") or {}, "spec"))


def _on_update(rules: Rules, new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    faults: list[FieldFault] = list(rules(new["spec"], "spec"))
    wanted, stored = new["spec"].get("selector"), (old.get("spec") or {}).get("selector")
    if wanted != stored:
        faults.append(invalid("spec.selector", in_order(wanted) if wanted else wanted, "field is immutable"))
    return faults


def _strategy(default: Any, start: Any, rules: Rules, *, annotations_count: bool = False) -> Strategy:
    return Strategy(
        default=default,
        prepare_create=start,
        validate_create=partial(_on_create, rules),
        validate_update=partial(_on_update, rules),
        generation=True,
        annotations_count=annotations_count,
    )


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "deployments"): _strategy(
        _default_deployment, _start_status, workload_rules.deployment, annotations_count=True
    ),
    ("apps", "replicasets"): _strategy(_default_replica_set, _start_replica_set, workload_rules.replica_set),
    ("apps", "statefulsets"): _strategy(_default_replica_set, _start_replica_set, workload_rules.stateful_set),
    ("apps", "daemonsets"): _strategy(_default_daemon_set, _start_daemon_set, workload_rules.daemon_set),
}
