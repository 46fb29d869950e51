"""What makes the volumes of a pod valid.

After ValidateVolumes and below in k8s.io/kubernetes/pkg/apis/core/validation/validation.go; of the sorts that single
vendors had before CSI, and of projected certificates, only that none stands beside another sort.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from drakit_api import formats
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import ZERO, Quantity
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, duplicate, forbidden, invalid, not_supported, required
from drakit_api.validation.metadata import annotation_rules, label_rules
from drakit_embedded.apiserver.registry.podspec.containers import env_rules
from drakit_embedded.apiserver.registry.podspec.containers.container_rules import pull_policy
from drakit_embedded.apiserver.registry.podspec.path_rules import no_backsteps, not_reserved
from drakit_embedded.apiserver.registry.selector_rules import label_selector

Rule = Callable[[Object, str], Errors]

_HIGHEST_MODE = 0o777
_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 2**32
_OWN_NAME = "must not reference a PVC that gets created for an ephemeral volume"
_OF_TEMPLATES = ("annotations", "labels")
# In upstream's order: the first source counts, a second one is an error. Two are misspelled in messages.
_SORTS = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"),
    *("flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk"),
    *("storageos", "projected", "scaleIO", "csi", "ephemeral", "image"),
)
_MISSPELLED = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def volumes(listed: list[Object], path: str, pod: str, valid: dict[str, Object]) -> Errors:
    """Validate ``spec.volumes``; ``pod`` is the name of the pod or empty. Valid ones are added to ``valid``."""
    created = {f"{pod}-{volume.get('name') or ''}" for volume in listed if pod and volume.get("ephemeral") is not None}
    for index, volume in enumerate(listed):
        at, name = f"{path}[{index}]", volume.get("name") or ""
        wrong = list(_source(volume, at, pod))
        wrong += names.dns_label(name, f"{at}.name") if name else [required(f"{at}.name")]
        if name in valid:
            wrong.append(duplicate(f"{at}.name", name))
        if not wrong:
            valid[name] = volume
        yield from wrong
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        if claim in created:
            yield invalid(f"{at}.persistentVolumeClaim.claimName", claim, _OWN_NAME)


def _source(volume: Object, path: str, pod: str) -> Errors:
    given = [sort for sort, source in volume.items() if sort != "name" and source is not None]
    if len(given) > 1:
        given.sort(key=_SORTS.index)
    for sort in given[1:]:
        yield forbidden(f"{path}.{_MISSPELLED.get(sort, sort)}", "may not specify more than 1 volume type")
    if not given:
        yield required(path, "must specify a volume type")
    elif rule := _RULES.get(given[0]):
        yield from rule(volume[given[0]], f"{path}.{given[0]}")
    name = volume.get("name") or ""
    if given[:1] == ["ephemeral"] and pod and name:
        claim = f"{pod}-{name}"
        for problem in formats.dns_subdomain(claim, "characters"):
            yield invalid(f"{path}.name", name, f"PVC name {quote(claim)}: {problem}")


def _empty_dir(source: Object, path: str) -> Errors:
    size = source.get("sizeLimit")
    if size is not None and Quantity.parse(size) < ZERO:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(source: Object, path: str) -> Errors:
    target, sort = source.get("path") or "", source.get("type")
    if not target:
        yield required(f"{path}.path")
        return
    yield from no_backsteps(target, f"{path}.path")
    if sort is not None and sort not in _HOST_PATHS:
        yield not_supported(f"{path}.type", sort, _HOST_PATHS)


def _named(field: str) -> Rule:
    """Build a rule for files from a secret or config map, whose name is in ``field``."""

    def rule(source: Object, path: str) -> Errors:
        if not source.get(field):
            yield required(f"{path}.{field}")
        yield from _mode(source, "defaultMode", path)
        yield from _items(source, path)

    return rule


def _items(source: Object, path: str) -> Errors:
    for index, item in enumerate(source.get("items") or ()):
        at = f"{path}.items[{index}]"
        for part in ("key", "path"):
            if not item.get(part):
                yield required(f"{at}.{part}")
        yield from not_reserved(item.get("path") or "", f"{at}.path")
        yield from _mode(item, "mode", at)


def _mode(source: Object, field: str, path: str) -> Errors:
    mode = source.get(field)
    if mode is None or 0 <= mode <= _HIGHEST_MODE:
        return ()
    return [invalid(f"{path}.{field}", mode, "must be a number between 0 and 0777 (octal), both inclusive")]


def _claim(source: Object, path: str) -> Errors:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _nfs(source: Object, path: str) -> Errors:
    for part in ("server", "path"):
        if not source.get(part):
            yield required(f"{path}.{part}")
    target = source.get("path") or ""
    if not target.startswith("/"):
        yield invalid(f"{path}.path", target, "must be an absolute path")


def _downward(source: Object, path: str) -> Errors:
    yield from _mode(source, "defaultMode", path)
    for file in source.get("items") or ():
        yield from _downward_file(file, path)


def _downward_file(file: Object, path: str) -> Errors:
    """Validate a file; upstream's errors have the path of the volume, not of the file."""
    target = file.get("path") or ""
    if not target:
        yield required(f"{path}.path")
    yield from not_reserved(target, f"{path}.path")
    reference, amount = file.get("fieldRef"), file.get("resourceFieldRef")
    if reference is not None:
        yield from env_rules.field(reference, f"{path}.fieldRef", _FIELDS)
        if amount is not None:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif amount is not None:
        yield from env_rules.amount(amount, f"{path}.resourceFieldRef", of_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(file, "mode", path)


def _projected(source: Object, path: str) -> Errors:
    """Validate a projected volume, and remember the answer: nearly every pod has the same one, for its token."""
    return () if _is_valid_projection(msgspec.json.encode(source)) else _wrong_projections(source, path)


@functools.lru_cache(maxsize=1024)
def _is_valid_projection(source: bytes) -> bool:
    return not any(_wrong_projections(msgspec.json.decode(source), ""))


def _wrong_projections(source: Object, path: str) -> Errors:
    yield from _mode(source, "defaultMode", path)
    taken: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        for sort in ("secret", "configMap"):
            if (files := projection.get(sort)) is not None:
                if not files.get("name"):
                    yield required(f"{at}.{sort}.name")
                yield from _items(files, f"{at}.{sort}")
                for item in files.get("items") or ():
                    yield from _taken(item.get("path") or "", taken, path, files.get("name") or "")
        for file in (projection.get("downwardAPI") or {}).get("items") or ():
            yield from _downward_file(file, f"{at}.downwardAPI")
            yield from _taken(file.get("path") or "", taken, path, file.get("path") or "")
        if (token := projection.get("serviceAccountToken")) is not None:
            yield from _token(token, path, f"{at}.serviceAccountToken")
        if sum(part is not None for part in projection.values()) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")


def _taken(target: str, taken: set[str], path: str, shown: str) -> Errors:
    if target and target in taken:
        yield invalid(path, shown, "conflicting duplicate paths")
    taken.add(target)


def _token(token: Object, volume: str, path: str) -> Errors:
    seconds, target = token["expirationSeconds"], token.get("path") or ""
    if seconds < _SHORTEST_TOKEN:
        yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    # Upstream's path is that of the volume, not of the source.
    yield from not_reserved(target, f"{volume}.path") if target else [required(f"{volume}.path")]


def _csi(source: Object, path: str) -> Errors:
    yield from names.driver(source.get("driver") or "", f"{path}.driver")
    if (secret := source.get("nodePublishSecretRef")) is not None:
        name = secret.get("name") or ""
        at = f"{path}.nodePublishSecretRef.name"
        yield from names.dns_subdomain(name, f"{path}.name") if name else [required(at)]


def _ephemeral(source: Object, path: str) -> Errors:
    at = f"{path}.volumeClaimTemplate"
    if (template := source.get("volumeClaimTemplate")) is None:
        yield required(at)
        return
    meta = template.get("metadata") or {}
    yield from annotation_rules(meta, f"{at}.metadata")
    yield from label_rules(meta, f"{at}.metadata")
    for name, value in meta.items():
        if value and name not in _OF_TEMPLATES:
            yield forbidden(f"{at}.metadata.{name}", "cannot be set")
    yield from _claim_spec(template.get("spec") or {}, f"{at}.spec")


def _claim_spec(spec: Object, path: str) -> Errors:
    """Validate the spec of a claim (ValidatePersistentVolumeClaimSpec), without data sources."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    if spec.get("selector") is not None:
        yield from label_selector(spec["selector"], f"{path}.selector")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{path}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        yield forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    size: Any = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required(f"{path}.resources[storage]")
    elif Quantity.parse(size) <= ZERO:
        yield invalid(f"{path}.resources[storage]", size, "must be greater than zero")
    if name := spec.get("storageClassName"):
        yield from names.dns_subdomain(name, f"{path}.storageClassName")
    if (mode := spec.get("volumeMode")) is not None and mode not in _VOLUME_MODES:
        yield not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES)


def _image(source: Object, path: str) -> Errors:
    if not source.get("reference"):
        yield required(f"{path}.reference")
    yield from pull_policy(source.get("pullPolicy") or "", f"{path}.pullPolicy")


_RULES: dict[str, Rule] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _named("secretName"),
    "configMap": _named("name"),
    "persistentVolumeClaim": _claim,
    "nfs": _nfs,
    "downwardAPI": _downward,
    "projected": _projected,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
