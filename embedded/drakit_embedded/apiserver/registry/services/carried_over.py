"""What a changed Service keeps of the stored one although the client left it out, and what it loses with its type.

After pkg/registry/core/service/storage/storage.go (normalizeClusterIPs, patchAllocatedValues) and strategy.go
(dropTypeDependentFields) in k8s.io/kubernetes. All functions here take specs.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.services import service_types
from drakit_embedded.apiserver.registry.services.service_types import needs_address, needs_health_check


def keep_allocated(new: Object, old: Object) -> None:
    """Keep addresses and node ports that the client does not name: who applies a manifest again changes nothing."""
    if needs_address(old) and needs_address(new):
        for field in ("clusterIP", "clusterIPs"):
            if not new.get(field) and old.get(field):
                new[field] = old[field]
    if service_types.takes_node_ports(old) and service_types.takes_node_ports(new):
        _keep_node_ports(new, old)
    port = new.get("healthCheckNodePort") or old.get("healthCheckNodePort")
    if port and needs_health_check(old) and needs_health_check(new):
        new["healthCheckNodePort"] = port


def _keep_node_ports(new: Object, old: Object) -> None:
    """Keep the node port of each port by its name, unless another port has it now."""
    used = {*service_types.node_ports(old)} & {*service_types.node_ports(new)}
    by_name = {port.get("name", ""): port.get("nodePort") for port in old.get("ports") or ()}
    for port in new.get("ports") or ():
        before = by_name.get(port.get("name", ""))
        if not port.get("nodePort") and before and before not in used:
            port["nodePort"] = before


def match_addresses(new: Object, old: Object | None) -> None:
    """Update ``clusterIPs`` for clients that know ``clusterIP`` only."""
    first, addresses = new.get("clusterIP") or "", new.get("clusterIPs") or []
    if old is None:
        if first and not addresses:
            new["clusterIPs"] = [first]
        return
    old_first, old_addresses = old.get("clusterIP") or "", old.get("clusterIPs") or []
    if first == old_first:
        if old_addresses and not addresses:
            new["clusterIPs"] = old_addresses
    elif addresses == old_addresses:
        if first:
            new["clusterIPs"] = [first]
        else:
            new.pop("clusterIPs", None)


def drop_of_other_types(new: Object, old: Object) -> None:
    """Drop what the new type has no use for, as long as the client did not change it at the same time."""
    if needs_address(old) and not needs_address(new):
        if _same(new, old, "clusterIP", "clusterIPs"):
            _drop(new, "clusterIP", "clusterIPs")
        _drop_unchanged(new, old, "ipFamilies", "ipFamilyPolicy")
    loses_ports = service_types.has_node_ports(old) and not service_types.has_node_ports(new)
    if loses_ports and {*service_types.node_ports(new)} <= {*service_types.node_ports(old)}:
        for port in new.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(old) and not needs_health_check(new):
        _drop_unchanged(new, old, "healthCheckNodePort")
    if old.get("type") == "LoadBalancer" != new.get("type"):
        _drop_unchanged(new, old, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if service_types.is_external(old) and not service_types.is_external(new):
        _drop_unchanged(new, old, "externalTrafficPolicy")


def _same(new: Object, old: Object, *fields: str) -> bool:
    """Check whether fields are alike; an empty one is like none."""
    return all((new.get(field) or None) == (old.get(field) or None) for field in fields)


def _drop_unchanged(new: Object, old: Object, *fields: str) -> None:
    _drop(new, *(field for field in fields if _same(new, old, field)))


def _drop(spec: Object, *fields: str) -> None:
    for field in fields:
        spec.pop(field, None)
