"""What may change in a pod that exists.

After ValidatePodUpdate and ValidatePodSpecificAnnotationUpdates in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import difflib

import msgspec

from drakit_api.core.containers import placed_containers
from drakit_api.core.pod_affinity import REQUIRED
from drakit_api.golang.gostrings import to_json
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.equality import comparison
from drakit_api.validation.errors import Errors, forbidden, invalid, required
from drakit_embedded.apiserver.registry.podspec import mirror_pods
from drakit_embedded.apiserver.registry.podspec.containers.container_rules import blank_image
from drakit_embedded.apiserver.registry.podspec.internal_form import internal
from drakit_embedded.apiserver.registry.podspec.pod_rules import annotation_errors, pod_errors
from drakit_embedded.apiserver.scheme import structures

_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_NODE_TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
_LONGEST_DEADLINE = 2**31 - 1
_IMMUTABLE_SPEC = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def update_errors(new: Object, old: Object) -> Errors:
    """Validate a changed pod, but for the metadata that all kinds have; both with their defaults."""
    yield from pod_errors(new)
    yield from annotation_changes(new, old)
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    for sort in ("containers", "initContainers"):
        if len(spec.get(sort) or []) != len(was.get(sort) or []):
            yield forbidden(f"spec.{sort}", "pod updates may not add or remove containers")
            return
        yield from _images(spec, sort)
    deadline = list(_deadline(spec.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds")))
    yield from deadline
    if deadline and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _tolerations(spec.get("tolerations") or [], was.get("tolerations") or [])
    yield from _gates(spec.get("schedulingGates") or [], was.get("schedulingGates") or [])
    if spec != was:
        yield from _rest(spec, was)


def annotation_changes(new: Object, old: Object) -> Errors:
    """Validate changes of annotations; for writes of the status, too."""
    path = "metadata.annotations"
    wanted, was = (pod["metadata"].get("annotations") or {} for pod in (new, old))
    if wanted != was:
        for key in was:
            if wanted.get(key) != was[key]:
                yield from _protected(key, path, "remove or update")
        for key in wanted.keys() - was.keys():
            yield from _protected(key, path, "add")
    yield from annotation_errors(new, path)


def _protected(key: str, path: str, what: str) -> Errors:
    if key.startswith(_APP_ARMOR):
        yield forbidden(f"{path}[{key}]", f"may not {what} AppArmor annotations")
    if key == mirror_pods.ANNOTATION:
        yield forbidden(f"{path}[{key}]", f"may not {what} mirror pod annotation")


def _images(spec: Object, sort: str) -> Errors:
    for path, container in placed_containers(spec, "spec", (sort,)):
        image = container.get("image") or ""
        if not image:
            yield required(f"{path}.image")
        yield from blank_image(image, f"{path}.image")


def _deadline(seconds: int | None, was: int | None) -> Errors:
    """Check that a deadline is only added or shortened."""
    path = "spec.activeDeadlineSeconds"
    if seconds is None:
        if was is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= seconds <= _LONGEST_DEADLINE:
        yield invalid(path, seconds, f"must be between 0 and {_LONGEST_DEADLINE}, inclusive")
    elif was is not None and was < seconds:
        yield invalid(path, seconds, "must be less than or equal to previous value")


def _tolerations(tolerations: list[Object], was: list[Object]) -> Errors:
    """Check that old tolerations remain, maybe with another ``tolerationSeconds`` (validateOnlyAddedTolerations)."""
    if tolerations == was:
        return
    path = "spec.tolerations"
    known = [_without_seconds(toleration) for toleration in tolerations]
    if any(_without_seconds(toleration) not in known for toleration in was):
        yield forbidden(path, "existing toleration can not be modified except its tolerationSeconds")


def _without_seconds(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value}


def _gates(gates: list[Object], was: list[Object]) -> Errors:
    known = {gate.get("name") for gate in was}
    for index, gate in enumerate(gates):
        if gate.get("name") not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name') or ''}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", detail)


def _rest(new: Object, old: Object) -> Errors:
    """Check that all else in the spec is as it was."""
    munged = {**new}
    for sort in ("containers", "initContainers"):
        if munged.get(sort):
            pairs = zip(munged[sort], old[sort], strict=True)
            munged[sort] = [{**container, "image": was.get("image")} for container, was in pairs]
    kept = ["activeDeadlineSeconds", "schedulingGates", "tolerations"]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        kept.append("terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        yield from _node_selector(new.get("nodeSelector") or {}, old.get("nodeSelector") or {})
        yield from _node_affinity(new, old)
        kept.append("nodeSelector")
        munged["affinity"] = _with_old_nodes(new.get("affinity"), old.get("affinity"))
    for field in kept:
        munged[field] = old.get(field)
    if not comparison(structures.others(), "core/v1.PodSpec")(munged, old):
        yield forbidden("spec", f"{_IMMUTABLE_SPEC}\n{difference('PodSpec', old, munged)}")


def _node_selector(selector: Object, was: Object) -> Errors:
    if any(selector.get(key) != value for key, value in was.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", dict(sorted(selector.items())) or None, detail)


def _node_affinity(new: Object, old: Object) -> Errors:
    """Check that node affinity only becomes narrower (validateNodeAffinityMutation)."""
    terms, was = _node_terms(new), _node_terms(old)
    if was and len(was) != len(terms):
        shown = [internal("NodeSelectorTerm", term) for term in terms] or None
        yield invalid(_NODE_TERMS, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, before in enumerate(was):
        if not _only_adds(terms[index], before):
            shown = internal("NodeSelectorTerm", terms[index])
            yield invalid(f"{_NODE_TERMS}[{index}]", shown, "only additions are allowed (no mutations or deletions)")


def _node_terms(spec: Object) -> list[Object]:
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return (nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or []


def _only_adds(term: Object, was: Object) -> bool:
    """Check that a term only gains requirements; one without any matches nothing and has to stay so."""
    parts = ("matchExpressions", "matchFields")
    if not any(was.get(part) for part in parts):
        return not any(term.get(part) for part in parts)
    before = {part: (term.get(part) or [])[: len(was.get(part) or [])] for part in parts}
    return comparison(structures.others(), "core/v1.NodeSelectorTerm")(before, was)


def _with_old_nodes(affinity: Object | None, was: Object | None) -> Object | None:
    """Copy an affinity with the node affinity of ``was``; None if nothing else is left in it."""
    nodes = (was or {}).get("nodeAffinity")
    if affinity is None:
        return None if nodes is None else {"nodeAffinity": nodes}
    if was is None and not affinity.get("podAffinity") and not affinity.get("podAntiAffinity"):
        return None
    return {**affinity, "nodeAffinity": nodes}


def difference(kind: str, old: Object, new: Object) -> str:
    """Print a unified diff of two values of an internal type (k8s.io/apimachinery/pkg/util/diff)."""
    before, after = (_lines(internal(kind, value)) for value in (old, new))
    # Leave out the two lines with file names.
    return "".join(list(difflib.unified_diff(before, after))[2:])


def _lines(value: Object) -> list[str]:
    return [f"{line}\n" for line in msgspec.json.format(to_json(value), indent=1).split("\n")]
