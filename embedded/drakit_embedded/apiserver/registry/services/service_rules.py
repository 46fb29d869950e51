"""What makes a Service, a change of one and its status valid.

After validateService, validateServicePort, ValidateServiceUpdate and ValidateLoadBalancerStatus in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go. The order is that of the causes there.
"""

from __future__ import annotations

from collections.abc import Sequence

from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, duplicate, forbidden, invalid, not_supported, required
from drakit_api.validation.metadata import label_map
from drakit_embedded.apiserver.registry.podspec.containers import probe_rules
from drakit_embedded.apiserver.registry.services import address_rules, ip_texts, service_types
from drakit_embedded.apiserver.registry.strategy import Cluster
from drakit_embedded.apiserver.statuses import FieldFault

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TRAFFIC = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_IP_MODES = ("Proxy", "VIP")
_LONGEST_AFFINITY = 86400
_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_BALANCED = "may only be used when `type` is 'LoadBalancer'"


def create(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Validate a new Service; an error that two rules find is listed once."""
    return list(dict.fromkeys(_service(obj, None)))


def update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Validate a changed Service, like a new one and for changes of what may not change."""
    return list(dict.fromkeys([*_changes(new["spec"], old["spec"]), *_service(new, old)]))


def status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Validate a changed status: the ingress points of its load balancer."""
    return list(_load_balancer_status(new, old))


def _changes(new: Object, old: Object) -> Errors:
    yield from address_rules.changes(new, old)
    both_balanced = new.get("type") == old.get("type") == "LoadBalancer"
    if both_balanced and new.get("loadBalancerClass") != old.get("loadBalancerClass"):
        yield invalid("spec.loadBalancerClass", new.get("loadBalancerClass"), "may not change once set")
    yield from _balancer_class(new)
    checked = service_types.needs_health_check(new) and service_types.needs_health_check(old)
    if checked and new.get("healthCheckNodePort", 0) != old.get("healthCheckNodePort", 0):
        yield forbidden("spec.healthCheckNodePort", "field is immutable")


def _service(obj: Object, old: Object | None) -> Errors:
    spec, was = obj["spec"], old["spec"] if old is not None else None
    annotations = obj["metadata"].get("annotations") or {}
    if _HINTS in annotations and _MODE in annotations and annotations[_HINTS] != annotations[_MODE]:
        detail = f"must match annotations[{_HINTS}] when both are specified"
        yield invalid(f"metadata.annotations[{_MODE}]", annotations[_MODE], detail)
    yield from _of_type(spec)
    yield from _ports(spec)
    yield from label_map(spec.get("selector") or {}, "spec.selector")
    yield from _affinity(spec)
    yield from address_rules.related_fields(spec, was)
    yield from _external_addresses(spec, was)
    yield from _type(spec)
    yield from _unique_ports(spec)
    yield from _source_ranges(obj, old)
    yield from _node_port_allocation(spec)
    yield from _balancer_class(spec)
    yield from _traffic(spec)


def _of_type(spec: Object) -> Errors:
    kind, headless = spec.get("type"), service_types.is_headless(spec)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and headless:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field) or (field == "ipFamilyPolicy" and spec.get(field) is not None):
            yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if name:
        yield from names.dns_subdomain(name, "spec.externalName")
    else:
        yield required("spec.externalName")


def _ports(spec: Object) -> Errors:
    ports, seen = spec.get("ports") or [], set[str]()
    for number, port in enumerate(ports):
        at, name = f"spec.ports[{number}]", port.get("name") or ""
        if name:
            yield from names.dns_label(name, f"{at}.name")
            if name in seen:
                yield duplicate(f"{at}.name", name)
            seen.add(name)
        elif len(ports) > 1:
            yield required(f"{at}.name")
        yield from probe_rules.port_number(port.get("port") or 0, f"{at}.port")
        protocol = port.get("protocol") or ""
        if not protocol:
            yield required(f"{at}.protocol")
        elif protocol not in _PROTOCOLS:
            yield not_supported(f"{at}.protocol", protocol, _PROTOCOLS)
        target = port.get("targetPort") or 0
        if isinstance(target, str):
            yield from probe_rules.port_name(target, f"{at}.targetPort")
        else:
            yield from probe_rules.port_number(target, f"{at}.targetPort")
        if (of_application := port.get("appProtocol")) is not None:
            yield from names.label_key(of_application, f"{at}.appProtocol")


def _affinity(spec: Object) -> Errors:
    affinity, config = spec.get("sessionAffinity") or "", spec.get("sessionAffinityConfig")
    path = "spec.sessionAffinityConfig"
    if not affinity:
        yield required("spec.sessionAffinity")
    elif affinity not in _AFFINITIES:
        yield not_supported("spec.sessionAffinity", affinity, _AFFINITIES)
    elif affinity == "None" and config is not None:
        yield forbidden(path, "must not be set when session affinity is None")
    elif affinity == "ClientIP":
        # Defaults have set the number.
        seconds = config["clientIP"]["timeoutSeconds"] if config else 0
        if not 0 < seconds <= _LONGEST_AFFINITY:
            detail = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            yield invalid(f"{path}.clientIP.timeoutSeconds", seconds, detail)


def _external_addresses(spec: Object, old: Object | None) -> Errors:
    known = (old or {}).get("externalIPs") or []
    for number, address in enumerate(spec.get("externalIPs") or ()):
        at = f"spec.externalIPs[{number}]"
        wrong = [] if address in known else list(ip_texts.address(address, at))
        yield from wrong or ip_texts.endpoint(address, at)


def _type(spec: Object) -> Errors:
    kind = spec.get("type") or ""
    if not kind:
        yield required("spec.type")
    elif kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    if kind == "ClusterIP":
        for number, port in enumerate(spec.get("ports") or ()):
            if port.get("nodePort"):
                yield forbidden(f"spec.ports[{number}].nodePort", "may not be used when `type` is 'ClusterIP'")


def _unique_ports(spec: Object) -> Errors:
    ports = spec.get("ports") or []
    seen: set[tuple[str, int]] = set()
    for number, port in enumerate(ports):
        if node_port := port.get("nodePort"):
            if (port.get("protocol", ""), node_port) in seen:
                yield duplicate(f"spec.ports[{number}].nodePort", node_port)
            seen.add((port.get("protocol", ""), node_port))
    seen.clear()
    for number, port in enumerate(ports):
        key = port.get("protocol", ""), port.get("port", 0)
        if key in seen:
            yield duplicate(f"spec.ports[{number}]", _shown_port(*key))
        seen.add(key)


def _shown_port(protocol: str, port: int) -> Object:
    """Build a port with these fields only, as Go prints its struct."""
    return {
        "Name": "",
        "Protocol": protocol,
        "AppProtocol": None,
        "Port": port,
        "TargetPort": 0,
        "NodePort": 0,
    }


def _source_ranges(obj: Object, old: Object | None) -> Errors:
    spec, was = obj["spec"], (old or {}).get("spec") or {}
    balanced = spec.get("type") == "LoadBalancer"
    if ranges := spec.get("loadBalancerSourceRanges"):
        path = "spec.LoadBalancerSourceRanges"
        if not balanced:
            yield forbidden(path, _BALANCED)
        known = {text.strip() for text in was.get("loadBalancerSourceRanges") or ()}
        for number, text in enumerate(ranges):
            if text.strip() not in known:
                yield from ip_texts.network(text.strip(), f"{path}[{number}]")
        return
    annotated = (obj["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    if annotated is None:
        return
    path = f"metadata.annotations[{_SOURCE_RANGES}]"
    if not balanced:
        yield forbidden(path, _BALANCED)
    before = (((old or {}).get("metadata") or {}).get("annotations") or {}).get(_SOURCE_RANGES)
    if annotated != before and annotated.strip():
        for text in annotated.strip().split(","):
            yield from ip_texts.network(text.strip(), path)


def _node_port_allocation(spec: Object) -> Errors:
    given, balanced = spec.get("allocateLoadBalancerNodePorts"), spec.get("type") == "LoadBalancer"
    if given is not None and not balanced:
        yield forbidden("spec.allocateLoadBalancerNodePorts", _BALANCED)
    if given is None and balanced:
        yield required("allocateLoadBalancerNodePorts")


def _balancer_class(spec: Object) -> Errors:
    given, path = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if given is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from names.label_key(given, path)
    else:
        yield forbidden(path, _BALANCED)


def _traffic(spec: Object) -> Errors:
    external = spec.get("externalTrafficPolicy") or ""
    path = "spec.externalTrafficPolicy"
    if not service_types.is_external(spec):
        if external:
            yield invalid(path, external, "may only be set for externally-accessible services")
    elif not external:
        yield required(path)
    elif external not in _TRAFFIC:
        yield not_supported(path, external, _TRAFFIC)
    yield from _health_check(spec)
    internal = spec.get("internalTrafficPolicy")
    if internal is None and spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
        yield required("spec.internalTrafficPolicy")
    if internal is not None and internal not in _TRAFFIC:
        yield not_supported("spec.internalTrafficPolicy", internal, _TRAFFIC)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


def _health_check(spec: Object) -> Errors:
    port, path = spec.get("healthCheckNodePort") or 0, "spec.healthCheckNodePort"
    if service_types.needs_health_check(spec):
        if port:
            yield from probe_rules.port_number(port, path)
        else:
            yield required(path)
    elif port:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid(path, port, detail)


def _load_balancer_status(new: Object, old: Object) -> Errors:
    def ingress_of(obj: Object) -> list[Object]:
        return list(((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ())

    path, points = "status.loadBalancer.ingress", ingress_of(new)
    if new["spec"].get("type") != "LoadBalancer" and points:
        yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    known = {point["ip"] for point in ingress_of(old) if point.get("ip")}
    for number, point in enumerate(points):
        yield from _ingress(point, f"{path}[{number}]", known)


def _ingress(point: Object, at: str, known: set[str]) -> Errors:
    address, mode, host = point.get("ip") or "", point.get("ipMode"), point.get("hostname") or ""
    if address and address not in known:
        yield from ip_texts.address(address, f"{at}.ip")
    if mode is None:
        if address:
            yield required(f"{at}.ipMode", "must be specified when `ip` is set")
    elif not address:
        yield forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set")
    elif mode not in _IP_MODES:
        yield not_supported(f"{at}.ipMode", mode, _IP_MODES)
    if host:
        yield from names.dns_subdomain(host, f"{at}.hostname")
        if ip_texts.is_address(host):
            yield invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address")
