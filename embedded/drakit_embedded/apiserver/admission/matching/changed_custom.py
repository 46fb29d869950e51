"""What webhooks and policies have made of a custom resource, which has no Go type that refuses what is none.

Upstream takes whatever is a JSON object of the right group. That its metadata cannot be read is found later, by those
who check it: k8s.io/apiextensions-apiserver pkg/registry/customresource/validator.go (getObjectMeta) and
pkg/apiserver/conversion/converter.go (ConvertToVersion), and k8s.io/apiserver pkg/registry/rest/create.go.
"""

from __future__ import annotations

from typing import Any

from drakit_api.golang.gostrings import as_marshaled, quote
from drakit_api.kubernetes_objects import Object
from drakit_api.structural import embedded
from drakit_api.validation.errors import invalid
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.scheme.kinds import GroupVersionKind, Kind
from drakit_embedded.apiserver.statuses import StatusError

# What the server sets itself, whatever was said of it; all of metadata is set where only the status is written.
_SET = ("creationTimestamp", "generation")
_OF_STATUS = ("resourceVersion", "managedFields")


def checked(made: Object, attributes: Attributes, kind: Kind) -> Object:
    """Return a custom resource with metadata that can be read.

    Raises:
        StatusError: 500 for a group that is another, 422 for malformed metadata.
    """
    _check_version(made, kind)
    meta = made.get("metadata")
    if "metadata" in made and not isinstance(meta, dict):
        if attributes.operation == "CREATE":
            raise statuses.internal("system metadata was not initialized")
        meta = None
    return {**made, "metadata": _readable(meta or {}, made, attributes)}


def _check_version(made: Object, kind: Kind) -> None:
    group, _, version = (made.get("apiVersion") or "").rpartition("/")
    found = GroupVersionKind(group, version, made["kind"])
    if group != kind.group:
        what = f"{group}/{version}, Kind={found.kind} is unstructured"
        raise StatusError(500, "", f"{what} and is not suitable for converting to {quote(kind.api_version)}")
    assert kind.definition is not None
    if version not in kind.definition.versions:
        raise StatusError(500, "", f"request to convert CR from an invalid group/version: {group}/{version}")


def _readable(meta: Object, made: Object, attributes: Attributes) -> Object:
    old = attributes.old["metadata"] if attributes.old is not None else None
    if old is not None and attributes.subresource == "status":
        return {**old, **_said(meta)}
    filled = _filled(meta, old)
    why = embedded.unrestorable(filled)
    if why:
        group, name = attributes.kind.group, meta.get("name")
        fault = invalid("metadata", as_marshaled(filled), why)
        raise statuses.invalid(made["kind"], group, name if isinstance(name, str) else "", [fault])
    return embedded.restored({key: value for key, value in meta.items() if key not in _SET})


def _said(meta: Object) -> Object:
    """Return what a write of the status may say in metadata, as far as it can be read."""
    found: Object = {"namespace": meta["namespace"]} if isinstance(meta.get("namespace"), str) else {}
    for field in _OF_STATUS:
        part: Any = {field: meta.get(field)}
        found[field] = None if embedded.unrestorable(part) else part[field]
    return found


def _filled(meta: Object, old: Object | None) -> Object:
    """Return metadata with what the server sets."""
    own = old or {"uid": metadata.new_uid(), "creationTimestamp": metadata.timestamp(), "generation": 1}
    fields = _SET if old is not None else (*_SET, "uid")
    return {**meta, **{field: own[field] for field in fields if field in own}}
