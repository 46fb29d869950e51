"""Deployments, replica sets and daemon sets: defaults, validation of the pod template, and the scale subresource.

After k8s.io/kubernetes/pkg/apis/apps/{v1/defaults.go,validation/validation.go} and pkg/registry/apps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from drakit_embedded.apiserver.registry.pod_rules import spec_errors
from drakit_embedded.apiserver.registry.pods import default_spec
from drakit_embedded.apiserver.registry.strategies import Cluster, Object, Strategy
from drakit_embedded.apiserver.statuses import Cause, FieldFault

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


def _validate(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    spec = obj.get("spec") or {}
    selector, template = spec.get("selector") or {}, spec.get("template") or {}
    faults: list[FieldFault] = []
    if (spec.get("replicas") or 0) < 0:
        message = f"Invalid value: {spec['replicas']}: must be greater than or equal to 0"
        faults.append(Cause("FieldValueInvalid", "spec.replicas", message))
    labels = (template.get("metadata") or {}).get("labels") or {}
    if not spec.get("selector"):
        faults.append(Cause("FieldValueRequired", "spec.selector", "Required value"))
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        message = "Invalid value: {}: empty selector is invalid for deployment"
        faults.append(Cause("FieldValueInvalid", "spec.selector", message))
    elif not _selects(selector, labels):
        shown = msgspec.json.encode(labels, order="deterministic").decode()
        message = f"Invalid value: {shown}: `selector` does not match template `labels`"
        faults.append(Cause("FieldValueInvalid", "spec.template.metadata.labels", message))
    claimed = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    faults += spec_errors(template.get("spec") or {}, "spec.template.spec", claimed)
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy in ("OnFailure", "Never"):
        message = f'Unsupported value: "{policy}": supported values: "Always"'
        faults.append(Cause("FieldValueNotSupported", "spec.template.spec.restartPolicy", message))
    return faults


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """metav1.LabelSelectorAsSelector applied to one label map."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression_holds(expression, labels) for expression in selector.get("matchExpressions") or ())


def _expression_holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression.get("key"), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(str(key)) in values
        case "NotIn":
            return labels.get(str(key)) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    faults = list(_validate(new, cluster))
    wanted, stored = new["spec"].get("selector"), (old.get("spec") or {}).get("selector")
    if wanted != stored:
        shown = msgspec.json.encode(wanted, order="deterministic").decode()
        faults.append(Cause("FieldValueInvalid", "spec.selector", f"Invalid value: {shown}: field is immutable"))
    return faults


def _strategy(default: Any, start: Any) -> Strategy:
    return Strategy(
        default=default,
        prepare_create=start,
        validate_create=_validate,
        validate_update=_validate_update,
        generation=True,
    )


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "deployments"): _strategy(_default_deployment, _start_status),
    ("apps", "replicasets"): _strategy(_default_replica_set, _start_replica_set),
    ("apps", "statefulsets"): _strategy(_default_replica_set, _start_replica_set),
    ("apps", "daemonsets"): _strategy(_default_daemon_set, _start_daemon_set),
}
