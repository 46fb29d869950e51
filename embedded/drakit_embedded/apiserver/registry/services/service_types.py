"""What follows from the type of a Service: which of its fields mean anything.

After pkg/registry/core/service/strategy.go and pkg/api/service/util.go in k8s.io/kubernetes.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object

NO_ADDRESS = "None"


def needs_address(spec: Object) -> bool:
    """Check whether it has cluster addresses, or says that it wants none."""
    return spec.get("type") != "ExternalName"


def is_headless(spec: Object) -> bool:
    """Check whether it wants no address."""
    return spec.get("clusterIPs") == [NO_ADDRESS]


def has_node_ports(spec: Object) -> bool:
    """Check whether nodes may listen for it."""
    return spec.get("type") in ("NodePort", "LoadBalancer")


def takes_node_ports(spec: Object) -> bool:
    """Check whether it is given node ports that it does not ask for."""
    kind = spec.get("type")
    return kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def is_external(spec: Object) -> bool:
    """Check whether there is a way to the Service from outside of the cluster (ExternallyAccessible)."""
    return has_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Object) -> bool:
    """Check whether a load balancer has to find out which nodes have endpoints (NeedsHealthCheck)."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def node_ports(spec: Object) -> list[int]:
    """List the node ports of the Service's ports."""
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
