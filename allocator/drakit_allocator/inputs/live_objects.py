"""What a cluster knows about devices, read once: the same objects that files may hold, in v1.

A cluster may be older than v1 of resource.k8s.io; then its newest version is read and converted.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from drakit_api.features import MIXINS_GATE, NEWEST_EMULATED, OLDEST_EMULATED, PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import mixins
from drakit_api.objects import conversion
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, UNREACHABLE, ApiError, NotFound
from drakit_client.resources import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICE_PATCHES,
    RESOURCE_SLICES,
    Resource,
)

_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)")


class ClusterError(Exception):
    """A cluster that cannot be read, or does not have what was asked for; the message says what to do."""


@dataclass(frozen=True, slots=True)
class LiveObjects:
    """Objects of a cluster at about one moment; slices with mixins applied where the gates say so."""

    nodes: list[Object]
    slices: list[Object]
    classes: list[Object]
    claims: list[Object]
    taint_rules: list[Object]
    patches: list[Object]  # all of them, whether or not their feature gate is on
    is_patch_kind_installed: bool = True

    def claim(self, namespace: str, name: str) -> Object:
        """Return a claim. Raises ``ClusterError``, which names those that there are."""
        there = {one["metadata"]["name"]: one for one in self.claims if one["metadata"]["namespace"] == namespace}
        if name in there:
            return there[name]
        hint = f"there are {', '.join(sorted(there)[:10])}" if there else "there is none; -n names another"
        raise ClusterError(f"there is no ResourceClaim {name} in namespace {namespace}; {hint}")


async def read_cluster(connection: Connection, gates: FeatureGates) -> LiveObjects:
    """Read all nodes, slices, classes, claims, taint rules and patches. Raises ``ClusterError``."""
    nodes, slices, classes, claims, rules, (patches, is_installed) = await asyncio.gather(
        _items(connection, NODES),
        _converted(connection, RESOURCE_SLICES),
        _converted(connection, DEVICE_CLASSES),
        _converted(connection, RESOURCE_CLAIMS),
        _converted(connection, DEVICE_TAINT_RULES, is_optional=True),
        _patches(connection, is_needed=gates.enabled(PATCHES_GATE)),
    )
    if gates.enabled(MIXINS_GATE):
        slices = [mixins.applied_to(one) for one in slices]
    return LiveObjects(nodes, slices, classes, claims, rules, patches, is_installed)


async def _patches(connection: Connection, *, is_needed: bool) -> tuple[list[Object], bool]:
    """Read the patches, and whether their kind is installed; a user need not be allowed to read what does not count."""
    try:
        return await _items(connection, RESOURCE_SLICE_PATCHES), True
    except NotFound:
        return [], False
    except ClusterError:
        if not is_needed:
            return [], True
        # Users without rights are told that they have none before they are told that there is no such kind.
        if not await _is_served(connection, RESOURCE_SLICE_PATCHES):
            return [], False
        raise


async def _is_served(connection: Connection, resource: Resource) -> bool:
    """Tell whether the API server knows a group and version; if it does not say so, it does."""
    try:
        await connection.json("GET", f"/apis/{resource.group}/{resource.version}")
    except NotFound:
        return False
    except REQUEST_FAILURES:
        return True
    return True


async def read_pod(connection: Connection, namespace: str, name: str) -> Object:
    """Read a pod. Raises ``ClusterError``."""
    try:
        return await connection.get(PODS, name, namespace)
    except NotFound:
        raise ClusterError(f"there is no Pod {name} in namespace {namespace}; -n names another namespace") from None
    except (ApiError, *UNREACHABLE) as error:
        raise _failed(connection, PODS, error) from error


async def server_version(connection: Connection) -> str:
    """Return major and minor version of the cluster, such as "1.37", as far as drakit can behave like it."""
    try:
        told = await connection.json("GET", "/version")
    except (ApiError, *UNREACHABLE) as error:
        raise ClusterError(f"{connection.server}: {_reason(error)}; name another cluster with --kubeconfig") from error
    emulated = f"{told.get('emulationMajor')}.{told.get('emulationMinor')}"
    found = _VERSION.match(emulated) or _VERSION.match(str(told.get("gitVersion", "")))
    if found is None:
        return NEWEST_EMULATED
    versions = ((int(found[1]), int(found[2])), _numbers(OLDEST_EMULATED), _numbers(NEWEST_EMULATED))
    return ".".join(map(str, sorted(versions)[1]))


def _numbers(version: str) -> tuple[int, int]:
    major, minor = map(int, version.split("."))
    return major, minor


async def _converted(connection: Connection, resource: Resource, *, is_optional: bool = False) -> list[Object]:
    """List the objects in the newest version that is served, and convert them to v1."""
    versions = conversion.versions(resource.kind)
    for version in versions:
        try:
            items = await _items(connection, resource.in_version(version))
        except NotFound:
            continue
        return [conversion.to_v1(resource.kind, item, version) for item in items]
    if is_optional:
        return []
    served = f"{resource.group} in none of {', '.join(versions)}"
    raise ClusterError(f"{connection.server} serves {served}: is DynamicResourceAllocation on?")


async def _items(connection: Connection, resource: Resource) -> list[Object]:
    try:
        items: list[Object] = (await connection.list(resource))["items"]
    except NotFound:
        raise
    except (ApiError, *UNREACHABLE) as error:
        raise _failed(connection, resource, error) from error
    return items


def _failed(connection: Connection, resource: Resource, error: BaseException) -> ClusterError:
    is_forbidden = isinstance(error, ApiError) and error.is_forbidden
    remedy = f"; ask for {_role_for(resource)}" if is_forbidden else ""
    return ClusterError(f"{connection.server}: {resource.plural} cannot be read: {_reason(error)}{remedy}")


def _role_for(resource: Resource) -> str:
    """Name the role that a user lacks; of what is read together, all at once."""
    if resource.kind == RESOURCE_SLICE_PATCHES.kind:
        return "the ClusterRole drakit-patch-reader, which comes with the kind"
    if resource.kind == PODS.kind:
        return "a Role that may get pods"
    every = sorted(one.plural for one in (DEVICE_CLASSES, DEVICE_TAINT_RULES, RESOURCE_CLAIMS, RESOURCE_SLICES))
    return f"a ClusterRole that may list nodes, and {', '.join(every)} of {RESOURCE_SLICES.group}"


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
