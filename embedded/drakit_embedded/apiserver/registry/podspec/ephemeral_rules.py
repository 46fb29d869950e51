"""Containers that are added to a pod that runs, by its subresource ``ephemeralcontainers``.

After podEphemeralContainersStrategy in k8s.io/kubernetes/pkg/registry/core/pod/strategy.go and
ValidatePodEphemeralContainersUpdate in pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.equality import comparison
from drakit_api.validation.errors import Errors, forbidden
from drakit_embedded.apiserver.registry.podspec import mirror_pods
from drakit_embedded.apiserver.registry.podspec.pod_rules import pod_errors
from drakit_embedded.apiserver.registry.podspec.pod_update_rules import annotation_changes, difference
from drakit_embedded.apiserver.scheme import structures

_FIELD = "ephemeralContainers"
_PATH = f"spec.{_FIELD}"
# ResetObjectMetaForStatus of k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go
_METADATA = ("deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences")


def keep_all_else(new: Object, old: Object) -> None:
    """Restore all that is not an ephemeral container."""
    wanted = (new.get("spec") or {}).get(_FIELD)
    new["spec"] = {key: value for key, value in (old.get("spec") or {}).items() if key != _FIELD}
    if wanted:
        new["spec"][_FIELD] = wanted
    new["status"] = old.get("status") or {}
    for field in _METADATA:
        new["metadata"].pop(field, None)
        if field in old["metadata"]:
            new["metadata"][field] = old["metadata"][field]


def change_errors(new: Object, old: Object) -> Errors:
    """Check that containers were only added, and that these are valid."""
    if mirror_pods.ANNOTATION in (old["metadata"].get("annotations") or {}):
        yield forbidden("", "static pods do not support ephemeral containers")
        return
    yield from pod_errors(new)
    yield from annotation_changes(new, old)
    there = {container.get("name"): container for container in new["spec"].get(_FIELD) or ()}
    same = comparison(structures.others(), "core/v1.EphemeralContainer")
    for was in old["spec"].get(_FIELD) or ():
        shown = f"existing ephemeral containers {quote(was.get('name') or '')} may not be"
        found = there.get(was.get("name"))
        if found is None:
            yield forbidden(_PATH, f"{shown} removed\n")
        elif not same(found, was):
            yield forbidden(_PATH, f"{shown} changed\n{difference('EphemeralContainer', was, found)}")
