"""What the server says about itself: groups, versions, kinds, and the version that it emulates.

Both forms of discovery are given: the per-version lists, and the aggregated form (apidiscovery.k8s.io/v2) that kubectl
asks for first. Shapes follow k8s.io/apiserver/pkg/endpoints/discovery.
"""

from __future__ import annotations

import platform
import sys

from drakit_embedded.apiserver.catalog import Catalog, Served
from drakit_embedded.apiserver.registry.kinds import REVIEWS
from drakit_embedded.apiserver.statuses import Object

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
# What a kind does not take, by plural.
_MISSING_VERBS = {
    "componentstatuses": ("create", "delete", "deletecollection", "patch", "update", "watch"),
    "namespaces": ("deletecollection",),
}
_SUBRESOURCE_VERBS = {
    "binding": ["create"],
    "eviction": ["create"],
    "token": ["create"],
    "log": ["get"],
    "finalize": ["update"],
}
# Kind and group/version of subresources that are not of their parent's kind.
_SUBRESOURCE_KINDS = {
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def verbs(served: Served) -> list[str]:
    """The verbs of a kind."""
    if served.kind.plural in REVIEWS:
        return ["create"]
    missing = _MISSING_VERBS.get(served.kind.plural, ())
    return [verb for verb in _VERBS if verb not in missing]


def version_info(minor: str) -> Object:
    """``/version`` of the emulated Kubernetes version, e.g. ``1.37``."""
    major, _, number = minor.partition(".")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": number,
        "emulationMajor": major,
        "emulationMinor": number,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(number) - 1),
        "gitVersion": f"v{minor}.1",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{machine}",
    }


def core_versions(address: str) -> Object:
    """``/api``."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(catalog: Catalog) -> Object:
    """``/apis``."""
    groups = [_group(name, versions) for name, versions in catalog.groups().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalog: Catalog, name: str) -> Object | None:
    """``/apis/GROUP``, or None if there is no such group."""
    versions = catalog.groups().get(name)
    if versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def resource_list(catalog: Catalog, group_name: str, version: str) -> Object | None:
    """``/api/v1`` or ``/apis/GROUP/VERSION``, or None if it is not served."""
    kinds = catalog.in_version(group_name, version)
    if not kinds:
        return None
    resources: list[Object] = []
    for served in kinds:
        resources.append(_resource(served))
        resources += [_subresource(served, name) for name in served.kind.subresources]
    api_version = f"{group_name}/{version}" if group_name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources}


def _resource(served: Served) -> Object:
    kind = served.kind
    resource: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs(served),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    return resource


def _subresource(served: Served, name: str) -> Object:
    kind = served.kind
    resource: Object = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if name in _SUBRESOURCE_KINDS:
        group_name, version, other = _SUBRESOURCE_KINDS[name]
        resource |= {"group": group_name, "version": version, "kind": other}
    else:
        resource["kind"] = kind.kind
    return {**resource, "verbs": _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"])}


def aggregated(catalog: Catalog, *, core: bool) -> Object:
    """``/api`` or ``/apis`` as one APIGroupDiscoveryList."""
    groups = {"": ["v1"]} if core else catalog.groups()
    items = [_aggregated_group(catalog, name, versions) for name, versions in groups.items()]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_group(catalog: Catalog, name: str, versions: list[str]) -> Object:
    listed = [
        {
            "version": version,
            "resources": [_aggregated_resource(served) for served in catalog.in_version(name, version)],
            "freshness": "Current",
        }
        for version in versions
    ]
    return {
        "metadata": {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None},
        "versions": listed,
    }


def _aggregated_resource(served: Served) -> Object:
    kind = served.kind
    resource: Object = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": verbs(served),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    if kind.subresources:
        resource["subresources"] = [_aggregated_subresource(served, name) for name in kind.subresources]
    return resource


def _aggregated_subresource(served: Served, name: str) -> Object:
    kind = served.kind
    group_name, version, other = _SUBRESOURCE_KINDS.get(name, (kind.group, kind.version, kind.kind))
    return {
        "subresource": name,
        "responseKind": {"group": group_name, "version": version, "kind": other},
        "verbs": _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"]),
    }
