"""What makes the specs of deployments, replica sets, stateful sets and daemon sets valid.

After ValidateDeploymentSpec and ValidateReplicaSetSpec in k8s.io/kubernetes/pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from drakit_api.validation.errors import Errors, forbidden, invalid, not_supported, required
from drakit_api.validation.metadata import annotation_rules, label_rules
from drakit_embedded.apiserver.registry.podspec.pod_rules import annotation_errors, spec_errors
from drakit_embedded.apiserver.registry.selector_rules import in_order, label_selector
from drakit_embedded.apiserver.registry.strategy import Object
from drakit_embedded.label_selectors import matches

Amount = int | str

_PERCENT = re.compile(r"[0-9]+%")
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)
_NEGATIVE = "must be greater than or equal to 0"
_TYPES = ("Recreate", "RollingUpdate")


class _Words(NamedTuple):
    """How messages call a kind, in which they are not consistent; ``strict``: a selector must be given."""

    selecting: str
    ending: str
    strict: bool = True


def replica_set(spec: Object, path: str) -> Errors:
    """Counts, selector and template."""
    yield from _not_negative(spec, path, "replicas", "minReadySeconds")
    yield from _selector_and_template(spec, path, _Words("deployment", "ReplicaSet"))


def stateful_set(spec: Object, path: str) -> Errors:
    """The same, and claims for volumes."""
    yield from _not_negative(spec, path, "replicas", "minReadySeconds")
    yield from _selector_and_template(spec, path, _Words("statefulset", "StatefulSet"))


def daemon_set(spec: Object, path: str) -> Errors:
    """The same without counts; one that selects nothing lacks no selector, only pods."""
    yield from _selector_and_template(spec, path, _Words("daemonset", "DaemonSet", strict=False))
    yield from _not_negative(spec, path, "minReadySeconds", "revisionHistoryLimit")


def deployment(spec: Object, path: str) -> Errors:
    """A deployment's, with its defaults."""
    yield from _not_negative(spec, path, "replicas")
    yield from _selector_and_template(spec, path, _Words("deployment", "ReplicaSet"))
    yield from _strategy(spec.get("strategy") or {}, f"{path}.strategy")
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
    labels = (template.get("metadata") or {}).get("labels")
    if not matches(selector, labels or {}):
        shown = labels and dict(sorted(labels.items()))
        yield invalid(f"{path}.template.metadata.labels", shown, "`selector` does not match template `labels`")
    claimed = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    yield from _template(template, f"{path}.template", claimed, words)


def _template(template: Object, path: str, claimed: list[str], words: _Words) -> Errors:
    """ValidatePodTemplateSpec, and what its controllers cannot do."""
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


def _strategy(strategy: Object, path: str) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in _TYPES:
        shown = {"Type": kind, "RollingUpdate": rolling}  # the fields of the internal type
        yield not_supported(path, shown, _TYPES)
    elif kind == "RollingUpdate":
        yield from _rolling_update(rolling or {}, f"{path}.rollingUpdate")
    elif rolling is not None:
        yield forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")


def _rolling_update(rolling: Object, path: str) -> Errors:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from _amount(unavailable, f"{path}.maxUnavailable")
    yield from _amount(surge, f"{path}.maxSurge")
    if not _number(unavailable) and not _number(surge):
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    if isinstance(unavailable, str) and _number(unavailable) > 100:
        yield invalid(f"{path}.maxUnavailable", unavailable, "must not be greater than 100%")


def _amount(amount: Amount, path: str) -> Errors:
    if isinstance(amount, str):
        if not _PERCENT.fullmatch(amount):
            yield invalid(path, amount, _NO_PERCENT)
    elif amount < 0:
        yield invalid(path, amount, _NEGATIVE)


def _number(amount: Amount) -> int:
    """A number, or that of a percentage; 0 of what is neither."""
    if isinstance(amount, str):
        return int(amount.removesuffix("%")) if _PERCENT.fullmatch(amount) else 0
    return amount
