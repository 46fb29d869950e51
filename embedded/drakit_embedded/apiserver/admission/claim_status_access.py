"""Who may change which part of a ResourceClaim's status, beyond the right to write it at all.

Allocation and reservation are the scheduler's: they need the verb of the request on ``resourceclaims/binding``. Each
driver's entries in ``devices`` need ``resourceclaims/driver`` under the driver's name, with a verb that says where the
writer is: ``associated-node:update`` for a service account on the node that the claim is allocated to,
``arbitrary-node:update`` for any. Neither subresource exists but for this.

After k8s.io/kubernetes/pkg/registry/resource/utils.go, behind the gate DRAResourceClaimGranularStatusAuthorization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import schema
from drakit_api.objects.allocations import device_id
from drakit_api.objects.equality import comparison, same_field
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.identity.users import bound_node
from drakit_embedded.apiserver.statuses import Cause, FieldFault

if TYPE_CHECKING:
    from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

RESOURCE = schema.GROUP, "resourceclaims"
_GATE = "DRAResourceClaimGranularStatusAuthorization"


def faults(request: Attributes, cluster: GuardedCluster) -> list[FieldFault]:
    """List what the user may not change of the status that it sends."""
    if not cluster.gates.enabled(_GATE):
        return []
    new, old = (request.object or {}).get("status") or {}, (request.old or {}).get("status") or {}
    found = _of_binding(request, new, old, cluster)
    if new.get("allocation"):
        # Without an allocation, all device statuses go, whoever wrote them.
        found += _of_devices(request, new, old, cluster)
    return found


def _of_binding(request: Attributes, new: Object, old: Object, cluster: GuardedCluster) -> list[FieldFault]:
    fields = ("allocation", "reservedFor")
    if all(same_field("resource/v1.ResourceClaimStatus", field, new, old) for field in fields):
        return []
    decision = Access(request.user, request.verb, *RESOURCE, "binding")
    if not (why := _refusal(decision, cluster)):
        return []
    what = f'resource="resourceclaims/binding", verb="{request.verb}" permission'
    text = f"changing status.allocation or status.reservedFor requires {what}: {why}"
    return [Cause("FieldValueForbidden", "status.allocation", f"Forbidden: {text}")]


def _of_devices(request: Attributes, new: Object, old: Object, cluster: GuardedCluster) -> list[FieldFault]:
    verbs = [f"arbitrary-node:{request.verb}"]
    node = _allocated_node(new["allocation"])
    if node and bound_node(request.user) == node:
        verbs.insert(0, f"associated-node:{request.verb}")
    found: list[FieldFault] = []
    for driver in sorted(_changed_drivers(new, old)):
        refusals = [
            _refusal(Access(request.user, verb, *RESOURCE, "driver", request.namespace, driver), cluster)
            for verb in verbs
        ]
        if all(refusals):
            what = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
            text = f"changing status.devices requires {what}: {refusals[0]}"
            found.append(Cause("FieldValueForbidden", "status.devices", f"Forbidden: {text}"))
    return found


def _refusal(access: Access, cluster: GuardedCluster) -> str:
    decision = cluster.authorizer.decide(access)
    return "" if decision.allowed else access.refusal(decision.reason).message


def _changed_drivers(new: Object, old: Object) -> set[str]:
    """Find the drivers with a device status that was added, removed or changed."""
    same = comparison(schema.load(), "resource/v1.AllocatedDeviceStatus")
    before = {device_id(device): device for device in old.get("devices") or ()}
    changed = set()
    for device in new.get("devices") or ():
        key = device_id(device)
        previous = before.pop(key, None)
        if previous is None or not same(previous, device):
            changed.add(key[0])
    return changed | {key[0] for key in before}


def _allocated_node(allocation: Object) -> str:
    """Find the one node that a claim is allocated to by name; empty if there is none."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields: list[dict[str, Any]] = terms[0].get("matchFields") or []
    if len(fields) != 1 or (fields[0].get("key"), fields[0].get("operator")) != ("metadata.name", "In"):
        return ""
    values = fields[0].get("values") or []
    return str(values[0]) if len(values) == 1 else ""
