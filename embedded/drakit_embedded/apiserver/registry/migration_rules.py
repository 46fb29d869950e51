"""StorageVersionMigrations: one resource whose objects are to be written anew, and how far that has come.

After k8s.io/kubernetes pkg/registry/storagemigration/storagemigration/strategy.go and
pkg/apis/storagemigration/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from drakit_api import formats
from drakit_api.core.conditions import is_true
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.conditions import conditions
from drakit_api.validation.errors import Errors, invalid, required
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.statuses import FieldFault

_RESOURCE_VERSION = re.compile("[1-9][0-9]*")


def _validate(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return list(_spec_faults(_resource(obj)))


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    faults = list(_spec_faults(_resource(new)))
    if _resource(new) != _resource(old):
        # As Go prints its internal form.
        faults.append(invalid("spec", {"Resource": _resource(new)}, "field is immutable"))
    return faults


def _resource(obj: Object) -> dict[str, str]:
    given = (obj.get("spec") or {}).get("resource") or {}
    return {"group": given.get("group") or "", "resource": given.get("resource") or ""}


def _spec_faults(given: dict[str, str]) -> Errors:
    group, resource = given["group"], given["resource"]
    if not resource:
        yield required("spec.resource.resource", "resource is required to be set")
    elif problems := formats.dns_1035_label(resource):
        yield invalid("spec.resource.resource", resource, ",".join(problems))
    if group and (problems := formats.dns_subdomain(group)):
        yield invalid("spec.resource.group", group, ",".join(problems))


def _validate_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return list(_status_faults(new, old))


def _status_faults(new: Object, old: Object) -> Errors:
    status = new.get("status") or {}
    version, before = status.get("resourceVersion") or "", (old.get("status") or {}).get("resourceVersion") or ""
    if version and not _RESOURCE_VERSION.fullmatch(version):
        yield invalid("status.resourceVersion", version, f"resource version is not well formed: {version}")
    yield from conditions(status.get("conditions"), "status.conditions")
    if before and before != version:
        yield invalid("status.resourceVersion", version, "field is immutable")
    for detail in _contradictions(new, old):
        yield invalid("status.conditions", status.get("conditions"), detail)


def _contradictions(new: Object, old: Object) -> list[str]:
    found = []
    if is_true(new, "Succeeded") and is_true(new, "Failed"):
        found.append("Both success and failed conditions cannot be true at the same time")
    for kind, name in (("Succeeded", "Success"), ("Failed", "Failed")):
        if is_true(old, kind) and not is_true(new, kind):
            found.append(f"{name} condition cannot be set to false once it is true")
    return found


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("storagemigration.k8s.io", "storageversionmigrations"): Strategy(
        validate_create=_validate,
        validate_update=_validate_update,
        validate_status=_validate_status,
        unconditional_update=False,
    ),
}
