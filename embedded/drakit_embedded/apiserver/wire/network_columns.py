"""The columns of services, of what is behind them, and of the addresses that they have.

One entry a kind, as in ``columns``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.wire.columns import NONE, Cells, age_of, label_texts, name_of

_SHOWN = 3


def _service(obj: Object) -> list[Any]:
    spec = obj.get("spec") or {}
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP") or NONE]
    external = ",".join(spec.get("externalIPs") or ())
    match kind := spec.get("type") or "ClusterIP":
        case "LoadBalancer":
            points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
            found = sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})
            external = ",".join([*found, *filter(None, [external])]) or "<pending>"
        case "ExternalName":
            external = spec.get("externalName", "")
    ports = [_port(port) for port in spec.get("ports") or ()]
    return [
        name_of(obj),
        kind,
        addresses[0],
        external or NONE,
        ",".join(ports) or NONE,
        age_of(obj),
        label_texts(spec.get("selector")),
    ]


def _port(port: Object) -> str:
    outside = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{outside}/{port.get('protocol') or 'TCP'}"


def _endpoints(obj: Object) -> list[Any]:
    """Print every address of each port (formatEndpoints)."""
    found = [
        _host_port(address.get("ip", ""), port)
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or (None,)
        for address in subset.get("addresses") or ()
    ]
    shown = _first(found) if obj.get("subsets") else NONE
    return [name_of(obj), shown, age_of(obj)]


def _host_port(host: str, port: Object | None) -> str:
    if port is None:
        return host
    return f"[{host}]:{port.get('port', 0)}" if ":" in host else f"{host}:{port.get('port', 0)}"


def _endpoint_slice(obj: Object) -> list[Any]:
    ports = [_port_number(port) for port in obj.get("ports") or ()]
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    shown = [_first(ports) or "<unset>", _first(addresses) or "<unset>"]
    return [name_of(obj), obj.get("addressType", ""), *shown, age_of(obj)]


def _port_number(port: Object) -> str:
    """Show the number of a port; without one, its name or ``*``, as it means all ports."""
    if port.get("port") is not None:
        return str(port["port"])
    return str(port["name"]) if port.get("name") is not None else "*"


def _first(texts: Sequence[str]) -> str:
    """Join the first few texts, and say how many more there are."""
    more = len(texts) - _SHOWN
    return ",".join(texts[:_SHOWN]) + (f" + {more} more..." if more > 0 else "")


def _service_cidr(obj: Object) -> list[Any]:
    return [name_of(obj), ",".join((obj.get("spec") or {}).get("cidrs") or ()), age_of(obj)]


def _ip_address(obj: Object) -> list[Any]:
    """Fill the cells, one more than the kind has columns, as Kubernetes does (printIPAddress)."""
    parent = (obj.get("spec") or {}).get("parentRef")
    shown = NONE
    if parent:
        kind = f"{parent.get('resource', '')}.{parent['group']}" if parent.get("group") else parent.get("resource", "")
        shown = "/".join([kind.lower(), *filter(None, [parent.get("namespace")]), parent.get("name", "")])
    return [name_of(obj), shown, age_of(obj)]


PRINTERS: dict[tuple[str, str], tuple[tuple[str, ...], Cells]] = {
    ("", "services"): (("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "-Selector"), _service),
    ("", "endpoints"): (("Name", "Endpoints", "Age"), _endpoints),
    ("discovery.k8s.io", "endpointslices"): (("Name", "AddressType", "Ports", "Endpoints", "Age"), _endpoint_slice),
    ("networking.k8s.io", "servicecidrs"): (("Name", "CIDRs", "Age"), _service_cidr),
    ("networking.k8s.io", "ipaddresses"): (("Name", "ParentRef"), _ip_address),
}
