"""The rules of Services, step by step (k8s.io/kubernetes/pkg/registry/core/service/strategy.go)."""

from __future__ import annotations

from functools import partial

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.services import allocation, carried_over, service_rules, warnings
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy


def _start_status(obj: Object, cluster: Cluster) -> None:
    obj["status"] = {"loadBalancer": {}}
    _drop_unread(obj)


def _prepare_update(new: Object, old: Object, cluster: Cluster) -> None:
    carried_over.drop_of_other_types(new["spec"], old["spec"])
    if new["spec"].get("type") != "LoadBalancer":
        new["status"] = {**(new.get("status") or {}), "loadBalancer": {}}
    _drop_unread(new)


def _drop_unread(obj: Object) -> None:
    """Drop what kube-apiserver stores and does not show (defaultOnReadInternalTrafficPolicy)."""
    if obj["spec"].get("type") == "ExternalName":
        obj["spec"].pop("internalTrafficPolicy", None)


def _as_shown(obj: Object, cluster: Cluster) -> Object:
    """Show ``clusterIP`` in ``clusterIPs``, too: a Service that became ExternalName by an update keeps it."""
    spec = obj["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        return {**obj, "spec": {**spec, "clusterIPs": [spec["clusterIP"]]}}
    return obj


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "services"): Strategy(
        canonical=_as_shown,
        fields=("spec.clusterIP", "spec.type"),
        name_format=partial(formats.dns_label, unit="characters"),
        begin_create=allocation.begin_create,
        begin_update=allocation.begin_update,
        prepare_create=_start_status,
        prepare_update=_prepare_update,
        validate_create=service_rules.create,
        validate_update=service_rules.update,
        validate_status=service_rules.status,
        warn_of_create=warnings.of_service,
        warn_of_update=warnings.of_service,
        holding=allocation.holding,
        create_on_update=True,
        returns_deleted=True,
    ),
}
