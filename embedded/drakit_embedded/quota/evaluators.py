"""One evaluator for each kind that counts (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/registry.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import ZERO, Quantity
from drakit_embedded.quota import claims, pods, scopes, volumes
from drakit_embedded.quota.amounts import ONE, Amounts
from drakit_embedded.quota.claims import Surroundings
from drakit_embedded.quota.names import count_of
from drakit_embedded.quota.scopes import Requirement

# Kinds that can also be counted by their plural, without ``count/``.
_ALIASES = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
_SERVICES = ("services", "services.loadbalancers", "services.nodeports")
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events"), ("", "bindings"), ("", "componentstatuses")})


def _never(requirement: Requirement, obj: Object) -> bool:
    return False


def _anything(names: Iterable[str], obj: Object) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The functions that count objects of one kind."""

    # Selects the names in a quota that the kind counts for.
    matching: Callable[[Iterable[str]], list[str]]
    usage: Callable[[Object], Amounts]
    in_scope: Callable[[Requirement, Object], bool] = _never
    # Says what the object lacks that a quota on these names requires; empty if nothing.
    constraints: Callable[[Iterable[str], Object], str] = _anything
    # Whether an update of an object may change its usage.
    counts_updates: bool = False
    # Whether an update of its status may, too; that is charged, and never refused.
    counts_status: bool = False

    def covers(self, quota: Object, names: Iterable[str], obj: Object) -> bool:
        """Check whether a quota with these names is about an object."""
        return bool(self.matching(names)) and all(self.in_scope(scope, obj) for scope in scopes.of(quota))


def is_counted(group: str, plural: str, subresource: str = "") -> bool:
    """Check whether writes of a kind, or of a subresource of it, may count."""
    if not subresource:
        return (group, plural) not in _IGNORED
    known = _KNOWN.get((group, plural))
    return known is not None and known.counts_status and subresource == "status"


def evaluator(group: str, plural: str, around: Surroundings) -> Evaluator:
    """Choose the evaluator of a kind; without one of its own, its objects are counted."""
    if (group, plural) == ("resource.k8s.io", "resourceclaims"):
        return Evaluator(
            partial(claims.matching, around=around),
            partial(claims.usage, around=around),
            counts_updates=True,
        )
    known = _KNOWN.get((group, plural))
    if known is not None:
        return known
    names = (count_of(group, plural), *((plural,) if not group and plural in _ALIASES else ()))
    return Evaluator(partial(_among, names), lambda _: dict.fromkeys(names, ONE))


def _among(own: tuple[str, ...], names: Iterable[str]) -> list[str]:
    return [name for name in names if name in own]


def _service(service: Object) -> Amounts:
    spec = service.get("spec") or {}
    ports = spec.get("ports") or ()
    used = {count_of("", "services"): ONE, "services": ONE, "services.loadbalancers": ZERO, "services.nodeports": ZERO}
    if spec.get("type") == "LoadBalancer":
        used["services.loadbalancers"] = ONE
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
    if spec.get("type") in ("LoadBalancer", "NodePort"):
        used["services.nodeports"] = Quantity.of(len(ports))
    return used


_KNOWN = {
    ("", "pods"): Evaluator(pods.matching, pods.usage, pods.in_scope, pods.constraints),
    ("", "services"): Evaluator(partial(_among, (count_of("", "services"), *_SERVICES)), _service, counts_updates=True),
    ("", "persistentvolumeclaims"): Evaluator(
        volumes.matching, volumes.usage, volumes.in_scope, counts_updates=True, counts_status=True
    ),
}
