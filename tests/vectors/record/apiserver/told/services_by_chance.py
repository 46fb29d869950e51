"""Stories of Services by chance: a new one, and changes of it, with values that go together or do not.

Left out is what makes kube-apiserver 1.37.1 panic: a Service that has an address and is to become headless with a
second family (``updateClusterIPs`` in pkg/registry/core/service/storage/alloc.go asks for an allocator it has not).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object

_SERVICES = "/api/v1/namespaces/$namespace/services"
_MERGE = "application/merge-patch+json"
_SHOWN = ["spec", "status"]
_STEPS = 5
_QUERIES = ("", "", "", "?dryRun=All")


def made(count: int, seed: int) -> Iterator[Object]:
    """So many stories."""
    chance = random.Random(seed)
    for number in range(count):
        steps = [_step(chance, "POST", _SERVICES), _step(chance, "POST", _SERVICES, plain=True)]
        for _ in range(_STEPS):
            method = "PUT" if chance.random() < 0.3 else "PATCH"
            steps.append(_step(chance, method, f"{_SERVICES}/s"))
        steps.append({"method": "DELETE", "path": f"{_SERVICES}/s"})
        yield {"name": f"chance: {number}", "steps": steps}


def _step(chance: random.Random, method: str, path: str, *, plain: bool = False) -> Object:
    spec = {"ports": [{"port": 80}]} if plain else _spec(chance, new=method != "PATCH")
    named = {"metadata": {"name": "s"}, "spec": spec}
    query = "" if plain else chance.choice(_QUERIES)
    if method == "PATCH":
        return {"method": method, "path": path + query, "type": _MERGE, "body": {"spec": spec}, "shows": _SHOWN}
    return {"method": method, "path": path + query, "body": named, "shows": _SHOWN}


def _spec(chance: random.Random, *, new: bool) -> Object:
    spec: Object = {}
    for share, field, values in _VALUES:
        if chance.random() < share:
            value = chance.choice(values)
            spec[field] = value(chance) if callable(value) else value
    if not new and spec.get("clusterIP") == "None":
        del spec["clusterIP"]
    if spec.get("type") == "ExternalName" and chance.random() < 0.7:
        spec["externalName"] = "example.com"
        spec.pop("clusterIP", None)
    if chance.random() < (0.9 if new else 0.5):
        spec["ports"] = [_port(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
    elif not new and chance.random() < 0.1:
        spec["ports"] = None
    return spec


def _address(chance: random.Random) -> str:
    return f"10.96.0.{chance.randint(100, 250)}"


def _node_port(chance: random.Random) -> int:
    return chance.choice((30060 + chance.randint(0, 25), 30060 + chance.randint(0, 25), 80, 32768))


def _port(chance: random.Random) -> Object:
    port: Object = {"name": chance.choice("abcde"), "port": chance.choice((53, 80, 443, 8080))}
    if chance.random() < 0.3:
        port["nodePort"] = _node_port(chance)
    if chance.random() < 0.3:
        port["protocol"] = chance.choice(("TCP", "UDP"))
    if chance.random() < 0.2:
        port["targetPort"] = chance.choice(("http", 99, 0))
    return port


_Value = Callable[[random.Random], Any] | Any
# How often a field is there, and what it may be.
_VALUES: tuple[tuple[float, str, tuple[_Value, ...]], ...] = (
    (0.7, "type", ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "NodePort", "LoadBalancer")),
    (0.35, "clusterIP", ("None", _address, _address, "10.97.0.1", "", "fd00::1")),
    (0.2, "clusterIPs", (lambda chance: [_address(chance)], ["10.96.0.99", "fd00::1"], None, [])),
    (0.3, "ipFamilies", (["IPv4"], ["IPv6"], ["IPv4", "IPv6"], ["IPv6", "IPv4"], None)),
    (0.3, "ipFamilyPolicy", ("SingleStack", "PreferDualStack", "RequireDualStack", None)),
    (0.3, "externalTrafficPolicy", ("Local", "Cluster", "Local", None)),
    (0.15, "internalTrafficPolicy", ("Local", "Cluster", None)),
    (0.15, "healthCheckNodePort", (_node_port, None, 0)),
    (0.15, "allocateLoadBalancerNodePorts", (True, False, None)),
    (0.15, "loadBalancerClass", ("example.com/a", "example.com/b", None)),
    (0.15, "externalName", ("example.com", "x.", None)),
    (0.3, "selector", ({"a": "b"}, {"a": "b"}, None)),
    (0.15, "externalIPs", (["192.0.2.1"], None)),
    (0.15, "loadBalancerSourceRanges", (["192.0.2.0/24"], None)),
    (0.15, "sessionAffinity", ("ClientIP", "None")),
    (0.1, "sessionAffinityConfig", ({"clientIP": {"timeoutSeconds": 9}}, None)),
    (0.1, "trafficDistribution", ("PreferClose", "PreferSameNode", None)),
    (0.1, "publishNotReadyAddresses", (True, False)),
)
