"""The network of a cluster: free on this machine, with room for nodes and pods."""

from __future__ import annotations

from ipaddress import IPv4Network

import msgspec
import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.nodes import network

FIRST = IPv4Network("10.213.0.0/20")


@pytest.mark.parametrize(
    ("used", "free"),
    [
        ([], "10.213.0.0/20"),
        (["192.0.2.0/24", "127.0.0.0/8"], "10.213.0.0/20"),
        (["10.213.0.0/20"], "10.213.16.0/20"),
        (["10.213.7.9/32", "10.213.16.0/20"], "10.213.32.0/20"),
        (["10.0.0.0/8"], "172.29.0.0/20"),
        (["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"], "198.18.0.0/20"),
    ],
)
def test_a_cluster_gets_the_first_network_that_nobody_uses(used: list[str], free: str) -> None:
    assert network.free_subnet(map(IPv4Network, used)) == IPv4Network(free)


def test_a_machine_that_uses_all_of_them_is_told() -> None:
    used = ["192.0.2.0/24", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"]
    with pytest.raises(
        ClusterError,
        match=r"free for nodes: this machine has 10\.0\.0\.0/8, 172\.16\.\S+ 192\.168\.\S+ 198\.18\..*away",
    ):
        network.free_subnet(map(IPv4Network, used))


def test_networks_in_use_are_those_of_all_routes_but_the_default_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = [
        {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"},
        # As OpenVPN and others go before the default route without replacing it.
        {"dst": "0.0.0.0/1", "via": "10.8.0.1", "dev": "tun0"},
        {"dst": "128.0.0.0/1", "via": "10.8.0.1", "dev": "tun0"},
        {"dst": "192.0.2.0/24", "dev": "eth0", "protocol": "kernel"},
        {"type": "local", "dst": "192.0.2.2", "dev": "eth0", "table": "local"},
    ]
    monkeypatch.setattr(network, "run", lambda *arguments: msgspec.json.encode(routes).decode())
    assert network.used_networks() == [IPv4Network("192.0.2.0/24"), IPv4Network("192.0.2.2/32")]


def test_nodes_and_pods_share_a_network_without_meeting() -> None:
    nodes = [network.node_address(FIRST, index) for index in range(network.MOST_NODES)]
    first, last = network.pod_addresses(FIRST)
    assert (nodes[0], nodes[-1]) == ("10.213.0.1", "10.213.0.255")
    assert (str(first), str(last)) == ("10.213.1.0", "10.213.15.254")


def test_a_bridge_has_an_address_for_each_node_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[str] = []

    def run(*arguments: str) -> str:
        commands.append(" ".join(arguments))
        return ""

    monkeypatch.setattr(network, "run", run)
    network.create_bridge("drakit-1", FIRST, ["10.213.0.1", "10.213.0.2"])
    assert commands == [
        "ip link add name drakit-1 type bridge",
        "ip link set dev drakit-1 addrgenmode none",
        "ip address add 10.213.0.1/20 dev drakit-1",
        "ip address add 10.213.0.2/20 dev drakit-1",
        "ip link set dev drakit-1 up",
    ]


def test_a_bridge_that_is_gone_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "run", lambda *arguments: pytest.fail("nothing is to be done"))
    network.delete_bridge("drakit-none")
