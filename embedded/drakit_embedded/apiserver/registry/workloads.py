"""Deployments, replica sets, stateful sets, daemon sets, jobs, cron jobs and pod templates.

After pkg/apis/apps/validation/validation.go of k8s.io/kubernetes, and strategy.go of each kind in
pkg/registry/{apps,batch}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_api.validation.errors import FieldError, invalid
from drakit_embedded.apiserver.registry import workload_rules
from drakit_embedded.apiserver.registry.selector_rules import in_order
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.statuses import FieldFault

Rules = Callable[[Object, str], Iterable[FieldError]]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
# The older name of each label comes first.
_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")
_CONTROLLER_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")


def _on_create(rules: Rules, obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return list(rules(obj.get("spec") or {}, "spec"))


def _on_update(rules: Rules, new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    faults: list[FieldFault] = list(rules(new["spec"], "spec"))
    wanted, stored = new["spec"].get("selector"), (old.get("spec") or {}).get("selector")
    if wanted != stored:
        faults.append(invalid("spec.selector", in_order(wanted) if wanted else wanted, "field is immutable"))
    return faults


def _on_free_update(rules: Rules, new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Validate an update of a kind that may select other pods than before."""
    return list(rules(new["spec"], "spec"))


def _start_daemon_set(obj: Object, cluster: Cluster) -> None:
    _count_templates(obj, _templates(obj) or 1)


def _update_daemon_set(new: Object, old: Object, cluster: Cluster) -> None:
    """Count changes of the template, whatever the client says (daemonSetStrategy.PrepareForUpdate)."""
    changed = new["spec"]["template"] != (old.get("spec") or {}).get("template")
    _count_templates(new, _templates(old) + changed)


def _templates(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "")
    return int(text) if text.isdecimal() else 0


def _count_templates(obj: Object, number: int) -> None:
    """Write a daemon set's internal field where apps/v1 has it (Convert_apps_DaemonSet_To_v1_DaemonSet)."""
    meta: ObjectMeta = obj["metadata"]
    meta["annotations"] = {**(meta.get("annotations") or {}), _TEMPLATE_GENERATION: str(number)}


def _default_stateful_set(obj: Object, cluster: Cluster) -> None:
    """Set kind and apiVersion of claim templates (Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec)."""
    for claim in obj["spec"].get("volumeClaimTemplates") or ():
        claim.update(apiVersion="v1", kind="PersistentVolumeClaim")


def _start_job(obj: Object, cluster: Cluster) -> None:
    """Select a job's pods by its UID, unless ``manualSelector`` is set (generateSelectorIfNeeded)."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec["manualSelector"]:
        return
    template = spec["template"]["metadata"]
    names, uids = dict.fromkeys(_JOB_NAME, meta["name"]), dict.fromkeys(_CONTROLLER_UID, meta["uid"])
    # Changed in place: they are the job's own as well, if it came without any.
    labels = template["labels"] = template.get("labels") or {}
    for name, value in {**names, **uids}.items():
        labels.setdefault(name, value)
    selector = spec["selector"] = spec.get("selector") or {}
    selector["matchLabels"] = {_CONTROLLER_UID[-1]: meta["uid"], **(selector.get("matchLabels") or {})}
    # A stored job is defaulted once more when it is read, and now its template has labels.
    meta["labels"] = meta.get("labels") or dict(labels)


def _strategy(rules: Rules, **options: Any) -> Strategy:
    options = {"validate_update": partial(_on_update, rules), **options}
    return Strategy(validate_create=partial(_on_create, rules), generation=True, **options)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "deployments"): _strategy(workload_rules.deployment, counted=("spec", "metadata.annotations")),
    ("apps", "replicasets"): _strategy(workload_rules.replica_set),
    ("", "replicationcontrollers"): _strategy(
        workload_rules.replication_controller,
        fields=("status.replicas",),
        field_zeros={"status.replicas": "0"},
        validate_update=partial(_on_free_update, workload_rules.replication_controller),
    ),
    ("apps", "statefulsets"): _strategy(workload_rules.stateful_set, default=_default_stateful_set),
    ("batch", "cronjobs"): Strategy(generation=True),
    ("batch", "jobs"): Strategy(
        fields=("status.successful",),
        field_zeros={"status.successful": "0"},
        prepare_create=_start_job,
        generation=True,
    ),
    ("", "podtemplates"): Strategy(returns_deleted=True, generation=True, counted=("template",)),
    ("apps", "daemonsets"): _strategy(
        workload_rules.daemon_set, prepare_create=_start_daemon_set, prepare_update=_update_daemon_set
    ),
}
