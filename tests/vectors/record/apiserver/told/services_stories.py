"""Stories of Services: what they are given, what they may ask for, and what becomes of it.

``tests.vectors.services`` plays them. Addresses of 10.96.0.0/24 and node ports below 30086 are asked for, each in one
story: servers give others of their own accord. The name of a story begins with its matter; 200 are by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.record.apiserver.told import services_by_chance

_BY_CHANCE = 200
_SERVICES = "/api/v1/namespaces/$namespace/services"
_S = f"{_SERVICES}/s"
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_SHOWN = ["spec", "status"]
_HTTP: Object = {"name": "http", "port": 80}
_DNS: list[Object] = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53}]
_LONG = "a" * 64


def made() -> Iterator[Object]:
    """All stories."""
    for name, specs in _CREATED.items():
        for number, spec in enumerate(specs):
            yield {
                "name": f"create: {name} {number}" if len(specs) > 1 else f"create: {name}",
                "steps": [_create(spec)],
            }
    for name, steps in _CHANGED.items():
        yield {"name": f"change: {name}", "steps": list(steps)}
    for name, steps in _OTHERS.items():
        yield {"name": f"more: {name}", "steps": list(steps)}
    yield from services_by_chance.made(_BY_CHANCE, seed=1)


def _service(spec: Object, name: str = "s", **metadata: Any) -> Object:
    given = {"ports": [_HTTP], **spec}
    return {
        "metadata": {"name": name, **metadata},
        "spec": {key: given[key] for key in given if given[key] is not None},
    }


def _create(spec: Object, name: str = "s", query: str = "", **metadata: Any) -> Object:
    return {"method": "POST", "path": _SERVICES + query, "body": _service(spec, name, **metadata), "shows": _SHOWN}


def _patch(spec: Object, name: str = "s", query: str = "") -> Object:
    path = f"{_SERVICES}/{name}{query}"
    return {"method": "PATCH", "path": path, "type": _MERGE, "body": {"spec": spec}, "shows": _SHOWN}


def _put(spec: Object, query: str = "", **metadata: Any) -> Object:
    return {"method": "PUT", "path": _S + query, "body": _service(spec, **metadata), "shows": _SHOWN}


def _apply(spec: Object, query: str = "?fieldManager=me") -> Object:
    body = {"apiVersion": "v1", "kind": "Service", **_service(spec)}
    return {"method": "PATCH", "path": _S + query, "type": _APPLY, "body": body, "shows": _SHOWN}


def _status(status: Object) -> Object:
    return {"method": "PATCH", "path": f"{_S}/status", "type": _MERGE, "body": {"status": status}, "shows": _SHOWN}


def _delete(name: str = "s", query: str = "") -> Object:
    return {"method": "DELETE", "path": f"{_SERVICES}/{name}{query}"}


def _get(path: str = _S, shows: tuple[str, ...] = ("spec", "status")) -> Object:
    return {"method": "GET", "path": path, "shows": list(shows)}


def _address(ip: str) -> Object:
    return _get(f"/apis/networking.k8s.io/v1/ipaddresses/{ip}", ("spec", "metadata.labels"))


_LOCAL = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
_NAME: Object = {"type": "ExternalName", "externalName": "example.com", "ports": None}
_HEADLESS = {"clusterIP": "None", "selector": {"a": "b"}}

_ODD_ADDRESSES = (
    *("1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4%eth0", "fe80::1%1", "::ffff:1.2.3.4", "::1.2.3.4"),
    *(" 1.2.3.4", "1.2.3.4/32", "2001:DB8::1", "2001:db8:0:0::1", "::", "::1", "ff05::1", "x"),
)
_ODD_RANGES = (
    *("", "/", "1.2.3.4/33", "1.2.3.4/ 8", "::/129", "fe80::%1/10", "1.2.3.4/+8", "1.2.3.4/255.0.0.0", "1.0.0.0/08"),
    *(
        "1.0.0.0/-1",
        "01.0.0.0/8",
        "::ffff:1.2.3.4/128",
        "::ffff:0:0/96",
        "2001:DB8::/32",
        "2001:db8::1/32",
        "0.0.0.0/0",
    ),
)

_CREATED: dict[str, list[Object]] = {
    "an address": [{}],
    "nothing but a port": [{"ports": [{"port": 80}]}],
    "no ports": [{"ports": None}, {"ports": []}],
    "headless": [_HEADLESS, {"clusterIP": "None"}, {**_HEADLESS, "ports": None}],
    "headless in two families": [
        {**_HEADLESS, "ipFamilyPolicy": "PreferDualStack"},
        {**_HEADLESS, "ipFamilyPolicy": "RequireDualStack"},
        {"clusterIP": "None", "ipFamilies": ["IPv6"]},
        {"clusterIP": "None", "ipFamilies": ["IPv6"], "ipFamilyPolicy": "SingleStack"},
        {"clusterIP": "None", "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"},
        {**_HEADLESS, "ipFamilies": ["IPv6"]},
    ],
    "a name": [_NAME, {**_NAME, "externalName": "example.com."}, {**_NAME, "ports": [_HTTP]}],
    "a wrong name": [
        {**_NAME, "externalName": None},
        {**_NAME, "externalName": "No!"},
        {**_NAME, "clusterIP": "10.96.0.20"},
        {**_NAME, "clusterIP": "None"},
        {**_NAME, "ipFamilies": ["IPv4"]},
        {**_NAME, "ipFamilyPolicy": "SingleStack"},
        {**_NAME, "externalIPs": ["192.0.2.1"]},
    ],
    "a name that is ignored": [{"externalName": "example.com"}],
    "an address of its own": [
        {"clusterIP": "10.96.0.21"},
        {"clusterIP": "10.96.0.22", "clusterIPs": ["10.96.0.22"]},
        {"clusterIP": "10.96.0.23", "clusterIPs": ["10.96.0.24"]},
        {"clusterIPs": ["10.96.0.25"]},
    ],
    "an address out of range": [
        {"clusterIP": "10.95.0.1"},
        {"clusterIP": "10.96.0.0"},
        {"clusterIP": "10.96.255.255"},
        {"clusterIP": "10.96.255.254"},
        {"clusterIP": "10.97.0.1"},
        {"clusterIP": "10.96.0.1"},
        {"clusterIP": "127.0.0.1"},
        {"clusterIP": "fd00::1"},
        {"clusterIP": "fd00::1", "ipFamilies": ["IPv6"]},
    ],
    "no address": [
        {"clusterIP": "none"},
        {"clusterIP": "10.96.0"},
        {"clusterIP": "10.96.00.26"},
        {"clusterIP": "::ffff:10.96.0.27"},
        {"clusterIP": "FD00:0::1"},
        {"clusterIP": ""},
    ],
    "addresses that do not go together": [
        {"clusterIP": "10.96.0.28", "clusterIPs": ["10.96.0.28", "10.96.0.29"]},
        {"clusterIP": "10.96.0.28", "clusterIPs": ["10.96.0.28", "fd00::1"]},
        {"clusterIP": "10.96.0.28", "clusterIPs": ["10.96.0.28", "fd00::1"], "ipFamilyPolicy": "PreferDualStack"},
        {"clusterIP": "10.96.0.28", "clusterIPs": ["10.96.0.28", "fd00::1"], "ipFamilyPolicy": "RequireDualStack"},
        {"clusterIP": "10.96.0.28", "clusterIPs": ["10.96.0.28", "fd00::1", "fd00::2"]},
        {"clusterIP": "None", "clusterIPs": ["None", "10.96.0.28"]},
        {"clusterIP": "10.96.0.28", "clusterIPs": ["10.96.0.28", "None"]},
        {"clusterIP": "10.96.0.28", "clusterIPs": ["10.96.0.28", ""]},
        {"clusterIP": "10.96.0.28", "ipFamilies": ["IPv6"]},
        {"clusterIP": "fd00::1", "ipFamilies": ["IPv4"]},
    ],
    "families": [
        {"ipFamilies": ["IPv4"]},
        {"ipFamilies": ["IPv6"]},
        {"ipFamilies": ["IPv4", "IPv6"]},
        {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"},
        {"ipFamilies": ["IPv4", "IPv4"]},
        {"ipFamilies": ["IPv5"]},
        {"ipFamilies": ["IPv5", "IPv4", "IPv6"]},
        {"ipFamilyPolicy": "SingleStack"},
        {"ipFamilyPolicy": "PreferDualStack"},
        {"ipFamilyPolicy": "RequireDualStack"},
        {"ipFamilyPolicy": "Many"},
        {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]},
    ],
    "node ports": [
        {"type": "NodePort"},
        {"type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30001}]},
        {"type": "NodePort", "ports": [{**port, "nodePort": 30002} for port in _DNS]},
        {"type": "NodePort", "ports": [{**_DNS[0], "nodePort": 30003}, _DNS[1]]},
        {"type": "NodePort", "ports": [_DNS[0], {**_DNS[1], "nodePort": 30004}]},
        {"type": "NodePort", "ports": _DNS},
        {"type": "NodePort", "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}, {"name": "c", "port": 3}]},
        {"type": "NodePort", "clusterIP": "None"},
    ],
    "wrong node ports": [
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 29999}]},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 32768}]},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 65536}]},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": -1}]},
        {"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30005}]},
        {"type": "NodePort", "ports": [{"name": n, "port": p, "nodePort": 30006} for n, p in (("a", 1), ("b", 2))]},
        {**_NAME, "ports": [{"port": 80, "nodePort": 30007}]},
    ],
    "a load balancer": [
        {"type": "LoadBalancer"},
        {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False},
        {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"port": 80, "nodePort": 30008}]},
        {"type": "LoadBalancer", "loadBalancerClass": "example.com/lb", "loadBalancerIP": "192.0.2.1"},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24", " 198.51.100.0/24 "]},
        _LOCAL,
        {**_LOCAL, "healthCheckNodePort": 30009},
        {**_LOCAL, "allocateLoadBalancerNodePorts": False},
        {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster"},
    ],
    "a wrong load balancer": [
        {"type": "LoadBalancer", "clusterIP": "None"},
        {"type": "LoadBalancer", "loadBalancerClass": "no class"},
        {"loadBalancerClass": "example.com/lb"},
        {"allocateLoadBalancerNodePorts": True},
        {"loadBalancerSourceRanges": ["192.0.2.0/24"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.1/24"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.02.0/24"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["fd00:0::/64"]},
        {"type": "LoadBalancer", "externalTrafficPolicy": "Near"},
        {**_LOCAL, "healthCheckNodePort": 80},
        {"type": "NodePort", "healthCheckNodePort": 30010},
        {"externalTrafficPolicy": "Local"},
        {"healthCheckNodePort": 30010},
    ],
    "external addresses": [
        {"externalIPs": ["192.0.2.1"]},
        {"externalIPs": ["192.0.2.1", "fd00:0::1"], "externalTrafficPolicy": "Local"},
        {"externalIPs": ["127.0.0.1"]},
        {"externalIPs": ["0.0.0.0"]},
        {"externalIPs": ["169.254.1.1"]},
        {"externalIPs": ["224.0.0.1"]},
        {"externalIPs": ["ff02::1"]},
        {"externalIPs": ["no"]},
        {"externalIPs": ["192.0.2.01"]},
        {**_HEADLESS, "externalIPs": ["192.0.2.1"], "loadBalancerIP": "192.0.2.1", "sessionAffinity": "ClientIP"},
    ],
    "affinity": [
        {"sessionAffinity": "ClientIP"},
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {}}},
        {"sessionAffinity": "None", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
        {"sessionAffinity": "Some"},
    ],
    "ports": [
        {"ports": [{"port": 80, "targetPort": "http"}]},
        {"ports": [{"port": 80, "targetPort": 0}]},
        {"ports": [{"port": 80, "targetPort": ""}]},
        {"ports": [{"port": 80, "targetPort": "No Port"}]},
        {"ports": [{"port": 80, "targetPort": "much-too-long-a-name"}]},
        {"ports": [{"port": 80, "targetPort": 70000}]},
        {"ports": [{"port": 0}]},
        {"ports": [{"port": 65536}]},
        {"ports": [{}]},
        {"ports": [{"port": 80, "protocol": "SCTP"}]},
        {"ports": [{"port": 80, "protocol": "tcp"}]},
        {"ports": [{"port": 80, "appProtocol": "kubernetes.io/h2c"}]},
        {"ports": [{"port": 80, "appProtocol": "no protocol"}]},
        {"ports": [{"port": 80}, {"port": 81}]},
        {"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]},
        {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]},
        {"ports": [{"name": "A_", "port": 80}]},
        {"ports": [{"name": _LONG, "port": 80}]},
        {"ports": _DNS},
    ],
    "types": [{"type": "Other"}, {"type": ""}],
    "policies": [
        {"internalTrafficPolicy": "Local"},
        {"internalTrafficPolicy": "Near"},
        {**_NAME, "internalTrafficPolicy": "Local"},
        {"trafficDistribution": "PreferClose"},
        {"trafficDistribution": "PreferSameZone"},
        {"trafficDistribution": "Far"},
        {"publishNotReadyAddresses": True},
    ],
    "selectors": [{"selector": {"a": "b"}}, {"selector": {"a b": "c"}}, {"selector": {"a": "b c"}}, {"selector": {}}],
    "odd texts": [
        *({"type": "LoadBalancer", "loadBalancerSourceRanges": [text]} for text in _ODD_RANGES),
        *({"externalIPs": [text]} for text in _ODD_ADDRESSES),
        *({"clusterIP": text} for text in _ODD_ADDRESSES),
        *({"type": "LoadBalancer", "loadBalancerIP": text} for text in _ODD_ADDRESSES),
    ],
    "odd members": [
        {"ports": [{}]},
        {"type": "NodePort", "ports": [{}, {}]},
        {"type": "NodePort", "ports": [{"port": 1, "nodePort": None, "targetPort": None, "name": None}]},
        {**_LOCAL, "healthCheckNodePort": -5},
        {"clusterIPs": [""]},
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {}},
        {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv6", "IPv4", "IPv6"]},
        {**_NAME, "externalName": "."},
    ],
    "several faults": [
        {"ports": [{"port": 0, "protocol": "no"}], "sessionAffinity": "Some", "clusterIP": "10.96.0.30"},
        {"type": "Other", "ipFamilies": ["IPv6"]},
        {"type": "NodePort", "ports": [{"port": 0, "nodePort": 80}]},
    ],
}

_CHANGED: dict[str, list[Object]] = {
    "nothing": [_create({}), _patch({}), _put({}), _apply({})],
    "a selector": [_create({}), _patch({"selector": {"a": "b"}}), _put({"selector": {"c": "d"}})],
    "ports": [
        _create({}),
        _patch({"ports": [{"port": 81}]}),
        _put({"ports": [*_DNS, _HTTP]}),
        _patch({"ports": []}),
        _patch({"ports": None}),
    ],
    "the address": [
        _create({"clusterIP": "10.96.0.40"}),
        _patch({"clusterIP": "10.96.0.41"}),
        _patch({"clusterIP": "None"}),
        _patch({"clusterIP": None}),
        _patch({"clusterIP": ""}),
        _patch({"clusterIPs": ["10.96.0.41"]}),
        _patch({"clusterIPs": None}),
        _patch({"clusterIP": None, "clusterIPs": None}),
        _patch({"clusterIP": "10.96.0.41", "clusterIPs": ["10.96.0.41"]}),
        _put({}),
    ],
    "headless into not": [
        _create(_HEADLESS),
        _patch({"clusterIP": "10.96.0.42"}),
        _patch({"clusterIP": None}),
        _patch({"clusterIP": "10.96.0.42", "clusterIPs": ["10.96.0.42"]}),
        _patch({"ipFamilyPolicy": "RequireDualStack"}),
        _patch({"type": "NodePort"}),
        _patch({"selector": None}),
        _put(_HEADLESS),
    ],
    "families": [
        _create({}),
        _patch({"ipFamilyPolicy": "PreferDualStack"}),
        _patch({"ipFamilyPolicy": "RequireDualStack"}),
        _patch({"ipFamilyPolicy": None}),
        _patch({"ipFamilies": ["IPv6"]}),
        _patch({"ipFamilies": ["IPv4", "IPv6"]}),
        _patch({"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"}),
        _patch({"ipFamilies": None}),
        _patch({"ipFamilyPolicy": "SingleStack"}),
        _patch({"ipFamilyPolicy": "Many"}),
    ],
    "into a node port and back": [
        _create({}),
        _patch({"type": "NodePort"}),
        _patch({"type": "ClusterIP"}),
        _patch({"type": "NodePort", "ports": [{**_HTTP, "nodePort": 30020}]}),
        _patch({"ports": [{**_HTTP, "nodePort": 30021}]}),
        _patch({"ports": [{**_HTTP, "nodePort": None}]}),
        _put({"type": "NodePort"}),
        _put({"type": "NodePort", "ports": [{**_HTTP, "name": "other"}]}),
        _patch({"ports": [{**_HTTP, "nodePort": 80}]}),
        _patch({"type": "ClusterIP", "ports": [{**_HTTP, "nodePort": 30022}]}),
        _put({"type": "ClusterIP"}),
    ],
    "into a name and back": [
        _create({"clusterIP": "10.96.0.43"}),
        _patch({"type": "ExternalName"}),
        _patch({"type": "ExternalName", "externalName": "example.com", "clusterIP": "10.96.0.44"}),
        _patch({"type": "ExternalName", "externalName": "example.com"}),
        _address("10.96.0.43"),
        _patch({"type": "ClusterIP", "externalName": None, "clusterIP": "10.96.0.43"}),
        _address("10.96.0.43"),
        _put({**_NAME, "ports": [_HTTP]}),
        _put({}),
    ],
    "into a load balancer and back": [
        _create({}),
        _patch({"type": "LoadBalancer"}),
        _patch({"loadBalancerClass": "example.com/a"}),
        _patch({"allocateLoadBalancerNodePorts": False}),
        _status({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}),
        _patch({"externalTrafficPolicy": "Local"}),
        _patch({"healthCheckNodePort": 30023}),
        _patch({"healthCheckNodePort": None}),
        _patch({"externalTrafficPolicy": "Cluster"}),
        _patch({"externalTrafficPolicy": "Local", "healthCheckNodePort": 30024}),
        _patch({"type": "ClusterIP"}),
        _patch({"type": "LoadBalancer", "loadBalancerClass": "example.com/b"}),
        _patch({"loadBalancerClass": None}),
        _patch({"type": "ClusterIP"}),
    ],
    "a health check": [
        _create({**_LOCAL, "healthCheckNodePort": 30025}),
        _put(_LOCAL),
        _patch({"type": "NodePort"}),
        _patch({"type": "LoadBalancer", "healthCheckNodePort": 30025}),
    ],
    "a status": [
        _create({"type": "LoadBalancer"}),
        _status({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "example.com"}]}}),
        _status({"loadBalancer": {"ingress": [{"ip": "no"}]}}),
        _status({"loadBalancer": {"ingress": [{"hostname": "192.0.2.1"}]}}),
        _status({"loadBalancer": {"ingress": [{"hostname": "No!"}]}}),
        _status({"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "Other"}]}}),
        _status({"loadBalancer": {"ingress": [{"hostname": "example.com", "ipMode": "VIP"}]}}),
        _status({"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "Proxy"}]}}),
        _patch({"type": "ClusterIP"}),
        _status({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}),
    ],
    "external addresses": [
        _create({"externalIPs": ["192.0.2.1"]}),
        _patch({"externalTrafficPolicy": "Local"}),
        _patch({"externalIPs": None}),
        _patch({"externalIPs": ["127.0.0.1"]}),
    ],
    "affinity": [
        _create({"sessionAffinity": "ClientIP"}),
        _patch({"sessionAffinity": "None"}),
        _patch({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 7}}}),
        _put({}),
    ],
}

_IPS = "/apis/networking.k8s.io/v1/ipaddresses"
_OTHERS: dict[str, list[Object]] = {
    "an address is given once": [
        _create({"clusterIP": "10.96.0.50"}),
        _create({"clusterIP": "10.96.0.50"}, "t"),
        _create({"clusterIP": "10.96.0.50"}, "t", "?dryRun=All"),
        _address("10.96.0.50"),
        _delete("s", "?dryRun=All"),
        _create({"clusterIP": "10.96.0.50"}, "t"),
        _delete(),
        _address("10.96.0.50"),
        _create({"clusterIP": "10.96.0.50"}, "t"),
    ],
    "a node port is given once": [
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30050}]}),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30050}]}, "t"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30050, "protocol": "UDP"}]}, "t"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30050}]}, "t", "?dryRun=All"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30051}]}, "t"),
        _patch({"ports": [{"port": 80, "nodePort": 30050}]}, "t"),
        _delete(),
        _patch({"ports": [{"port": 80, "nodePort": 30050}]}, "t"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30051}]}),
        _create({**_LOCAL, "healthCheckNodePort": 30050}, "u"),
        _create({**_LOCAL, "healthCheckNodePort": 30052}, "u"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30052}]}, "v"),
        _patch({"externalTrafficPolicy": "Cluster"}, "u"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30052}]}, "v"),
    ],
    "a refused service takes nothing": [
        _create({"clusterIP": "10.96.0.51", "sessionAffinity": "Some"}),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30053, "protocol": "no"}]}),
        _create({"clusterIP": "10.96.0.51"}, "t"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30053}]}, "u"),
        _create({"clusterIP": "10.96.0.52"}, "t"),
        _create({"clusterIP": "10.96.0.52"}, "v"),
    ],
    "dry runs take nothing": [
        _create({}, query="?dryRun=All"),
        _create({"clusterIP": "10.96.0.53"}, query="?dryRun=All"),
        _create({"type": "NodePort"}, query="?dryRun=All"),
        _create(
            {"type": "NodePort", "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}, query="?dryRun=All"
        ),
        _create(_LOCAL, query="?dryRun=All"),
        _create({"clusterIP": "10.95.0.1"}, query="?dryRun=All"),
        _address("10.96.0.53"),
        _create({"clusterIP": "10.96.0.53"}),
        _patch({"type": "NodePort", "ports": [{**_HTTP, "nodePort": 30054}]}, query="?dryRun=All"),
        _patch({"type": "ExternalName", "externalName": "example.com"}, query="?dryRun=All"),
        _address("10.96.0.53"),
        _create({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30054}]}, "t"),
    ],
    "what is put may be new": [_put({"clusterIP": "10.96.0.54"}), _put({}), _get(), _delete()],
    "what is applied may be new": [
        _apply({"clusterIP": "10.96.0.55"}),
        _apply({}),
        _apply({"type": "NodePort"}),
        _get(),
    ],
    "names": [
        _create({}, "1-s"),
        _create({}, "a" * 63),
        _create({}, _LONG),
        _create({}, "a.b"),
        _create({}, "A"),
    ],
    "with a finalizer": [
        _create({"clusterIP": "10.96.0.56"}, finalizers=["example.com/wait"]),
        _delete(),
        _create({"clusterIP": "10.96.0.56"}, "t"),
        {"method": "PATCH", "path": _S, "type": _MERGE, "body": {"metadata": {"finalizers": None}}},
        _address("10.96.0.56"),
        _create({"clusterIP": "10.96.0.56"}, "t"),
    ],
    "old annotations": [
        _create({}, annotations={"service.kubernetes.io/topology-aware-hints": "auto"}),
        _create(
            {},
            "t",
            annotations={"service.kubernetes.io/topology-aware-hints": "a", "service.kubernetes.io/topology-mode": "b"},
        ),
        _create({}, "u", annotations={"service.beta.kubernetes.io/load-balancer-source-ranges": "192.0.2.0/24"}),
        _create(
            {"type": "LoadBalancer"},
            "u",
            annotations={"service.beta.kubernetes.io/load-balancer-source-ranges": "192.0.2.0/24,no"},
        ),
    ],
    "of another version": [_create({}), _put({}, resourceVersion="1"), _put({"clusterIP": "10.96.0.57"}, uid="no")],
    "the service of the API server": [
        _get(
            "/api/v1/namespaces/default/services/kubernetes",
            # Not the port where that server happens to listen.
            (
                *("spec.clusterIP", "spec.clusterIPs", "spec.type", "spec.sessionAffinity", "spec.ipFamilies"),
                *("spec.ipFamilyPolicy", "spec.internalTrafficPolicy", "status", "metadata.labels"),
            ),
        ),
        _get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes", ("spec",)),
        _address("10.96.0.1"),
    ],
    "addresses and ranges by hand": [
        {
            "method": "POST",
            "path": _IPS,
            "body": {
                "metadata": {"name": "10.96.0.58"},
                "spec": {"parentRef": {"resource": "services", "namespace": "$namespace", "name": "s"}},
            },
            "shows": ["spec"],
        },
        _create({"clusterIP": "10.96.0.58"}),
        {"method": "DELETE", "path": f"{_IPS}/10.96.0.58"},
        _create({"clusterIP": "10.96.0.58"}),
    ],
}
