"""Where a Service of the cluster is, seen from this process.

Cluster addresses lead nowhere here, as nothing forwards them, and pods of simulated nodes have addresses that nobody
has. A Service is reached at the address in its annotation or at a ready endpoint with an address of this machine.
After ``ResolveEndpoint`` in k8s.io/apiserver/pkg/util/proxy/proxy.go, with its errors.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import NamedTuple

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.outgoing.targets import Service
from drakit_embedded.apiserver.storage.store import Store

# Where a Service is: ``HOST:PORT``.
ANNOTATION = "drakit.dev/address"
_OF_SERVICE = "kubernetes.io/service-name"


class Address(NamedTuple):
    """A host and a port that can be connected to."""

    host: str
    port: int


class UnresolvedError(Exception):
    """A Service that leads nowhere, in upstream's words with a hint."""


def resolve(store: Store, service: Service) -> Address:
    """Find an address of a Service.

    Raises:
        UnresolvedError: if it does not exist, or is nowhere on this machine.
    """
    record = store.named("services").get(service.namespace, service.name)
    if record is None:
        raise UnresolvedError(f"service {quote(service.name)} not found")
    found = record.object()
    text = (found["metadata"].get("annotations") or {}).get(ANNOTATION)
    if text is not None:
        return _parsed(text, service)
    port = next((port for port in _ports(found) if port.get("port") == service.port), None)
    if port is None:
        raise UnresolvedError(f"no service port {service.port} found for service {quote(service.name)}")
    for address in _endpoints(store, service, port.get("name") or ""):
        if _is_here(address.host):
            return address
    hint = f"annotate it with {ANNOTATION}: HOST:PORT, or give it a ready endpoint with an address of this machine"
    raise UnresolvedError(f"no endpoints available for service {quote(service.name)} ({hint})")


def _ports(service: Object) -> list[Object]:
    return (service.get("spec") or {}).get("ports") or []


def _parsed(text: str, service: Service) -> Address:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not port.isdecimal() or not 0 < int(port[:6]) < 65536:
        what = f"annotation {ANNOTATION} of service {quote(service.name)} is {quote(text)}"
        raise UnresolvedError(f"{what}, and must be HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def _endpoints(store: Store, service: Service, port_name: str) -> Iterator[Address]:
    """List the ready endpoints that serve a port of a Service (``RandomEndpoint``)."""
    for record in store.named("endpointslices.discovery.k8s.io").select(service.namespace):
        if record.labels.get(_OF_SERVICE) != service.name:
            continue
        found = record.object()
        numbers = [port["port"] for port in found.get("ports") or () if _names(port, port_name)]
        for endpoint in found.get("endpoints") or () if numbers else ():
            if (endpoint.get("conditions") or {}).get("ready") is not False and endpoint.get("addresses"):
                yield Address(endpoint["addresses"][0], numbers[0])


def _names(port: Object, name: str) -> bool:
    return (port.get("name") or "") == name and port.get("port") is not None


def _is_here(host: str) -> bool:
    """Check whether an address is one of this machine's: only such can be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as tried:
            tried.bind((host, 0))
    except OSError:
        return False
    return True
