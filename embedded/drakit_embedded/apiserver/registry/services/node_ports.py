"""Ports that nodes listen on for Services: 30000 to 32767, each for one Service.

Which are taken is read from the Services that there are. After
k8s.io/kubernetes/pkg/registry/core/service/portallocator/{allocator,operation}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import chain

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.services import service_types
from drakit_embedded.apiserver.scheme import metadata

_FIRST, _LAST = 30000, 32767
# Allocated last, so that users can ask for them (calculateRangeOffset).
_KEPT_FREE = min(max(16, (_LAST - _FIRST + 1) // 32), 128)
# Dry runs are allocated ports above this one.
_DRY = 32768


class PortError(Exception):
    """A port cannot be allocated; the message is that of kube-apiserver's allocator."""


def taken(services: Iterable[Object]) -> set[int]:
    """Collect all node ports that Services have."""
    found: set[int] = set()
    for service in services:
        spec = service.get("spec") or {}
        if service_types.has_node_ports(spec):
            found.update(service_types.node_ports(spec))
            if service_types.needs_health_check(spec) and spec.get("healthCheckNodePort"):
                found.add(spec["healthCheckNodePort"])
    return found


class Operation:
    """The ports that one write allocates; they count as taken only once the Service is stored."""

    def __init__(self, taken: Set[int], *, dry_run: bool) -> None:
        self._taken = taken
        self._dry_run = dry_run
        self._mine: list[int] = []

    def take(self, port: int) -> None:
        """Allocate a port; raises ``PortError`` if that is not possible."""
        if not self._dry_run and not _FIRST <= port <= _LAST:
            raise PortError(f"provided port is not in the valid range. The range of valid ports is {_FIRST}-{_LAST}")
        if port in self._taken or port in self._mine:
            raise PortError("provided port is already allocated")
        self._mine.append(port)

    def take_any(self) -> int:
        """Allocate a free port; raises ``PortError`` if there is none."""
        port = max(self._mine, default=_DRY) + 1 if self._dry_run else self._free()
        self._mine.append(port)
        return port

    def _free(self) -> int:
        for low, high in ((_FIRST + _KEPT_FREE, _LAST), (_FIRST, _FIRST + _KEPT_FREE - 1)):
            start = low + metadata.random_below(high - low + 1)
            for port in chain(range(start, high + 1), range(low, start)):
                if port not in self._taken and port not in self._mine:
                    return port
        raise PortError("range is full")
