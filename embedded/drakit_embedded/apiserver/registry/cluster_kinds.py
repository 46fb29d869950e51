"""Namespaces, nodes, events and the small kinds of the core groups.

After k8s.io/kubernetes/pkg/registry/core/{namespace,node,event,secret,...}/strategy.go.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from drakit_api import formats
from drakit_api.gostrings import quote
from drakit_api.validation.errors import invalid
from drakit_embedded.apiserver.registry.strategy import Cluster, Object, Strategy
from drakit_embedded.apiserver.statuses import Cause, FieldFault

_NAME_LABEL = "kubernetes.io/metadata.name"
# MaxSecretSize of pkg/apis/core/types.go, which is for config maps, too.
_MOST_BYTES = 1024 * 1024


def _create_namespace(obj: Object, cluster: Cluster) -> None:
    obj["spec"] = {"finalizers": ["kubernetes"]}
    obj["status"] = {"phase": "Active"}
    # A generated name has not been there for the defaults.
    _name_label(obj)


def _default_namespace(obj: Object, cluster: Cluster) -> None:
    """SetDefaults_Namespace and SetDefaults_NamespaceStatus."""
    status = obj["status"] = obj.get("status") or {}
    status["phase"] = status.get("phase") or "Active"
    _name_label(obj)


def _name_label(obj: Object) -> None:
    meta = obj["metadata"]
    if meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), _NAME_LABEL: meta["name"]}


def _update_namespace(new: Object, old: Object, cluster: Cluster) -> None:
    # spec.finalizers changes only through the finalize subresource.
    new["spec"] = old.get("spec") or {}


def _validate_namespace_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """ValidateNamespaceStatusUpdate."""
    phase, leaves = new["status"]["phase"], bool(new["metadata"].get("deletionTimestamp"))
    only, when = ("Terminating", "not empty") if leaves else ("Active", "empty")
    if phase == only:
        return ()
    return [invalid("status.Phase", phase, f"may only be '{only}' if `deletionTimestamp` is {when}")]


def _terminate(obj: Object) -> None:
    obj.setdefault("status", {})["phase"] = "Terminating"


def _default_node(obj: Object, cluster: Cluster) -> None:
    """SetDefaults_NodeStatus: what is not reserved can be allocated."""
    spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
    one, every = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not every or every[0] != one):
        # pkg/apis/core/v1/conversion.go
        spec["podCIDRs"] = [one]
    elif every and not one:
        spec["podCIDR"] = every[0]
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def _default_secret(obj: Object, cluster: Cluster) -> None:
    _merge_string_data(obj)
    _fill_data(obj)
    obj["type"] = obj.get("type") or "Opaque"


def _merge_string_data(obj: Object) -> None:
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def _fill_data(obj: Object) -> None:
    """A key without bytes has none of them, rather than no value."""
    if obj.get("data"):
        obj["data"] = {key: value or "" for key, value in obj["data"].items()}


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
    """How long values in base64 are once read."""
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
    """ValidateConfigMapUpdate and ValidateSecretUpdate."""
    faults: list[FieldFault] = []
    if old.get("immutable"):
        if not new.get("immutable"):
            message = "Forbidden: field is immutable when `immutable` is set"
            faults.append(Cause("FieldValueForbidden", "immutable", message))
        for field in ("data", "binaryData"):
            if new.get(field) != old.get(field):
                message = "Forbidden: field is immutable when `immutable` is set"
                faults.append(Cause("FieldValueForbidden", field, message))
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


def _default_priority_class(obj: Object, cluster: Cluster) -> None:
    obj.setdefault("value", 0)
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _default_service(obj: Object, cluster: Cluster) -> None:
    """SetDefaults_Service, as far as it needs no addresses and node ports."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port["targetPort"] = port.get("targetPort") or port.get("port")
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")


def _create_service(obj: Object, cluster: Cluster) -> None:
    """What is allocated, which the client does not own (pkg/registry/core/service/storage/alloc.go)."""
    obj["status"] = {"loadBalancer": {}}
    spec = obj["spec"]
    if spec["type"] != "ExternalName":
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        spec.setdefault("ipFamilies", ["IPv4"])
    if spec.get("clusterIP"):
        spec.setdefault("clusterIPs", [spec["clusterIP"]])


def _update_service(new: Object, old: Object, cluster: Cluster) -> None:
    """patchAllocatedValues: what was allocated stays, unless the client says otherwise."""
    spec, was = new["spec"], old.get("spec") or {}
    if spec["type"] != "ExternalName":
        for field in ("ipFamilyPolicy", "ipFamilies", "clusterIP", "clusterIPs"):
            if field in was:
                spec.setdefault(field, was[field])


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS = (
    *(f"involvedObject.{name}" for name in _REFERENCE),
    "reason",
    "reportingComponent",
    "source",
    "type",
)
# As they are called in events.k8s.io (k8s.io/kubernetes/pkg/apis/events/v1/conversion.go).
_NEW_EVENT_FIELDS = {
    "metadata.name": "metadata.name",
    "metadata.namespace": "metadata.namespace",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _REFERENCE},
    "reason": "reason",
    "reportingController": "reportingComponent",
    "type": "type",
}
_RBAC = Strategy(name_format=formats.path_segment, create_on_update=True)

# What is deleted is shown once more, of these without other rules (ReturnDeletedObject in each kind's storage).
_RETURNED = (
    *(("", plural) for plural in ("podtemplates", "persistentvolumeclaims", "persistentvolumes", "resourcequotas")),
    *(("storage.k8s.io", plural) for plural in ("csidrivers", "csinodes", "storageclasses", "volumeattachments")),
    ("storage.k8s.io", "volumeattributesclasses"),
)
STRATEGIES: dict[tuple[str, str], Strategy] = {
    **dict.fromkeys(_RETURNED, Strategy(returns_deleted=True)),
    ("", "namespaces"): Strategy(
        fields=("status.phase",),
        name_format=formats.dns_label,
        default=_default_namespace,
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
        default=_default_node,
        status_on_create=True,
    ),
    ("", "events"): Strategy(fields=_EVENT_FIELDS, create_on_update=True),
    ("events.k8s.io", "events"): Strategy(fields=_EVENT_FIELDS, field_names=_NEW_EVENT_FIELDS, create_on_update=True),
    ("", "configmaps"): Strategy(validate_create=_validate_config_map, validate_update=_validate_config_map_update),
    ("", "secrets"): Strategy(
        fields=("type",),
        default=_default_secret,
        validate_create=_validate_secret,
        validate_update=_validate_secret_update,
    ),
    ("", "serviceaccounts"): Strategy(returns_deleted=True),
    ("", "services"): Strategy(
        fields=("spec.clusterIP", "spec.type"),
        default=_default_service,
        prepare_create=_create_service,
        prepare_update=_update_service,
        create_on_update=True,
        returns_deleted=True,
    ),
    ("coordination.k8s.io", "leases"): Strategy(create_on_update=True, unconditional_update=False),
    ("scheduling.k8s.io", "priorityclasses"): Strategy(
        default=_default_priority_class,
        validate_create=_validate_priority_class,
        validate_update=_validate_priority_class_update,
        generation=True,
    ),
    ("rbac.authorization.k8s.io", "roles"): _RBAC,
    ("rbac.authorization.k8s.io", "rolebindings"): _RBAC,
    ("rbac.authorization.k8s.io", "clusterroles"): _RBAC,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _RBAC,
    ("node.k8s.io", "runtimeclasses"): Strategy(create_on_update=True),
    ("certificates.k8s.io", "certificatesigningrequests"): Strategy(fields=("spec.signerName",)),
    ("certificates.k8s.io", "clustertrustbundles"): Strategy(
        fields=("spec.signerName",), name_format=formats.path_segment
    ),
    ("certificates.k8s.io", "podcertificaterequests"): Strategy(
        fields=("spec.signerName", "spec.podName", "spec.nodeName")
    ),
    ("batch", "jobs"): Strategy(fields=("status.successful",), field_zeros={"status.successful": "0"}, generation=True),
    ("", "replicationcontrollers"): Strategy(
        fields=("status.replicas",), field_zeros={"status.replicas": "0"}, generation=True
    ),
    ("policy", "poddisruptionbudgets"): Strategy(generation=True),
    ("batch", "cronjobs"): Strategy(generation=True),
    ("networking.k8s.io", "ingresses"): Strategy(generation=True),
    ("networking.k8s.io", "networkpolicies"): Strategy(generation=True),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): Strategy(generation=True),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): Strategy(generation=True),
}
