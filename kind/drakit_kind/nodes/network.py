"""The network of one cluster: a bridge without a way out, with an address for each node and each pod.

A bridge rather than a dummy interface, which not every kernel has. Nodes are addresses of the bridge itself, so all
kubelets have port 10250 without a conflict, and pods are connected to it. Nothing is forwarded or translated: no
packet filter rule, no route of another interface.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import msgspec

from drakit_kind.cluster import ClusterError
from drakit_kind.nodes.tools import run
from drakit_kind.processes.own_addresses import NODE_NETWORKS

_PREFIX = 20
_WIDEST = 8  # the shortest prefix of a network in use; wider routes are ways to everywhere
# The addresses 1 to 255 of the subnet are nodes, the others pods.
MOST_NODES = 255
_SECONDS = 10.0
_PAUSE = 0.05


def free_subnet(used: Iterable[IPv4Network]) -> IPv4Network:
    """Return the first candidate that overlaps none of ``used``; raise ``ClusterError`` if all do."""
    taken = list(used)
    candidates = [IPv4Network(candidate) for candidate in NODE_NETWORKS]
    for candidate in candidates:
        for subnet in candidate.subnets(new_prefix=_PREFIX):
            if not any(subnet.overlaps(other) for other in taken):
                return subnet
    in_the_way = [str(other) for other in taken if any(other.overlaps(candidate) for candidate in candidates)]
    raise ClusterError(
        f"no private network is free for nodes: this machine has {', '.join(in_the_way)}; take one of these routes "
        f"away (`ip route show table all`), so that a part of {', '.join(NODE_NETWORKS)} is free, "
        "or use simulated nodes"
    )


def used_networks() -> list[IPv4Network]:
    """List the networks of this machine's routes, except default routes and their halves, which VPNs use."""
    listed = run("ip", "-json", "-4", "route", "show", "table", "all")
    routes = msgspec.json.decode(listed or "[]")
    networks = (IPv4Network(route["dst"], strict=False) for route in routes if route.get("dst", "default") != "default")
    return [each for each in networks if each.prefixlen >= _WIDEST]


def node_address(subnet: IPv4Network, index: int) -> str:
    """Return the address of a node, counted from 0."""
    return str(subnet[1 + index])


def pod_addresses(subnet: IPv4Network) -> tuple[IPv4Address, IPv4Address]:
    """Return the first and the last address for pods."""
    return subnet[MOST_NODES + 1], subnet[-2]


def create_bridge(name: str, subnet: IPv4Network, addresses: Sequence[str]) -> None:
    """Create a bridge with the addresses of all nodes, and set it up."""
    run("ip", "link", "add", "name", name, "type", "bridge")
    # Without this, the bridge would get an IPv6 address, which nothing needs, and answer on it.
    run("ip", "link", "set", "dev", name, "addrgenmode", "none")
    for address in addresses:
        run("ip", "address", "add", f"{address}/{subnet.prefixlen}", "dev", name)
    run("ip", "link", "set", "dev", name, "up")


def delete_bridge(name: str) -> None:
    """Remove a bridge if there is one, and the pods' interfaces that are still connected to it after 10 s.

    Usually they go with the pods' network namespaces, shortly after the last process of a pod.
    """
    if not exists(name):
        return
    deadline = time.monotonic() + _SECONDS
    while (ports := _ports_of(name)) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    for interface in (*ports, name):
        try:
            run("ip", "link", "delete", interface)
        except ClusterError:
            if exists(interface):  # not gone by itself meanwhile
                raise


def exists(name: str) -> bool:
    """Whether there is an interface of this name."""
    return Path("/sys/class/net", name).exists()


def _ports_of(bridge: str) -> list[str]:
    directory = Path("/sys/class/net", bridge, "brif")
    return sorted(port.name for port in directory.iterdir()) if directory.exists() else []
