"""Namespaces, nodes, events, secrets, and all kinds that have few rules.

After strategy.go of each kind in k8s.io/kubernetes/pkg/registry.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from drakit_api import formats
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_api.validation.errors import invalid
from drakit_embedded.apiserver.registry.certificates import signing_requests, trust_bundles
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.statuses import Cause, FieldFault

_NAME_LABEL = "kubernetes.io/metadata.name"
# MaxSecretSize of pkg/apis/core/types.go, which also holds for config maps.
_MOST_BYTES = 1024 * 1024


def _create_namespace(obj: Object, cluster: Cluster) -> None:
    finalizers = obj["spec"].get("finalizers") or []
    obj["spec"]["finalizers"] = finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]
    # A generated name did not exist yet when the defaults were set.
    _name_label(obj)


def _name_label(obj: Object) -> None:
    meta: ObjectMeta = obj["metadata"]
    if meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), _NAME_LABEL: meta["name"]}


def _update_namespace(new: Object, old: Object, cluster: Cluster) -> None:
    # spec.finalizers changes only through the finalize subresource.
    new["spec"] = old.get("spec") or {}


def _validate_namespace_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Check the phase of a namespace (ValidateNamespaceStatusUpdate)."""
    phase, leaves = new["status"]["phase"], bool(new["metadata"].get("deletionTimestamp"))
    only, when = ("Terminating", "not empty") if leaves else ("Active", "empty")
    if phase == only:
        return ()
    return [invalid("status.Phase", phase, f"may only be '{only}' if `deletionTimestamp` is {when}")]


def _terminate(obj: Object) -> None:
    obj.setdefault("status", {})["phase"] = "Terminating"


def _convert_node(obj: Object, cluster: Cluster) -> None:
    """Keep both fields for pod CIDRs alike (pkg/apis/core/v1/conversion.go)."""
    spec = obj["spec"]
    one, every = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not every or every[0] != one):
        spec["podCIDRs"] = [one]
    elif every and not one:
        spec["podCIDR"] = every[0]


def _create_node(obj: Object, cluster: Cluster) -> None:
    """Drop dynamic kubelet configuration, which no kubelet knows any more (dropDisabledFields)."""
    obj["spec"].pop("configSource", None)
    obj["status"].pop("config", None)


def _convert_secret(obj: Object, cluster: Cluster) -> None:
    """Merge ``stringData`` into ``data``, where null becomes empty bytes (Convert_v1_Secret_To_core_Secret)."""
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if obj.get("data"):
        obj["data"] = {key: value or "" for key, value in obj["data"].items()}


def _create_service_account(obj: Object, cluster: Cluster) -> None:
    """Reduce ``secrets`` to their names: they are of the account's own namespace (cleanSecretReferences)."""
    if obj.get("secrets"):
        obj["secrets"] = [{key: value for key, value in each.items() if key == "name"} for each in obj["secrets"]]


def _update_service_account(new: Object, old: Object, cluster: Cluster) -> None:
    _create_service_account(new, cluster)


def _validate_secret(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    data = obj.get("data") or {}
    return [*_key_faults(data, "data"), *_size_faults(_decoded_bytes(data), "data")]


def _validate_config_map(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    faults = _key_faults(data, "data")
    faults += [
        Cause("FieldValueInvalid", f"data[{key}]", f'Invalid value: "{key}": duplicate of key present in binaryData')
        for key in data
        if key in binary
    ]
    faults += _key_faults(binary, "binaryData")
    texts = sum(len((value or "").encode()) for value in data.values())
    return [*faults, *_size_faults(texts + _decoded_bytes(binary), "[]")]


def _decoded_bytes(data: dict[str, Any]) -> int:
    """Compute the length of base64 values once decoded, in bytes."""
    return sum(len(value) * 3 // 4 - value[-2:].count("=") for value in data.values() if value)


def _size_faults(size: int, path: str) -> list[Cause]:
    if size <= _MOST_BYTES:
        return []
    return [Cause("FieldValueTooLong", path, f"Too long: may not be more than {_MOST_BYTES} bytes")]


def _key_faults(data: dict[str, Any], path: str) -> list[Cause]:
    rule = (
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',"
        "  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
    )
    allowed = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")
    return [
        Cause("FieldValueInvalid", f"{path}[{key}]", f'Invalid value: "{key}": {rule}')
        for key in data
        if not key or len(key) > 253 or not allowed.issuperset(key)
    ]


def _keep_immutable(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Refuse changes of what is immutable (ValidateConfigMapUpdate, ValidateSecretUpdate)."""
    faults: list[FieldFault] = []
    if old.get("immutable"):
        message = "Forbidden: field is immutable when `immutable` is set"
        changed = [] if new.get("immutable") else ["immutable"]
        changed += [field for field in ("data", "binaryData") if new.get(field) != old.get(field)]
        faults += [Cause("FieldValueForbidden", field, message) for field in changed]
    if new.get("type") != old.get("type"):
        faults.append(Cause("FieldValueInvalid", "type", f'Invalid value: "{new.get("type")}": field is immutable'))
    return faults


def _validate_config_map_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return [*_validate_config_map(new, cluster), *_keep_immutable(new, old, cluster)]


def _validate_secret_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return [*_validate_secret(new, cluster), *_keep_immutable(new, old, cluster)]


def _validate_priority_class(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    value = obj.get("value", 0)
    if isinstance(value, int) and value > 1_000_000_000 and not obj["metadata"].get("name", "").startswith("system-"):
        message = "Forbidden: maximum allowed value of a user defined priority is 1000000000"
        return [Cause("FieldValueForbidden", "value", message)]
    return []


def _validate_priority_class_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    faults: list[FieldFault] = []
    if new.get("value") != old.get("value"):
        faults.append(Cause("FieldValueForbidden", "value", "Forbidden: may not be changed in an update."))
    policy = new.get("preemptionPolicy")
    if policy != old.get("preemptionPolicy"):
        why = f"Invalid value: {quote(policy or '')}: field is immutable"
        faults.append(Cause("FieldValueInvalid", "preemptionPolicy", why))
    return faults


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS = (
    *(f"involvedObject.{name}" for name in _REFERENCE),
    "reason",
    "reportingComponent",
    "source",
    "type",
)
# Field names of events.k8s.io (k8s.io/kubernetes/pkg/apis/events/v1/conversion.go).
_NEW_EVENT_FIELDS = {
    "metadata.name": "metadata.name",
    "metadata.namespace": "metadata.namespace",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _REFERENCE},
    "reason": "reason",
    "reportingController": "reportingComponent",
    "type": "type",
}
_RBAC = Strategy(name_format=formats.path_segment, create_on_update=True)

# Kinds without other rules whose DELETE answers with the object (ReturnDeletedObject in their storage).
_RETURNED = tuple(
    ("storage.k8s.io", plural)
    for plural in ("csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses")
)
# Kinds without other rules whose ``metadata.generation`` counts changes of the spec.
_COUNTED = (
    *(("flowcontrol.apiserver.k8s.io", plural) for plural in ("flowschemas", "prioritylevelconfigurations")),
    *(("networking.k8s.io", plural) for plural in ("ingressclasses", "ingresses", "networkpolicies")),
    ("policy", "poddisruptionbudgets"),
)
STRATEGIES: dict[tuple[str, str], Strategy] = {
    **dict.fromkeys(_RETURNED, Strategy(returns_deleted=True)),
    ("", "namespaces"): Strategy(
        fields=("status.phase",),
        name_format=formats.dns_label,
        prepare_create=_create_namespace,
        prepare_update=_update_namespace,
        validate_status=_validate_namespace_status,
        on_deletion=_terminate,
        finalizers_in_spec=True,
        returns_deleted=True,
    ),
    ("", "nodes"): Strategy(
        fields=("spec.unschedulable",),
        field_zeros={"spec.unschedulable": "false"},
        default=_convert_node,
        prepare_create=_create_node,
        status_on_create=True,
    ),
    ("", "events"): Strategy(fields=_EVENT_FIELDS, create_on_update=True),
    ("events.k8s.io", "events"): Strategy(fields=_EVENT_FIELDS, field_names=_NEW_EVENT_FIELDS, create_on_update=True),
    ("", "configmaps"): Strategy(validate_create=_validate_config_map, validate_update=_validate_config_map_update),
    ("", "secrets"): Strategy(
        fields=("type",),
        default=_convert_secret,
        validate_create=_validate_secret,
        validate_update=_validate_secret_update,
    ),
    ("", "serviceaccounts"): Strategy(
        prepare_create=_create_service_account, prepare_update=_update_service_account, returns_deleted=True
    ),
    ("coordination.k8s.io", "leases"): Strategy(create_on_update=True, unconditional_update=False),
    ("scheduling.k8s.io", "priorityclasses"): Strategy(
        validate_create=_validate_priority_class,
        validate_update=_validate_priority_class_update,
        generation=True,
    ),
    ("rbac.authorization.k8s.io", "roles"): _RBAC,
    ("rbac.authorization.k8s.io", "rolebindings"): _RBAC,
    ("rbac.authorization.k8s.io", "clusterroles"): _RBAC,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _RBAC,
    ("node.k8s.io", "runtimeclasses"): Strategy(create_on_update=True),
    ("certificates.k8s.io", "certificatesigningrequests"): signing_requests.STRATEGY,
    ("certificates.k8s.io", "clustertrustbundles"): trust_bundles.STRATEGY,
    ("certificates.k8s.io", "podcertificaterequests"): Strategy(
        fields=("spec.signerName", "spec.podName", "spec.nodeName")
    ),
    **dict.fromkeys(_COUNTED, Strategy(generation=True)),
    ("discovery.k8s.io", "endpointslices"): Strategy(
        generation=True, counted=("addressType", "endpoints", "ports", "metadata.labels")
    ),
}
