"""What whoever writes a Service is warned of (k8s.io/kubernetes/pkg/api/service/warnings.go)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.services import ip_texts, service_types
from drakit_embedded.apiserver.registry.services.service_types import NO_ADDRESS

_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"


def of_service(obj: Object) -> Sequence[str]:
    """Collect all warnings about a Service, in their order."""
    spec = obj["spec"]
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == NO_ADDRESS
    return list(_of_service(obj, spec, headless=headless))


def _of_service(obj: Object, spec: Object, *, headless: bool) -> Iterator[str]:
    named, external = spec.get("type") == "ExternalName", spec.get("externalIPs") or []
    if _HINTS in (obj["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if not service_types.is_headless(spec):
        yield from _of_addresses(spec.get("clusterIPs") or (), "spec.clusterIPs")
    if headless:
        yield from _of_headless(spec)
    yield from _of_addresses(external, "spec.externalIPs")
    if external and not headless and not named:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("loadBalancerIP"):
        yield from ip_texts.address_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for number, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from ip_texts.network_warnings(network, f"spec.loadBalancerSourceRanges[{number}]")
    if named and external:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not named and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _of_addresses(addresses: Sequence[str], path: str) -> Iterator[str]:
    for number, address in enumerate(addresses):
        yield from ip_texts.address_warnings(address, f"{path}[{number}]")


def _of_headless(spec: Object) -> Iterator[str]:
    for field, ignored in (
        ("loadBalancerIP", spec.get("loadBalancerIP")),
        ("externalIPs", spec.get("externalIPs")),
        ("SessionAffinity", spec.get("sessionAffinity") != "None"),
    ):
        if ignored:
            yield f"spec.{field} is ignored for headless services"
