"""Moving from client-side apply: what kubectl wrote into an annotation counts as its own, for kubectl's own manager.

k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedmanager.go and lastappliedupdater.go.
"""

from __future__ import annotations

import json

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.managedfields import elements, fieldsets, shapes, typechecks
from drakit_embedded.apiserver.managedfields.comparisons import compare, of_configuration
from drakit_embedded.apiserver.managedfields.conflicts import Conflicts
from drakit_embedded.apiserver.scheme.kinds import Kind

# The only manager whose annotation counts.
MANAGER = "kubectl"
_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
# k8s.io/apimachinery/pkg/api/validation/objectmeta.go TotalAnnotationSizeLimitB
_MOST_ANNOTATIONS = 256 * 1024


def without_allowed(fought: Conflicts, live: Object, kind: Kind) -> Conflicts:
    """Remove conflicts about fields that client-side apply left as they are now."""
    last = _last_applied(live, kind)
    if last is None:
        return fought
    shape = shapes.plain(kind, kind.api_version)
    allowed = of_configuration(last, shape)
    for part in compare(last, live, shape):
        allowed = fieldsets.difference(allowed, part)
    left = {
        who: fieldsets.of(path for path in fieldsets.paths(fields) if not fieldsets.has(allowed, path))
        for who, fields in fought.items()
    }
    return {who: fields for who, fields in left.items() if fields}


def _last_applied(live: Object, kind: Kind) -> Object | None:
    text = (live["metadata"].get("annotations") or {}).get(_ANNOTATION)
    try:
        last = json.loads(text) if text else None
    except ValueError:
        return None
    if not isinstance(last, dict) or (last.get("apiVersion"), last.get("kind")) != (kind.api_version, kind.kind):
        return None
    return None if typechecks.faults(last, kind) else last


def renew(obj: Object, config: Object) -> None:
    """Write the annotation, where there is one, as kubectl would now; without it if annotations would be too large."""
    annotations = obj["metadata"].get("annotations") or {}
    if not annotations.get(_ANNOTATION):
        return
    annotations = {**annotations, _ANNOTATION: elements.json_text(_without(config)) + "\n"}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MOST_ANNOTATIONS:
        del annotations[_ANNOTATION]
    obj["metadata"]["annotations"] = annotations


def _without(config: Object) -> Object:
    """Copy a configuration without the annotation; it need not have any, nor metadata."""
    meta = config.get("metadata")
    if not meta or "annotations" not in meta:
        return config
    kept = {key: value for key, value in meta.items() if key != "annotations"}
    if meta["annotations"] is not None:
        kept["annotations"] = {key: value for key, value in meta["annotations"].items() if key != _ANNOTATION}
    return {**config, "metadata": kept}
