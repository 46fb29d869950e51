"""What makes the environment of a container valid.

After ValidateEnv and ValidateEnvFrom in k8s.io/kubernetes/pkg/apis/core/validation/validation.go, and
pkg/apis/core/pods/helpers.go for the fields of pods.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, invalid, not_found, not_supported, required
from drakit_embedded.apiserver.registry.podspec.path_rules import no_backsteps

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_SEVERAL = "may not have more than one field specified at a time"
_NAME = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_WRONG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_LONGEST_KEY = 253
_SUBSCRIPTED = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL)
# Fields of the downward API, and in which places each may be used.
_KNOWN_FIELDS = frozenset(
    {
        *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"),
        *("spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName"),
        *("status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
    }
)
_VARIABLE_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_RESOURCES = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_PAGES = ("requests.hugepages-", "limits.hugepages-")
_BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_OF_WHAT = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}


def variables(listed: Sequence[Object], path: str) -> Errors:
    """Validate ``env``, but for the volumes that ``fileKeyRef`` names."""
    for index, variable in enumerate(listed):
        at, name = f"{path}[{index}]", variable.get("name") or ""
        if not name:
            yield required(f"{at}.name")
        else:
            yield from _name(name, f"{at}.name")
        if (source := variable.get("valueFrom")) is not None:
            yield from _source(source, variable.get("value") or "", f"{at}.valueFrom")


def all_of(listed: Sequence[Object], path: str) -> Errors:
    """Validate ``envFrom``."""
    for index, source in enumerate(listed):
        at = f"{path}[{index}]"
        if source.get("prefix"):
            yield from _name(source["prefix"], f"{at}.prefix")
        given = [sort for sort in ("configMapRef", "secretRef") if source.get(sort) is not None]
        for sort in given:
            yield from _source_name(source[sort].get("name") or "", f"{at}.{sort}.name")
        if not given:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path, "", _SEVERAL)


def files(listed: Sequence[Object], path: str, volumes: dict[str, Object]) -> Errors:
    """Check that ``fileKeyRef`` names a volume of the pod that is an ``emptyDir`` (validateFileKeyRefVolumes)."""
    for index, variable in enumerate(listed):
        if (reference := (variable.get("valueFrom") or {}).get("fileKeyRef")) is None:
            continue
        at, name = f"{path}[{index}].valueFrom.fileKeyRef.volumeName", reference.get("volumeName") or ""
        if name not in volumes:
            yield not_found(at, name)
        elif volumes[name].get("emptyDir") is None:
            yield invalid(at, name, "referenced volume must be of type emptyDir")


def _source_name(name: str, path: str) -> Errors:
    """Validate the name of a config map or secret; in ``envFrom``, Kubernetes allows a hyphen at its end."""
    if not name:
        yield required(path)
    elif any(names.dns_subdomain(formats.as_prefix(name), path)):
        yield from names.dns_subdomain(name, path)


def _name(name: str, path: str) -> Errors:
    if not (name.isascii() and name.isprintable()) or "=" in name:
        yield invalid(path, name, _NAME)


def _source(source: Object, value: str, path: str) -> Errors:
    given = [sort for sort in _SOURCES if source.get(sort) is not None]
    for sort in given:
        reference, at = source[sort], f"{path}.{sort}"
        match sort:
            case "fieldRef":
                yield from field(reference, at, _VARIABLE_FIELDS)
            case "resourceFieldRef":
                yield from amount(reference, at)
            case "fileKeyRef":
                yield from _file(reference, at)
            case _:
                yield from names.dns_subdomain(reference.get("name") or "", f"{at}.name")
                key = reference.get("key") or ""
                yield from _key(key, f"{at}.key") if key else [required(f"{at}.key")]
    if not given:
        yield invalid(path, "", _NO_SOURCE)
    elif value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", _SEVERAL)


def _key(key: str, path: str) -> Errors:
    if formats.byte_length(key) > _LONGEST_KEY:
        yield invalid(path, key, f"must be no more than {_LONGEST_KEY} characters")
    if not _KEY.fullmatch(key):
        yield invalid(path, key, _WRONG_KEY)
    if key in (".", ".."):
        yield invalid(path, key, f"must not be '{key}'")
    elif key.startswith(".."):
        yield invalid(path, key, "must not start with '..'")


def _file(reference: Object, path: str) -> Errors:
    key, volume, file = (reference.get(part) or "" for part in ("key", "volumeName", "path"))
    yield from _name(key, f"{path}.key") if key else [required(f"{path}.key")]
    yield from names.dns_label(volume, f"{path}.volumeName") if volume else [required(f"{path}.volumeName")]
    yield from no_backsteps(file, f"{path}.path") if file else [required(f"{path}.path")]


def field(reference: Object, path: str, usable: Sequence[str]) -> Errors:
    """Validate a ``fieldRef`` to one of the ``usable`` fields, which are sorted."""
    version, label = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    at = f"{path}.fieldPath"
    if version == "v1" and label in usable:
        return
    if not version:
        yield required(f"{path}.apiVersion")
        return
    if not label:
        yield required(at)
        return
    match = _SUBSCRIPTED.fullmatch(label)
    if version != "v1":
        yield invalid(at, label, f"error converting fieldPath: unsupported pod version: {version}")
    elif match is not None:
        yield from _subscripted(match[1], match[2], label, path)
    elif label != "spec.host" and label not in _KNOWN_FIELDS:
        yield invalid(at, label, f"error converting fieldPath: field label not supported: {label}")
    elif (meant := "spec.nodeName" if label == "spec.host" else label) not in usable:
        yield not_supported(at, meant, usable)


def _subscripted(of: str, subscript: str, label: str, path: str) -> Errors:
    if of == "metadata.annotations":
        yield from names.label_key(subscript.lower(), path)
    elif of == "metadata.labels":
        yield from names.label_key(subscript, path)
    else:
        detail = f"error converting fieldPath: field label does not support subscript: {label}"
        yield invalid(f"{path}.fieldPath", label, detail)


def amount(reference: Object, path: str, *, of_volume: bool = False) -> Errors:
    """Validate a ``resourceFieldRef``; in a volume, it has to name a container."""
    resource = reference.get("resource") or ""
    if of_volume and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_PAGES):
        yield not_supported(f"{path}.resource", resource, _RESOURCES)
    divisor = reference.get("divisor") or "0"
    if divisor != "0":
        yield from _divisor(resource, str(divisor), f"{path}.divisor")


def _divisor(resource: str, divisor: str, path: str) -> Errors:
    name = resource.partition(".")[2]
    if resource in _RESOURCES and name == "cpu":
        if divisor not in ("1m", "1"):
            yield invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")
        return
    what = "hugepages" if resource.startswith(_PAGES) else _OF_WHAT.get(name) if resource in _RESOURCES else None
    if what is not None and divisor not in _BYTES.split(", "):
        yield invalid(path, resource, f"only divisor's values {_BYTES} are supported with the {what} resource")
