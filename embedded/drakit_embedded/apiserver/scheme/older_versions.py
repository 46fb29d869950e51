"""The versions of a kind before the one in which it is stored, for clients that have not moved on.

They show the same objects. Those of resource.k8s.io before v1 are not served unless asked for, as all beta and alpha
versions; from the releases in k8s.io/api/resource/*/zz_generated.prerelease-lifecycle.go on, each request is answered
with a warning (k8s.io/apiserver/pkg/endpoints/deprecation). ``autoscaling/v1`` is as stable as v2.
"""

from __future__ import annotations

from dataclasses import replace

from drakit_api.objects import conversion, schema
from drakit_embedded.apiserver.scheme.kinds import Kind

# Minor releases: deprecated since, no longer served from. DeviceTaintRule came to v1beta2 only in 1.36.
_LIFECYCLE = {"v1beta2": (36, 39), "v1beta1": (35, 38), "v1alpha3": (36, 39)}
_NOT_DEPRECATED = {("v1beta2", "DeviceTaintRule"), ("v1alpha3", "ResourcePoolStatusRequest")}
_SINCE = {("v1beta2", "DeviceTaintRule"): 36}

# k8s.io/api/core/v1 APILifecycleDeprecated
_DEPRECATED_CORE = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def of(kind: Kind) -> list[Kind]:
    """List the older versions of a kind, newest first; empty for most."""
    if (kind.group, kind.version) == ("autoscaling", "v2"):
        return [replace(kind, version="v1")]
    if kind.group != schema.GROUP or kind.version != conversion.STORAGE_VERSION:
        return []
    return [
        replace(kind, version=version, since=_SINCE.get((version, kind.kind), 0))
        for version in conversion.versions(kind.kind)
        if version != kind.version
    ]


def deprecation(kind: Kind) -> str:
    """Build the warning that a version of a kind is deprecated; empty if it is not."""
    if not kind.group and kind.plural in _DEPRECATED_CORE:
        return _DEPRECATED_CORE[kind.plural]
    if kind.group != schema.GROUP or kind.version not in _LIFECYCLE or (kind.version, kind.kind) in _NOT_DEPRECATED:
        return ""
    since, gone = _LIFECYCLE[kind.version]
    return f"{kind.api_version} {kind.kind} is deprecated in v1.{since}+, unavailable in v1.{gone}+"
