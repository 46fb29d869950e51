"""Cluster addresses: the range that they are of, and which of it are taken.

An address is taken while there is an IPAddress of its name, as in kube-apiserver. After
k8s.io/kubernetes/pkg/registry/core/service/ipallocator/{cidrallocator,ipallocator}.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from itertools import chain

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.registry.services import ip_texts
from drakit_embedded.apiserver.registry.services.service_types import needs_address
from drakit_embedded.apiserver.scheme import metadata

# The same range as in drakit's clusters with a real API server.
RANGE = ipaddress.IPv4Network("10.96.0.0/16")
FAMILY = "IPv4"
# The address of the API server itself.
FIRST = str(RANGE[1])
# Allocated last, so that users can ask for them (calculateRangeOffset).
_KEPT_FREE = min(max(16, RANGE.num_addresses // 16), 256)
_MANAGED_BY = "ipallocator.k8s.io"
IsTaken = Callable[[str], bool]


class AddressError(Exception):
    """An address cannot be allocated; the message is that of kube-apiserver's allocator."""


def check(address: str, is_taken: IsTaken, *, dry_run: bool) -> None:
    """Raise ``AddressError`` for an address that a Service asks for and cannot have; a dry run sees the range only."""
    parsed = ipaddress.ip_address(address)
    if parsed not in RANGE or parsed in (RANGE.network_address, RANGE.broadcast_address):
        if dry_run:
            raise AddressError(
                f"the provided IP ({parsed}) is not in the valid range. The range of valid IPs is {RANGE}"
            )
        raise AddressError("the provided network does not match the current range")
    if not dry_run and is_taken(str(parsed)):
        raise AddressError("provided IP is already allocated")


def free(name: str, is_taken: IsTaken, *, dry_run: bool) -> str:
    """Find a free address for the Service ``name``.

    Raises:
        StatusError: if the range is full.
    """
    if dry_run:
        # Kubernetes does not allocate one for a dry run, either.
        return str(RANGE.network_address)
    for address in _candidates():
        if not is_taken(address):
            return address
    raise statuses.internal(f'failed to allocate a serviceIP for Service "{name}": range is full')


def _candidates() -> Iterator[str]:
    """Iterate over all addresses from a random one on, those reserved for users last."""
    last = RANGE.num_addresses - 2
    for low, high in ((1 + _KEPT_FREE, last), (1, _KEPT_FREE)):
        start = low + metadata.random_below(high - low + 1)
        for offset in chain(range(start, high + 1), range(low, start)):
            yield str(RANGE[offset])


def of(service: Object) -> list[str]:
    """List the cluster addresses of a Service; other texts, which former versions of drakit stored, are left out."""
    spec = service.get("spec") or {}
    given = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    return [address for address in given if ip_texts.is_address(address)] if needs_address(spec) else []


def record(address: str, service: Object) -> Object:
    """Build the IPAddress object of an address that a Service has (createIPAddress)."""
    meta: ObjectMeta = service["metadata"]
    family = ip_texts.family(address)
    labels = {"ipaddress.kubernetes.io/ip-family": family, "ipaddress.kubernetes.io/managed-by": _MANAGED_BY}
    parent = {"group": "", "resource": "services", "namespace": meta["namespace"], "name": meta["name"]}
    return {
        "metadata": {
            "name": str(ipaddress.ip_address(address)),
            "uid": metadata.new_uid(),
            "creationTimestamp": metadata.timestamp(),
            "labels": labels,
        },
        "spec": {"parentRef": {key: value for key, value in parent.items() if value}},
    }


def is_ours(address: Object) -> bool:
    """Check whether an IPAddress is one that this module made."""
    labels = address["metadata"].get("labels") or {}
    return bool(labels.get("ipaddress.kubernetes.io/managed-by") == _MANAGED_BY)
