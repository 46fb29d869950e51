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

from drakit_api.core.pod_resources import add, needed_together
from drakit_api.quantity import Quantity

Amounts = dict[str, int]

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
# What a container without a request counts for in scores, so that such pods spread too
# (kubernetes pkg/scheduler/util/pod_resources.go).
_UNSET_CPU, _UNSET_MEMORY = 100, 200 * 1024 * 1024
_NANOS = 1_000_000_000
_POD_LEVEL = (CPU, MEMORY)


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """Convert a quantity to the unit of its resource: thousandths for cpu. Raises ``QuantityError``."""
    nanos = Quantity.parse(text).nanos
    return -(-nanos // 1_000_000) if resource == CPU else -(-nanos // _NANOS)


def amounts(quantities: Mapping[str, Any] | None) -> Amounts:
    """Convert a resource list to integers. Raises ``QuantityError``."""
    return {name: amount(name, str(value)) for name, value in (quantities or {}).items()}


def schedulable(name: str) -> bool:
    """Whether the scheduler compares this resource: extended ones have a domain, native ones are the known few."""
    return name in (CPU, MEMORY, STORAGE) or "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def pod_requests(spec: Mapping[str, Any]) -> Amounts:
    """Compute the requests of a pod, without zero amounts."""
    total = _containers(spec, {})
    for name, value in amounts((spec.get("resources") or {}).get("requests")).items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            total[name] = value
    add(total, amounts(spec.get("overhead")))
    return {name: value for name, value in total.items() if value and schedulable(name)}


def nonzero_requests(spec: Mapping[str, Any]) -> tuple[int, int]:
    """cpu and memory for scores, with the defaults for containers that request none."""
    total = _containers(spec, {CPU: _UNSET_CPU, MEMORY: _UNSET_MEMORY})
    pod_level = amounts((spec.get("resources") or {}).get("requests"))
    overhead = amounts(spec.get("overhead"))
    cpu = pod_level.get(CPU, total.get(CPU, 0)) + overhead.get(CPU, 0)
    memory = pod_level.get(MEMORY, total.get(MEMORY, 0)) + overhead.get(MEMORY, 0)
    return cpu, memory


def host_ports(spec: Mapping[str, Any]) -> frozenset[tuple[str, str, int]]:
    """(address, protocol, port) of each port that a pod takes on its node; address 0.0.0.0 means all of them."""
    found = set()
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    for container in [*(spec.get("containers") or []), *sidecars]:
        for port in container.get("ports") or []:
            if number := port.get("hostPort") or 0:
                found.add((port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", number))  # noqa: S104
    return frozenset(found)


def _containers(spec: Mapping[str, Any], unset: Amounts) -> Amounts:
    def requests(container: Mapping[str, Any]) -> Amounts:
        return {**unset, **amounts((container.get("resources") or {}).get("requests"))}

    return needed_together(spec, requests)
