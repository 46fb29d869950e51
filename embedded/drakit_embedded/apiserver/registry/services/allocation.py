"""What a Service is given before it is prepared and validated, and what is given back when it is gone.

After pkg/registry/core/service/storage/{storage,alloc}.go in k8s.io/kubernetes (beginCreate, beginUpdate, afterDelete).
Allocating stores nothing, as this server does one write after the other; ``holding`` stores the IPAddresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import FieldError, invalid
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.registry.services import addresses, carried_over, families, node_ports, service_types
from drakit_embedded.apiserver.registry.services.addresses import FAMILY, AddressError
from drakit_embedded.apiserver.registry.services.node_ports import Operation, PortError
from drakit_embedded.apiserver.registry.services.service_types import NO_ADDRESS, needs_address, needs_health_check
from drakit_embedded.apiserver.registry.strategy import Cluster, WritableCluster
from drakit_embedded.apiserver.scheme import kinds

ADDRESSES = "ipaddresses.networking.k8s.io"
_SERVICES = "services"


def begin_create(service: Object, cluster: Cluster, *, dry_run: bool) -> None:
    """Allocate addresses and node ports for a new Service; raises ``StatusError`` if that fails."""
    spec = service["spec"]
    carried_over.match_addresses(spec, None)
    _refuse(service, families.complete(spec, None))
    _give_addresses(service, cluster, dry_run=dry_run)
    if service_types.has_node_ports(spec):
        operation = _operation(cluster, dry_run=dry_run)
        _give_node_ports(service, operation)
        if needs_health_check(spec):
            _give_health_check_port(spec, operation)


def begin_update(service: Object, old: Object, cluster: Cluster, *, dry_run: bool) -> None:
    """Allocate what a changed Service lacks; it keeps what the stored one has. Raises ``StatusError`` if that fails."""
    spec, was = service["spec"], old["spec"]
    carried_over.keep_allocated(spec, was)
    carried_over.match_addresses(spec, was)
    _refuse(service, families.complete(spec, was))
    if not (needs_address(was) and was.get("clusterIPs")):
        _give_addresses(service, cluster, dry_run=dry_run)
    elif _gains_family(spec, was):
        _give_second_address(service, cluster, dry_run=dry_run)
    if service_types.has_node_ports(spec):
        operation = _operation(cluster, dry_run=dry_run)
        _update_node_ports(service, was, operation)
        if needs_health_check(spec) and not needs_health_check(was):
            _give_health_check_port(spec, operation)


@contextmanager
def holding(before: Object | None, after: Object | None, cluster: WritableCluster) -> Iterator[None]:
    """Create an IPAddress for each new address of a Service, and remove those of addresses that it loses.

    The Service is stored in between. If it cannot be stored, the addresses are free again.
    """
    was = addresses.of(before) if before is not None else []
    now = addresses.of(after) if after is not None else []
    new = [address for address in now if address not in was]
    for address in new:
        assert after is not None
        _record(address, after, cluster)
    try:
        yield
    except BaseException:
        _remove(new, cluster)
        raise
    _remove([address for address in was if address not in now], cluster)


def repair(cluster: WritableCluster) -> None:
    """Bring Services and their IPAddresses in step after a crash between two writes (repairip.go)."""
    held = {address: service for service in cluster.every(_SERVICES) for address in addresses.of(service)}
    recorded = {address["metadata"]["name"]: address for address in cluster.every(ADDRESSES)}
    for address, service in held.items():
        if address not in recorded:
            _record(address, service, cluster)
    _remove([name for name, found in recorded.items() if name not in held and addresses.is_ours(found)], cluster)


def _record(address: str, service: Object, cluster: WritableCluster) -> None:
    made = addresses.record(address, service)
    cluster.own_fields(_address_kind(), made)
    collection = cluster.store.named(ADDRESSES)
    key = "", made["metadata"]["name"]
    if key not in collection.records:
        cluster.store.put(collection, key, made)


def _remove(names: Iterable[str], cluster: WritableCluster) -> None:
    collection = cluster.store.named(ADDRESSES)
    for name in names:
        stored = collection.records.get(("", name))
        if stored is not None:
            cluster.store.delete(collection, stored.key, stored.object())


@cache
def _address_kind() -> kinds.Kind:
    return next(kind for kind in kinds.all_kinds() if kind.storage == ADDRESSES)


def _refuse(service: Object, faults: list[FieldError]) -> None:
    if faults:
        raise statuses.invalid("Service", "", service["metadata"].get("name", ""), faults)


def _is_taken(cluster: Cluster) -> addresses.IsTaken:
    return lambda address: cluster.find(ADDRESSES, "", address) is not None


def _give_addresses(service: Object, cluster: Cluster, *, dry_run: bool) -> None:
    """Allocate an address of each family, the one that is asked for or a free one (allocClusterIPs)."""
    spec = service["spec"]
    asked = spec.get("clusterIPs") or []
    if not needs_address(spec) or asked[:1] == [NO_ADDRESS]:
        return
    given = list(asked)
    for number in range(len(spec["ipFamilies"])):
        given[number:] = [_address(service, number, cluster, dry_run=dry_run), *given[number + 1 :]]
    spec["clusterIPs"], spec["clusterIP"] = given, given[0]


def _gains_family(spec: Object, was: Object) -> bool:
    """Check whether a second family is added that the cluster has addresses of."""
    families = spec.get("ipFamilies") or []
    has_addresses = needs_address(spec) and not service_types.is_headless(was)
    return has_addresses and len(was.get("ipFamilies") or ()) == 1 < len(families) and families[1] == FAMILY


def _give_second_address(service: Object, cluster: Cluster, *, dry_run: bool) -> None:
    """Allocate the second address; the primary one stays, whatever it is (updateClusterIPs)."""
    spec = service["spec"]
    spec["clusterIPs"] = [*spec["clusterIPs"][:1], _address(service, 1, cluster, dry_run=dry_run)]


def _address(service: Object, number: int, cluster: Cluster, *, dry_run: bool) -> str:
    """Allocate the address of a family: the one that the Service asks for, or a free one."""
    asked = service["spec"].get("clusterIPs") or []
    if number >= len(asked):
        return addresses.free(service["metadata"].get("name", ""), _is_taken(cluster), dry_run=dry_run)
    try:
        addresses.check(asked[number], _is_taken(cluster), dry_run=dry_run)
    except AddressError as error:
        detail = f"failed to allocate IP {asked[number]}: {error}"
        _refuse(service, [invalid("spec.clusterIPs", asked, detail)])
    return str(asked[number])


def _operation(cluster: Cluster, *, dry_run: bool) -> Operation:
    return Operation(node_ports.taken(cluster.every(_SERVICES)), dry_run=dry_run)


def _give_node_ports(service: Object, operation: Operation) -> None:
    """Allocate node ports of new ports; ports of one number, of TCP and UDP say, share one (initNodePorts)."""
    spec = service["spec"]
    ports, by_port = spec.get("ports") or [], dict[int, int]()
    for number, port in enumerate(ports):
        if not port.get("nodePort") and not service_types.takes_node_ports(spec):
            continue
        shared = by_port.get(port["port"])
        if shared is None:
            asked = next(
                (each["nodePort"] for each in ports if each["port"] == port["port"] and each.get("nodePort")), 0
            )
            port["nodePort"] = by_port[port["port"]] = _taken(service, operation, number, asked)
        elif not port.get("nodePort"):
            port["nodePort"] = shared
        elif port["nodePort"] != shared:
            _taken(service, operation, number, port["nodePort"])


def _update_node_ports(service: Object, was: Object, operation: Operation) -> None:
    """Allocate node ports of changed ports; the Service keeps those that it has (updateNodePorts)."""
    spec, mine = service["spec"], {*service_types.node_ports(was)}
    kept: set[tuple[str, int]] = set()
    for number, port in enumerate(spec.get("ports") or ()):
        if not port.get("nodePort") and not service_types.takes_node_ports(spec):
            continue
        asked = port.get("nodePort") or 0
        if asked not in mine or not asked:
            port["nodePort"] = _taken(service, operation, number, asked)
            mine.add(port["nodePort"])
        key = port.get("protocol", ""), port["nodePort"]
        if key in kept:
            raise statuses.StatusError(500, "", f"duplicate nodePort: {{{key[0]} {key[1]}}}")
        kept.add(key)


def _taken(service: Object, operation: Operation, number: int, asked: int) -> int:
    """Allocate a node port: the one that is asked for, or (0) any."""
    try:
        if not asked:
            return operation.take_any()
        operation.take(asked)
    except PortError as error:
        if not asked:
            raise statuses.internal(f"failed to allocate a nodePort: {error}") from error
        _refuse(service, [invalid(f"spec.ports[{number}].nodePort", asked, str(error))])
    return asked


def _give_health_check_port(spec: Object, operation: Operation) -> None:
    asked = spec.get("healthCheckNodePort") or 0
    try:
        if asked:
            operation.take(asked)
        else:
            spec["healthCheckNodePort"] = operation.take_any()
    except PortError as error:
        what = f"requested HealthCheck NodePort {asked}" if asked else "a HealthCheck NodePort 0"
        raise statuses.internal(f"failed to allocate {what}: {error}") from error
