"""ResourceQuota: what an object uses is charged to the quotas of its namespace, or the object is refused.

After k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go. The status of a quota is the quota
controller's, but for what is charged here, in one step with the object itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

from drakit_api.core.pod_claims import is_for_extended
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim, as_claim
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.storage.store import Record
from drakit_embedded.quota import amounts, pods
from drakit_embedded.quota.amounts import Amounts
from drakit_embedded.quota.classes import DeviceClasses
from drakit_embedded.quota.evaluators import Evaluator, evaluator, is_counted

_MARK = b"extended-resource-claim"


class _Surroundings:
    """The pods, claims and device classes of the store that a claim's usage depends on."""

    def __init__(self, cluster: GuardedCluster) -> None:
        self._cluster = cluster

    @cached_property
    def classes(self) -> DeviceClasses | None:
        if not self._cluster.gates.enabled("DRAExtendedResource"):
            return None
        records = self._cluster.store.named("deviceclasses.resource.k8s.io").records.values()
        return DeviceClasses(record.object() for record in records)

    def pod(self, namespace: str, name: str) -> Object | None:
        return self._cluster.find("pods", namespace, name)

    def claims(self, namespace: str) -> Iterator[ResourceClaim]:
        for record in self._cluster.store.named("resourceclaims.resource.k8s.io").select(namespace):
            if _MARK in record.body and is_for_extended(claim := as_claim(record.object())):
                yield claim


def validate(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse with 403 what would exceed a quota; otherwise the commit increases ``status.used`` of the quotas."""
    if not attributes.namespace or not is_counted(*attributes.resource, attributes.subresource):
        return
    records = cluster.store.named("resourcequotas").select(attributes.namespace)
    if not records:
        return
    judge = evaluator(*attributes.resource, _Surroundings(cluster))
    if not _counts(judge, attributes):
        return
    charges = list(_charges(judge, attributes, [(record, record.object()) for record in records]))
    if not attributes.dry_run:
        attributes.effects += [partial(_charge, cluster, record, used) for record, used in charges]


def _counts(judge: Evaluator, attributes: Attributes) -> bool:
    """Check whether the write may change what is used."""
    if attributes.operation == "CREATE" or judge.counts_updates:
        return True
    if attributes.resource != ("", "pods"):
        return False
    return pods.is_terminating(attributes.object or {}) != pods.is_terminating(attributes.old or {})


def _charges(
    judge: Evaluator, attributes: Attributes, quotas: list[tuple[Record, Object]]
) -> Iterator[tuple[Record, Amounts]]:
    """Compute the new usage of each quota that grows by the request."""
    obj = attributes.object or {}
    concerned = [(record, quota) for record, quota in quotas if _concerns(judge, attributes, quota, obj)]
    if not concerned:
        return
    usage = judge.usage(obj)
    if negative := [name for name, value in usage.items() if value.nanos < 0]:
        raise attributes.refused(f"quota usage is negative for resource(s): {','.join(sorted(negative))}")
    for record, quota in concerned:
        delta = amounts.nonzero(_delta(judge, attributes, quota, usage))
        hard = amounts.parsed(quota["status"].get("hard"))
        requested = amounts.masked(delta, hard.keys())
        if delta:
            used = amounts.parsed(quota["status"].get("used"))
            yield record, _checked(attributes, quota["metadata"]["name"], requested, used, hard)


def _concerns(judge: Evaluator, attributes: Attributes, quota: Object, obj: Object) -> bool:
    """Check whether a quota is about the object; 403 if it is not known how much of it is used."""
    status, name = quota.get("status") or {}, quota["metadata"]["name"]
    hard = list(status.get("hard") or ())
    if not judge.covers(quota, hard, obj):
        return False
    names = judge.matching(hard)
    if why := judge.constraints(names, obj):
        raise attributes.refused(f"failed quota: {name}: {why}")
    if any(limited not in (status.get("used") or {}) for limited in names):
        raise attributes.refused(f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")
    return True


def _delta(judge: Evaluator, attributes: Attributes, quota: Object, usage: Amounts) -> Amounts:
    """Compute what a quota is charged: the whole usage, or the increase if the old object was charged to it already."""
    old = attributes.old
    if old is None or not judge.covers(quota, list(quota["status"].get("hard") or ()), old):
        return usage
    return amounts.increase(usage, judge.usage(old))


def _checked(attributes: Attributes, name: str, requested: Amounts, used: Amounts, hard: Amounts) -> Amounts:
    total = amounts.added(used, requested)
    exceeded = amounts.beyond(amounts.masked(total, requested.keys()), hard)
    # A status reports what has happened, so it cannot be refused.
    if exceeded and attributes.subresource != "status":
        parts = (("requested", requested), ("used", used), ("limited", hard))
        listed = ", ".join(f"{what}: {amounts.shown(each, exceeded)}" for what, each in parts)
        raise attributes.refused(f"exceeded quota: {name}, {listed}")
    return total


def _charge(cluster: GuardedCluster, record: Record, used: Amounts) -> None:
    """Write what is used of a quota now."""
    collection = cluster.store.named("resourcequotas")
    quota = record.object()
    shown = amounts.texts(used)
    if quota["status"].get("used") != shown:
        quota["status"]["used"] = shown
        cluster.store.put(collection, record.key, quota)
