"""ObjectMeta: what every object has, checked and filled the same way for all kinds.

Rules and texts follow k8s.io/apimachinery/pkg/api/validation/objectmeta.go and pkg/util/validation/validation.go.
"""

from __future__ import annotations

import json
import re
import secrets
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from drakit_embedded.apiserver.statuses import Cause, quote

Object = dict[str, Any]
NameRule = Callable[[str], str | None]

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_ANNOTATION_BYTES = 256 * 1024
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_GENERATED = 63
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_NAME_PART_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

_clock: tuple[int, str] = (0, "")


def timestamp(offset: int = 0) -> str:
    """Now, or some seconds later, as ``metav1.Time`` prints it."""
    global _clock
    now = int(time.time())
    if offset:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + offset))
    if _clock[0] != now:
        _clock = (now, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))
    return _clock[1]


def new_uid() -> str:
    """A random UID."""
    return str(uuid.uuid4())


def generated_name(base: str) -> str:
    """``generateName`` and five random characters (k8s.io/apiserver/pkg/storage/names/generate.go)."""
    suffix = "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return base[: _LONGEST_GENERATED - _SUFFIX_LENGTH] + suffix


def subdomain(name: str) -> str | None:
    """Why a name is no DNS-1123 subdomain, which most kinds ask for; None if it is one."""
    if len(name) > 253:
        return "must be no more than 253 bytes"
    return None if _SUBDOMAIN.fullmatch(name) else _SUBDOMAIN_RULE


def dns_label(name: str) -> str | None:
    """Why a name is no DNS-1123 label, as namespaces must be; None if it is one."""
    if len(name) > 63:
        return "must be no more than 63 bytes"
    return None if _LABEL.fullmatch(name) else _LABEL_RULE


def path_segment(name: str) -> str | None:
    """Why a name cannot stand in a URL, which is all that RBAC kinds ask for; None if it can."""
    if name in (".", ".."):
        return f"may not be '{name}'"
    for part in "/%":
        if part in name:
            return f"may not contain '{part}'"
    return None


def validate(metadata: Mapping[str, Any], rule: NameRule, *, namespaced: bool) -> list[Cause]:
    """ValidateObjectMeta: name, namespace, labels, annotations, owners and finalizers of an object."""
    faults: list[Cause] = []
    name, base = metadata.get("name", ""), metadata.get("generateName", "")
    if base and (why := rule(base.rstrip("-") if base.endswith("-") else base)):
        faults.append(_wrong("metadata.generateName", base, why))
    if not name:
        faults.append(Cause("FieldValueRequired", "metadata.name", "Required value: name or generateName is required"))
    elif why := rule(name):
        faults.append(_wrong("metadata.name", name, why))
    if not namespaced and metadata.get("namespace"):
        faults.append(Cause("FieldValueForbidden", "metadata.namespace", "Forbidden: not allowed on this type"))
    faults += label_faults(metadata.get("labels") or {}, "metadata.labels")
    faults += _annotation_faults(metadata.get("annotations") or {})
    faults += _owner_faults(metadata.get("ownerReferences") or [])
    faults += _finalizer_faults(metadata.get("finalizers") or [])
    return faults


def label_faults(labels: Mapping[str, str], path: str) -> list[Cause]:
    """Keys and values of a label map."""
    faults: list[Cause] = []
    for key, value in labels.items():
        faults += [_wrong(path, key, why) for why in key_faults(key)]
        if len(value) > 63:
            faults.append(_wrong(path, value, "must be no more than 63 bytes"))
        elif not _LABEL_VALUE.fullmatch(value):
            faults.append(_wrong(path, value, _LABEL_VALUE_RULE))
    return faults


def key_faults(key: str) -> list[str]:
    """IsQualifiedName: ``[prefix/]name``."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [f"a qualified name {_NAME_PART_RULE.removeprefix('name part ')}"]
    faults: list[str] = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash and (why := subdomain(prefix)):
        faults.append(f"prefix part {why}")
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > 63:
        faults.append("name part must be no more than 63 bytes")
    if not _QUALIFIED.fullmatch(name):
        faults.append(_NAME_PART_RULE)
    return faults


def _annotation_faults(annotations: Mapping[str, str]) -> list[Cause]:
    faults = [_wrong("metadata.annotations", key, why) for key in annotations for why in key_faults(key.lower())]
    size = sum(len(key) + len(value) for key, value in annotations.items())
    if size > _ANNOTATION_BYTES:
        message = f"Too long: may not be more than {_ANNOTATION_BYTES} bytes"
        faults.append(Cause("FieldValueTooLong", "metadata.annotations", message))
    return faults


def _owner_faults(owners: list[Object]) -> list[Cause]:
    faults: list[Cause] = []
    controllers = 0
    for index, owner in enumerate(owners):
        for key, why in (("apiVersion", "version must not be empty"), ("kind", "must not be empty")):
            if not owner.get(key):
                faults.append(_wrong(f"metadata.ownerReferences[{index}].{key}", owner.get(key, ""), why))
        path = f"metadata.ownerReferences[{index}]"
        faults += [_wrong(f"{path}.{key}", "", "must not be empty") for key in ("name", "uid") if not owner.get(key)]
        controllers += bool(owner.get("controller"))
    if controllers > 1:
        why = "Only one reference can have Controller set to true"
        faults.append(_wrong("metadata.ownerReferences", owners, why))
    return faults


def _finalizer_faults(finalizers: Iterable[str]) -> list[Cause]:
    faults: list[Cause] = []
    for finalizer in finalizers:
        faults += [_wrong("metadata.finalizers", finalizer, why) for why in key_faults(finalizer)]
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            faults.append(_wrong("metadata.finalizers", finalizer, why))
    return faults


def validate_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """ValidateObjectMetaUpdate: what an update may not change."""
    faults: list[Cause] = []
    if old.get("deletionTimestamp"):
        added = [name for name in new.get("finalizers") or [] if name not in (old.get("finalizers") or [])]
        if added:
            listed = ", ".join(quote(name) for name in added)
            why = "no new finalizers can be added if the object is being deleted, found new finalizers []string"
            faults.append(Cause("FieldValueForbidden", "metadata.finalizers", f"Forbidden: {why}{{{listed}}}"))
    changed = [key for key in _IMMUTABLE if new.get(key) != old.get(key)]
    return faults + [_wrong(f"metadata.{key}", new.get(key), "field is immutable") for key in changed]


def _wrong(field: str, value: object, why: str) -> Cause:
    shown = quote(value) if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return Cause("FieldValueInvalid", field, f"Invalid value: {shown}: {why}")
