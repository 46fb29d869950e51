"""Metadata of objects, when created and when updated.

Source: ``k8s.io/apimachinery`` v0.37.1 ``pkg/api/validation/objectmeta.go`` and ``pkg/apis/meta/v1/validation``; the
fields that an embedding server sets itself (uid, timestamps) are not looked at on creation there either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drakit_api import formats
from drakit_api.objects.equality import same_field
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, at_most, forbidden, invalid, one_of, required, too_long

_PATH = "metadata"
_ANNOTATIONS_BYTES = 256 * 1024
_MANAGER_LENGTH = 128
_SUBRESOURCE_LENGTH = 256
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_STANDARD_FINALIZERS = ("kubernetes", _ORPHAN, _FOREGROUND)
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")

NameFormat = Callable[[str], Sequence[str]]


def object_name(name: str) -> Sequence[str]:
    """Check a name as most kinds do: a DNS subdomain."""
    return formats.dns_subdomain(name, "characters")


def on_create(
    meta: Mapping[str, Any],
    *,
    namespaced: bool,
    name_format: NameFormat = object_name,
    path: str = _PATH,
    any_finalizer: bool = False,
) -> Errors:
    """Check metadata as ``ValidateObjectMeta``; a name must have been generated from ``generateName`` before.

    ``any_finalizer``: finalizers may have short names that are not Kubernetes', as those of custom resources may.
    """
    prefix, name = meta.get("generateName") or "", meta.get("name") or ""
    if prefix:
        problems = name_format(formats.as_prefix(prefix))
        yield from (invalid(f"{path}.generateName", prefix, problem) for problem in problems)
    if not name:
        yield required(f"{path}.name", "name or generateName is required")
    else:
        yield from (invalid(f"{path}.name", name, problem) for problem in name_format(name))
    yield from _namespace(meta.get("namespace") or "", namespaced, f"{path}.namespace")
    yield from _common(meta, path)
    yield from _finalizers(meta.get("finalizers") or [], f"{path}.finalizers")
    if not any_finalizer:
        yield from _kubernetes_finalizers(meta.get("finalizers") or [])


def on_update(meta: Mapping[str, Any], old: Mapping[str, Any], *, any_finalizer: bool = False) -> Errors:
    """Check what may not change, as ``ValidateObjectMetaUpdate`` does; ``any_finalizer`` is that of ``on_create``."""
    yield from _changes(meta, old)
    yield from _common(meta, _PATH)
    if not any_finalizer:
        yield from _kubernetes_finalizers(meta.get("finalizers") or [])


def on_any_update(meta: Mapping[str, Any], old: Mapping[str, Any], *, any_finalizer: bool = False) -> Errors:
    """Check what is checked of updates of all kinds, each once (``validateCommonFields`` of k8s.io/apiserver)."""
    prefix = meta.get("generateName") or ""
    if prefix:
        yield from (invalid(f"{_PATH}.generateName", prefix, problem) for problem in formats.path_segment(prefix))
    yield from _common(meta, _PATH)
    yield from _finalizers(meta.get("finalizers") or [], f"{_PATH}.finalizers")
    yield from _changes(meta, old)
    if not any_finalizer:
        yield from _kubernetes_finalizers(meta.get("finalizers") or [])


def _changes(meta: Mapping[str, Any], old: Mapping[str, Any]) -> Errors:
    if old.get("deletionTimestamp"):
        extra = sorted(set(meta.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            listed = ", ".join(f'"{name}"' for name in extra)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
            yield forbidden(f"{_PATH}.finalizers", f"{detail} []string{{{listed}}}")
    if not meta.get("resourceVersion"):
        yield invalid(f"{_PATH}.resourceVersion", "", "must be specified for an update")
    if (meta.get("generation") or 0) < (old.get("generation") or 0):
        yield invalid(f"{_PATH}.generation", meta.get("generation") or 0, "must not be decremented")
    for field in _IMMUTABLE:
        if meta.get(field) != old.get(field) and not same_field("meta/v1.ObjectMeta", field, meta, old):
            value = meta.get(field, "" if field in ("name", "namespace", "uid") else None)
            yield invalid(f"{_PATH}.{field}", value, "field is immutable")


def annotation_rules(meta: Mapping[str, Any], path: str) -> Errors:
    """Check the keys of annotations, upper or lower case, and that all take no more than 256 KiB."""
    entries: Mapping[str, str] = meta.get("annotations") or {}
    for key in entries:
        yield from (invalid(f"{path}.annotations", key, problem) for problem in formats.label_key(key.lower()))
    if (
        sum(formats.byte_length(key) + formats.byte_length(value) for key, value in entries.items())
        > _ANNOTATIONS_BYTES
    ):
        yield too_long(f"{path}.annotations", _ANNOTATIONS_BYTES)


def label_rules(meta: Mapping[str, Any], path: str) -> Errors:
    """Check the labels of an object or template."""
    return label_map(meta.get("labels") or {}, f"{path}.labels")


def label_map(labels: Mapping[str, str], path: str) -> Errors:
    """Check keys and values of labels."""
    for key, value in labels.items():
        yield from names.label_key(key, path)
        yield from names.label_value(value, path)


def _common(meta: Mapping[str, Any], path: str) -> Errors:
    generation = meta.get("generation") or 0
    if generation < 0:
        yield invalid(f"{path}.generation", generation, "must be greater than or equal to 0")
    yield from label_rules(meta, path)
    yield from annotation_rules(meta, path)
    yield from _owners(meta.get("ownerReferences") or [], f"{path}.ownerReferences")
    for index, entry in enumerate(meta.get("managedFields") or []):
        yield from _managed_fields(entry, f"{path}.managedFields[{index}]")


def _namespace(namespace: str, namespaced: bool, path: str) -> Errors:
    if namespaced and not namespace:
        yield required(path)
    elif namespaced:
        yield from names.dns_label(namespace, path)
    elif namespace:
        yield forbidden(path, "not allowed on this type")


def _owners(owners: list[dict[str, Any]], path: str) -> Errors:
    controller = ""
    for index, owner in enumerate(owners):
        yield from _owner(owner, f"{path}[{index}]")
        if owner.get("controller"):
            current = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                detail = 'Only one reference can have Controller set to true. Found "true" in references for'
                yield invalid(path, owners, f"{detail} {controller} and {current}")
            controller = controller or current


def _owner(owner: dict[str, Any], path: str) -> Errors:
    version = owner.get("apiVersion") or ""
    if not version:
        yield required(f"{path}.apiVersion", "must not be empty")
    elif version.count("/") > 1 or version.endswith("/"):
        yield invalid(f"{path}.apiVersion", version, "must be <group>/<version> or <version>")
    for field in ("kind", "name", "uid"):
        if not owner.get(field):
            yield required(f"{path}.{field}", "must not be empty")
    if version == "v1" and owner.get("kind") == "Event":
        yield invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")


def _finalizers(finalizers: list[str], path: str) -> Errors:
    for finalizer in finalizers:
        yield from names.label_key(finalizer, path)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        yield invalid(path, finalizers, f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set")


def _kubernetes_finalizers(finalizers: list[str]) -> Errors:
    """Refuse unknown short names (``ValidateObjectMeta`` of ``k8s.io/kubernetes`` ``pkg/apis/core/validation``)."""
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"{_PATH}.finalizers[{index}]", finalizer, detail)


def _managed_fields(entry: dict[str, Any], path: str) -> Errors:
    fields_type = entry.get("fieldsType") or ""
    yield from one_of(entry.get("operation") or "", ["Apply", "Update"], f"{path}.operation", "must not be empty")
    if fields_type not in ("", "FieldsV1"):
        yield invalid(f"{path}.fieldsType", fields_type, "must be `FieldsV1`")
    yield from at_most(entry.get("manager") or "", _MANAGER_LENGTH, f"{path}.manager")
    yield from at_most(entry.get("subresource") or "", _SUBRESOURCE_LENGTH, f"{path}.subresource")
