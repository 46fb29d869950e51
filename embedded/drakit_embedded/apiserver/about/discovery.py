"""What the server says about itself: groups, versions, kinds, and the version that it emulates.

Both forms of discovery are given: the per-version lists, and the aggregated form (apidiscovery.k8s.io/v2) that kubectl
asks for first. Shapes follow k8s.io/apiserver/pkg/endpoints/discovery.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import replace

from drakit_api.features import NEWEST_EMULATED, OLDEST_EMULATED
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.catalog import Catalog, Served
from drakit_embedded.apiserver.scheme.kinds import SUBRESOURCE_KINDS, Kind
from drakit_embedded.apiserver.scheme.storage_versions import storage_hash
from drakit_embedded.apiserver.wire.negotiation import Conversion

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
# Custom resources have them in another order, and fewer once their definition is being deleted.
_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
_LAST_VERBS = ["delete", "deletecollection", "get", "list", "watch"]
# Verbs that a kind lacks, by group and plural.
_CHANGES = ("create", "delete", "deletecollection", "patch", "update")
_MISSING_VERBS = {
    ("", "componentstatuses"): (*_CHANGES, "watch"),
    ("", "namespaces"): ("deletecollection",),
}
_SUBRESOURCE_VERBS = {
    "binding": ["create"],
    "eviction": ["create"],
    "token": ["create"],
    "log": ["get"],
    "finalize": ["update"],
    "attach": ["create", "get"],
    "exec": ["create", "get"],
    "portforward": ["create", "get"],
}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# Version v2beta1 was removed in 1.35.
_AGGREGATION = Conversion("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")


def may_be_aggregated(conversion: Conversion | None) -> bool:
    """Check whether ``/api`` and ``/apis`` may answer a request with aggregated discovery."""
    return conversion in (None, _AGGREGATION)


def verbs(served: Served) -> list[str]:
    """List the verbs that a kind supports, as discovery shows them."""
    kind = served.kind
    if kind.is_review:
        return ["create"]
    if kind.definition is not None:
        return _LAST_VERBS if kind.definition.is_terminating else _CUSTOM_VERBS
    missing = _MISSING_VERBS.get((kind.group, kind.plural), _CHANGES if kind.is_read_only else ())
    return [verb for verb in _VERBS if verb not in missing]


def version_info(emulated: str) -> Object:
    """Build the answer of ``/version``: the newest release, with the one it emulates beside it (e.g. ``1.35``).

    The versions of parts that it can work with go back to the release before, but not beyond the oldest that can be
    emulated (k8s.io/component-base/compatibility/version.go).
    """
    major, _, newest = NEWEST_EMULATED.partition(".")
    minor = emulated.partition(".")[2]
    oldest = OLDEST_EMULATED.partition(".")[2]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": newest,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(max(int(minor) - 1, int(oldest))),
        "gitVersion": f"v{NEWEST_EMULATED}.1",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{machine}",
    }


def core_versions(address: str) -> Object:
    """Build the APIVersions object that ``/api`` answers with."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(catalog: Catalog) -> Object:
    """Build the APIGroupList that ``/apis`` answers with."""
    groups = [_group(name, versions) for name, versions in catalog.groups().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalog: Catalog, name: str) -> Object | None:
    """Build the APIGroup of ``/apis/GROUP``; None if there is no such group."""
    versions = catalog.groups().get(name)
    if versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def resource_list(catalog: Catalog, group_name: str, version: str) -> Object | None:
    """Build the APIResourceList of ``/api/v1`` or ``/apis/GROUP/VERSION``; None if that is not served."""
    kinds = catalog.in_version(group_name, version)
    if not kinds:
        return None
    resources: list[Object] = []
    for served in kinds:
        resources.append(_resource(served, catalog.minor))
        resources += [_subresource(served, name) for name in served.kind.subresources]
    if not group_name:
        # The list of the core group has no version of its own.
        return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
    api_version = f"{group_name}/{version}"
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources}


def _resource(served: Served, minor: int) -> Object:
    kind = served.kind
    resource: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs(served),
    }
    resource |= _other_names(kind)
    if digest := storage_hash(kind, minor):
        resource["storageVersionHash"] = digest
    return resource


def _other_names(kind: Kind) -> Object:
    """Collect the short names and categories of a kind, as far as it has any."""
    names = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {key: value for key, value in names.items() if value}


def _subresource(served: Served, name: str) -> Object:
    kind = served.kind
    resource: Object = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if name in SUBRESOURCE_KINDS:
        group_name, version, other = SUBRESOURCE_KINDS[name]
        if group_name:
            resource |= {"group": group_name, "version": version}
        resource["kind"] = other
    else:
        resource["kind"] = kind.kind
    return {**resource, "verbs": subresource_verbs(served, name)}


def subresource_kind(served: Served, name: str) -> Kind:
    """Find the kind that is sent to a subresource, or comes from it."""
    kind = served.kind
    if name not in SUBRESOURCE_KINDS:
        return kind
    group_name, version, other = SUBRESOURCE_KINDS[name]
    return replace(kind, group=group_name, version=version or kind.version, kind=other)


def subresource_verbs(served: Served, name: str) -> list[str]:
    """List the verbs that a subresource supports, as discovery shows them."""
    found = _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"])
    return ["get"] if served.kind.is_read_only else found


def aggregated(catalog: Catalog, *, core: bool) -> Object:
    """Build the APIGroupDiscoveryList of ``/api`` (``core``) or of ``/apis``."""
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
    return {"metadata": {"name": name} if name else {}, "versions": listed}


def _aggregated_resource(served: Served) -> Object:
    kind = served.kind
    resource: Object = {
        "resource": kind.plural,
        "responseKind": _own_kind(kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": verbs(served),
    }
    resource |= _other_names(kind)
    if kind.subresources:
        resource["subresources"] = [_aggregated_subresource(served, name) for name in kind.subresources]
    return resource


def _aggregated_subresource(served: Served, name: str) -> Object:
    return {
        "subresource": name,
        "responseKind": _response_kind(*SUBRESOURCE_KINDS[name])
        if name in SUBRESOURCE_KINDS
        else _own_kind(served.kind),
        "verbs": subresource_verbs(served, name),
    }


def _own_kind(kind: Kind) -> Object:
    """Build the ``responseKind`` of a kind itself; that of a custom resource says its group and version."""
    return (
        _response_kind("", "", kind.kind)
        if kind.definition is None
        else _response_kind(kind.group, kind.version, kind.kind)
    )


def _response_kind(group_name: str, version: str, kind: str) -> Object:
    """Build a ``responseKind``; group and version are empty where they are those of the list."""
    return {"group": group_name, "version": version, "kind": kind}
