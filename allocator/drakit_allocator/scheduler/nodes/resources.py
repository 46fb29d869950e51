"""What a pod asks of a node: the largest amount of each resource that it needs at any moment of its life.

Pod-level requests replace what the containers need for cpu, memory and huge pages; overhead comes on top.

Amounts are integers as the scheduler compares them: cpu in thousandths, everything else in whole units, rounded up.
Source: k8s.io/component-helpers ``resource/helpers.go`` (PodRequests) and kubernetes
``pkg/scheduler/framework/plugins/noderesources/fit.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from drakit_api.core.containers import is_sidecar
from drakit_api.core.pod_resources import is_of_pods, needed
from drakit_api.quantity import Quantity

Amounts = dict[str, int]

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
# What a container without a request counts for in scores, so that such pods spread too
# (kubernetes pkg/scheduler/util/pod_resources.go).
_UNSET = {CPU: 100, MEMORY: 200 * 1024 * 1024}
_NANOS = 1_000_000_000


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """Convert a quantity to the unit of its resource: thousandths for cpu. Raises ``QuantityError``."""
    nanos = Quantity.parse(text).nanos
    return -(-nanos // 1_000_000) if resource == CPU else -(-nanos // _NANOS)


def amounts(quantities: Mapping[str, Any] | None) -> Amounts:
    """Convert a resource list to integers. Raises ``QuantityError``."""
    return {name: amount(name, str(value)) for name, value in (quantities or {}).items()}


def schedulable(name: str) -> bool:
    """Tell whether the scheduler compares this resource: extended ones have a domain, native ones are the known few."""
    return name in (CPU, MEMORY, STORAGE) or "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def pod_requests(spec: Mapping[str, Any]) -> Amounts:
    """Compute the requests of a pod, without zero amounts."""
    total = needed(spec, "requests", amounts)
    return {name: value for name, value in total.items() if value and schedulable(name)}


def nonzero_requests(spec: Mapping[str, Any]) -> tuple[int, int]:
    """Return cpu and memory for scores, with the defaults for containers that request none."""
    total = needed(spec, "requests", amounts, unset=_unset(spec))
    return total.get(CPU, 0), total.get(MEMORY, 0)


def _unset(spec: Mapping[str, Any]) -> Amounts:
    """Return the defaults; for a pod that has requests as a whole only those of resources that nobody requests.

    As ``getNonMissingContainerRequests``.
    """
    if not any(map(is_of_pods, (spec.get("resources") or {}).get("requests") or ())):
        return _UNSET
    said = needed(spec, "requests", amounts)
    return {name: value for name, value in _UNSET.items() if name not in said}


def host_ports(spec: Mapping[str, Any]) -> frozenset[tuple[str, str, int]]:
    """Return (address, protocol, port) of each port that a pod takes on its node; address 0.0.0.0 means all of them."""
    found = set()
    sidecars = filter(is_sidecar, spec.get("initContainers") or ())
    for container in [*(spec.get("containers") or []), *sidecars]:
        for port in container.get("ports") or []:
            if number := port.get("hostPort") or 0:
                found.add((port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", number))  # noqa: S104
    return frozenset(found)
