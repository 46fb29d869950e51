"""ResourcePoolStatusRequests: a question about the devices of a driver that a controller answers once, in the status.

After k8s.io/kubernetes pkg/registry/resource/resourcepoolstatusrequest/strategy.go, and the rules in
pkg/apis/resource/validation/validation_resourcepoolstatusrequest.go and
pkg/apis/resource/v1alpha3/zz_generated.validations.go. There is no controller for them here.
"""

from __future__ import annotations

from collections.abc import Sequence

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.conditions import conditions
from drakit_api.validation.errors import Errors, invalid, required
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.statuses import FieldFault

_LIMIT, _HIGHEST_LIMIT = 100, 1000
_PARTITION_GATE = "DRAPartitionableDevicesType"
_PARTITION_FIELD = "defaultPartitionTypeAttribute"


def _default(obj: Object, cluster: Cluster) -> None:
    obj.setdefault("spec", {}).setdefault("limit", _LIMIT)


def _prepare_create(obj: Object, cluster: Cluster) -> None:
    if not cluster.gates.enabled(_PARTITION_GATE):
        obj["spec"].pop(_PARTITION_FIELD, None)


def _prepare_update(new: Object, old: Object, cluster: Cluster) -> None:
    if _PARTITION_FIELD not in old["spec"]:
        _prepare_create(new, cluster)


def _validate(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return list(_spec_faults(obj["spec"]))


def _spec_faults(spec: Object) -> Errors:
    driver, limit = spec.get("driver", ""), spec["limit"]
    if not driver:
        yield required("spec.driver")
    else:
        for problem in formats.dns_subdomain(driver.lower()):
            yield invalid("spec.driver", driver, problem)
    if spec.get("poolName") is not None:
        yield from names.pool(spec["poolName"], "spec.poolName")
    if limit > _HIGHEST_LIMIT:
        yield invalid("spec.limit", limit, f"must be less than or equal to {_HIGHEST_LIMIT}")
    if limit < 1:
        yield invalid("spec.limit", limit, "must be greater than or equal to 1")


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    if new["spec"] == old["spec"]:
        return ()
    return [invalid("spec", new["spec"], "field is immutable")]


def _validate_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Validate the status, which is set once and then immutable."""
    status = new.get("status")
    if old.get("status") is not None:
        return () if status == old["status"] else [invalid("status", status, "field is immutable")]
    return list(_status_faults(status)) if status is not None else ()


def _status_faults(status: Object) -> Errors:
    yield from conditions(status.get("conditions"), "status.conditions")
    if status.get("poolCount") is None:
        yield required("status.poolCount")
    elif status["poolCount"] < 0:
        yield invalid("status.poolCount", status["poolCount"], "must be greater than or equal to 0")


STRATEGIES = {
    ("resource.k8s.io", "resourcepoolstatusrequests"): Strategy(
        default=_default,
        prepare_create=_prepare_create,
        prepare_update=_prepare_update,
        validate_create=_validate,
        validate_update=_validate_update,
        validate_status=_validate_status,
        unconditional_update=False,
        returns_deleted=True,
    )
}
