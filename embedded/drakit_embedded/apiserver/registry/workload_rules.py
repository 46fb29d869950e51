"""What makes the specs of deployments, replica sets, stateful sets, daemon sets and replication controllers valid.

After ValidateDeploymentSpec, ValidateDaemonSetSpec, ValidateReplicaSetSpec and ValidateStatefulSetSpec in
k8s.io/kubernetes/pkg/apis/apps/validation/validation.go, and ValidateReplicationControllerSpec in pkg/apis/core.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from drakit_api.core.label_selectors import selects
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, forbidden, invalid, not_supported, required
from drakit_api.validation.metadata import annotation_rules, label_rules
from drakit_embedded.apiserver.registry.podspec.pod_rules import annotation_errors, spec_errors
from drakit_embedded.apiserver.registry.selector_rules import in_order, label_selector

Amount = int | str

_PERCENT = re.compile(r"[0-9]+%")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)
_NEGATIVE = "must be greater than or equal to 0"
_SET_BY_CONTROLLER = ("hostname", "subdomain")
_TYPES = ("Recreate", "RollingUpdate")
_DAEMON_SET_TYPES = ("RollingUpdate", "OnDelete")


class _Words(NamedTuple):
    """How messages call a kind, which is not consistent upstream; ``strict``: a selector is required."""

    selecting: str
    ending: str
    strict: bool = True


def replica_set(spec: Object, path: str) -> Errors:
    """Validate the spec of a ReplicaSet."""
    yield from _not_negative(spec, path, "replicas", "minReadySeconds")
    yield from _selector_and_template(spec, path, _Words("deployment", "ReplicaSet"))


def replication_controller(spec: Object, path: str) -> Errors:
    """Validate the spec of a ReplicationController, which selects by labels."""
    yield from _not_negative(spec, path, "minReadySeconds")
    selector, template = spec.get("selector"), spec.get("template")
    if not selector:
        yield required(f"{path}.selector")
    yield from _not_negative(spec, path, "replicas")
    if template is None:
        yield required(f"{path}.template")
        return
    yield from _matching(template, {"matchLabels": selector or {}}, f"{path}.template")
    yield from _template(template, f"{path}.template", [], _Words("", "ReplicationController"))


def stateful_set(spec: Object, path: str) -> Errors:
    """Validate the spec of a StatefulSet; host name and subdomain of its pods are set by the controller."""
    yield from _not_negative(spec, path, "replicas", "minReadySeconds")
    template = spec.get("template") or {}
    pod = {key: value for key, value in (template.get("spec") or {}).items() if key not in _SET_BY_CONTROLLER}
    spec = {**spec, "template": {**template, "spec": pod}}
    yield from _selector_and_template(spec, path, _Words("statefulset", "StatefulSet"))


def daemon_set(spec: Object, path: str) -> Errors:
    """Validate the spec of a DaemonSet; a missing selector is refused only as not matching the template."""
    yield from _selector_and_template(spec, path, _Words("daemonset", "DaemonSet", strict=False))
    yield from _not_negative(spec, path, "minReadySeconds")
    strategy = spec.get("updateStrategy") or {}
    yield from _strategy(strategy, f"{path}.updateStrategy", _DAEMON_SET_TYPES, _daemon_set_rolling_update)
    yield from _not_negative(spec, path, "revisionHistoryLimit")


def deployment(spec: Object, path: str) -> Errors:
    """Validate the spec of a Deployment, with its defaults."""
    yield from _not_negative(spec, path, "replicas")
    yield from _selector_and_template(spec, path, _Words("deployment", "ReplicaSet"))
    yield from _deployment_strategy(spec.get("strategy") or {}, f"{path}.strategy")
    yield from _not_negative(spec, path, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        yield invalid(f"{path}.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _not_negative(spec: Object, path: str, *fields: str) -> Errors:
    for field in fields:
        if (spec.get(field) or 0) < 0:
            yield invalid(f"{path}.{field}", spec[field], _NEGATIVE)


def _selector_and_template(spec: Object, path: str, words: _Words) -> Errors:
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        if words.strict:
            yield required(f"{path}.selector")
    elif wrong := list(label_selector(selector, f"{path}.selector")):
        yield from wrong
        yield invalid(f"{path}.selector", in_order(selector), "invalid label selector")
        return
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid(f"{path}.selector", selector, f"empty selector is invalid for {words.selecting}")
    yield from _matching(template, selector, f"{path}.template")
    claimed = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    yield from _template(template, f"{path}.template", claimed, words)


def _matching(template: Object, selector: Object | None, path: str) -> Errors:
    labels = (template.get("metadata") or {}).get("labels")
    if not selects(selector, labels or {}):
        shown = labels and dict(sorted(labels.items()))
        yield invalid(f"{path}.metadata.labels", shown, "`selector` does not match template `labels`")


def _template(template: Object, path: str, claimed: list[str], words: _Words) -> Errors:
    """Validate a pod template (ValidatePodTemplateSpec), and refuse what its controllers cannot do."""
    meta, pod = template.get("metadata") or {}, template.get("spec") or {}
    yield from label_rules(meta, path)
    yield from annotation_rules(meta, path)
    yield from annotation_errors(template, f"{path}.annotations")
    yield from spec_errors(pod, f"{path}.spec", claimed)
    if pod.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")
    if (policy := pod.get("restartPolicy")) in ("OnFailure", "Never"):
        yield not_supported(f"{path}.spec.restartPolicy", policy, ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {words.ending} is not Supported"
        yield forbidden(f"{path}.spec.activeDeadlineSeconds", detail)


def _deployment_strategy(strategy: Object, path: str) -> Errors:
    yield from _strategy(strategy, path, _TYPES, _rolling_update)
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        yield forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")


def _strategy(
    strategy: Object, path: str, types: tuple[str, ...], rolling_update: Callable[[Object, str], Errors]
) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in types:
        yield not_supported(path, _shown(kind, rolling), types)
    elif kind == "RollingUpdate":
        yield from rolling_update(rolling or {}, f"{path}.rollingUpdate")


def _shown(kind: str | None, rolling: Object | None) -> Object:
    """Rename the fields of a strategy as in Kubernetes' internal types, for messages."""
    if rolling is not None:
        rolling = {"MaxUnavailable": rolling.get("maxUnavailable", 0), "MaxSurge": rolling.get("maxSurge", 0)}
    return {"Type": kind, "RollingUpdate": rolling}


def _daemon_set_rolling_update(rolling: Object, path: str) -> Errors:
    """Check that exactly one of ``maxUnavailable`` and ``maxSurge`` is above zero."""
    amounts = {f"{path}.{field}": rolling.get(field, 0) for field in ("maxUnavailable", "maxSurge")}
    for place, amount in amounts.items():
        yield from _amount(amount, place)
    for place, amount in amounts.items():
        yield from _at_most_all(amount, place)
    unavailable, surge = (_number(amount) for amount in amounts.values())
    if unavailable and surge:
        yield invalid(f"{path}.maxSurge", rolling["maxSurge"], "may not be set when maxUnavailable is non-zero")
    elif not unavailable and not surge:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _rolling_update(rolling: Object, path: str) -> Errors:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from _amount(unavailable, f"{path}.maxUnavailable")
    yield from _amount(surge, f"{path}.maxSurge")
    if not _number(unavailable) and not _number(surge):
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from _at_most_all(unavailable, f"{path}.maxUnavailable")


def _at_most_all(amount: Amount, path: str) -> Errors:
    if isinstance(amount, str) and _number(amount) > 100:
        yield invalid(path, amount, "must not be greater than 100%")


def _amount(amount: Amount, path: str) -> Errors:
    if isinstance(amount, str):
        if not _PERCENT.fullmatch(amount):
            yield invalid(path, amount, _NO_PERCENT)
    elif amount < 0:
        yield invalid(path, amount, _NEGATIVE)


def _number(amount: Amount) -> int:
    """Convert an amount to its number, a percentage to its number of percent, other texts to 0."""
    if isinstance(amount, str):
        number = amount.removesuffix("%") if _PERCENT.fullmatch(amount) else amount
        return int(number) if _NUMBER.fullmatch(number) else 0
    return amount
