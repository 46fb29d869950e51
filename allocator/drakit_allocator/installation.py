"""Objects of a manifest, brought into a cluster and out of it again: by server-side apply, one after the other.

Fields are owned by the manager ``drakit``, so that a later release changes what this one wrote, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple, NoReturn

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_client.connection import Connection
from drakit_client.errors import UNREACHABLE, ApiError, Conflict, NotFound
from drakit_client.resources import BY_KIND, CUSTOM_RESOURCE_DEFINITIONS, Resource

MANAGER = "drakit"
# What became of an object that was to be deleted, if there was none.
ABSENT = "not there"
# What a kube-apiserver answers while it prepares the storage of a kind that it has just established, or is busy.
_NOT_YET = (429, 503)
_PAUSE = 0.1
# What the server says of an object, and not who wrote it.
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation")


class InstallationError(Exception):
    """A manifest that does not get into a cluster, or out of it; the message says what to do."""


class Step(NamedTuple):
    """What became of an object: it is ``created``, ``configured``, ``unchanged``, ``deleted`` or ``not there``."""

    name: str
    done: str


async def applied(
    connection: Connection, objects: Iterable[Object], *, dry_run: bool, force: bool
) -> AsyncIterator[Step]:
    """Apply objects, and yield what became of each; ``force`` takes over fields that others own.

    Raises ``InstallationError`` at the first one that is refused; those before it stay.
    """
    for obj in objects:
        name = _name(obj)
        try:
            yield Step(name, await _apply(connection, obj, dry_run=dry_run, force=force))
        except (ApiError, *UNREACHABLE) as error:
            _give_up(connection, name, error)


async def _apply(connection: Connection, obj: Object, *, dry_run: bool, force: bool) -> str:
    resource, name, namespace = _place(obj)
    before = await _found(connection, resource, name, namespace)
    params = {"fieldManager": MANAGER, "fieldValidation": "Strict", "force": str(force).lower()}
    if dry_run:
        params["dryRun"] = "All"
    try:
        after = await connection.patch(resource, name, obj, namespace, patch_type="apply", params=params)
    except NotFound:
        if dry_run and namespace is not None:
            # Its namespace, which a dry run does not make.
            return "created"
        raise
    if before is None:
        return "created"
    return "unchanged" if _content(before) == _content(after) else "configured"


async def until_served(connection: Connection, definition: Object, seconds: float) -> None:
    """Wait until the kind of a definition is served. Raises ``InstallationError`` if it is not in that time."""
    name, stored = definition["metadata"]["name"], definition
    try:
        async with asyncio.timeout(seconds):
            while not await _is_served(connection, stored):
                await asyncio.sleep(_PAUSE)
                stored = await connection.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    except TimeoutError:
        why = "; ".join(_complaints(stored)) or "the API server has not said why"
        told = f"{_name(definition)} is not served after {seconds:g} s: {why}"
        raise InstallationError(f"{told}; look at it with kubectl describe crd {name}") from None
    except (ApiError, *UNREACHABLE) as error:
        _give_up(connection, _name(definition), error)


async def _is_served(connection: Connection, stored: Object) -> bool:
    """Check that a definition is established, and that there is a list of its objects."""
    if not conditions.is_true(stored, "Established"):
        return False
    try:
        return await _listed(connection, resource_of(stored)) is not None
    except ApiError as error:
        if error.code in _NOT_YET:
            return False
        raise


def resource_of(definition: ReadOnlyObject) -> Resource:
    """Return the resource that a definition defines, in its first version."""
    spec = definition["spec"]
    names, version = spec["names"], spec["versions"][0]["name"]
    return Resource(spec["group"], version, names["plural"], names["kind"], spec["scope"] == "Namespaced")


async def objects_of(connection: Connection, definition: Object) -> list[str]:
    """List the names of all objects of a definition; none if it is not there."""
    try:
        return await _listed(connection, resource_of(definition)) or []
    except (ApiError, *UNREACHABLE) as error:
        _give_up(connection, resource_of(definition).plural, error)


async def removed(
    connection: Connection, objects: Iterable[Object], *, dry_run: bool, seconds: float
) -> AsyncIterator[Step]:
    """Delete objects, a definition with all objects of its kind, and yield what became of each.

    Raises ``InstallationError`` at the first one that cannot be deleted, or is still there after so many seconds.
    """
    for obj in objects:
        name = _name(obj)
        try:
            yield Step(name, await _remove(connection, obj, dry_run=dry_run, seconds=seconds))
        except TimeoutError:
            why = f"is still there {seconds:g} s after it was deleted"
            raise InstallationError(f"{name} {why}; a finalizer may hold it or one of its objects") from None
        except (ApiError, *UNREACHABLE) as error:
            _give_up(connection, name, error)


async def _remove(connection: Connection, obj: Object, *, dry_run: bool, seconds: float) -> str:
    resource, name, namespace = _place(obj)
    if await _found(connection, resource, name, namespace) is None:
        return ABSENT
    if not dry_run:
        await connection.delete(resource, name, namespace)
        async with asyncio.timeout(seconds):
            await _until_gone(connection, resource, name, namespace)
    return "deleted"


async def _until_gone(connection: Connection, resource: Resource, name: str, namespace: str | None) -> None:
    while True:
        if await _found(connection, resource, name, namespace) is None:
            return
        await asyncio.sleep(_PAUSE)


def _place(obj: ReadOnlyObject) -> tuple[Resource, str, str | None]:
    """Return of which resource an object is, and its name and namespace."""
    return BY_KIND[obj["kind"]], obj["metadata"]["name"], obj["metadata"].get("namespace")


async def stored(connection: Connection, resource: Resource, name: str, namespace: str) -> Object | None:
    """Read an object that may be there. Raises ``InstallationError``."""
    try:
        return await _found(connection, resource, name, namespace)
    except (ApiError, *UNREACHABLE) as error:
        _give_up(connection, f"{resource.kind.lower()}/{name}", error)


async def _found(connection: Connection, resource: Resource, name: str, namespace: str | None) -> Object | None:
    try:
        return await connection.get(resource, name, namespace)
    except NotFound:
        return None


async def _listed(connection: Connection, resource: Resource) -> list[str] | None:
    """List the names of a kind's objects; None if there is no such kind."""
    try:
        found = await connection.list(resource)
    except NotFound:
        return None
    return [item["metadata"]["name"] for item in found["items"]]


def _name(obj: ReadOnlyObject) -> str:
    """Name an object as kubectl does: ``clusterrole.rbac.authorization.k8s.io/reader``."""
    group = BY_KIND[obj["kind"]].group
    return f"{obj['kind'].lower()}{'.' if group else ''}{group}/{obj['metadata']['name']}"


def _content(obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _BOOKKEEPING}
    return {**obj, "metadata": metadata, "status": None}


def _complaints(stored: Object) -> list[str]:
    """List what conditions of a definition say against it: others may have its names."""
    found = (stored.get("status") or {}).get("conditions") or ()
    wrong = {"NamesAccepted": "False", "Established": "False", "NonStructuralSchema": "True", "Terminating": "True"}
    return [
        str(each.get("message") or each["type"]) for each in found if each.get("status") == wrong.get(each["type"], "")
    ]


def _give_up(connection: Connection, name: str, error: Exception) -> NoReturn:
    if not isinstance(error, ApiError):
        why = str(error) or type(error).__name__
        hint = f"{connection.server} does not answer: {why}; name another cluster with --kubeconfig or --context"
    elif error.is_denied:
        hint = f"{error.message}; --context names another user of the kubeconfig, who needs the rights of cluster-admin"
    elif isinstance(error, Conflict):
        hint = f"{error.message}; --force-conflicts takes these fields over"
    else:
        hint = error.message
    raise InstallationError(f"{name}: {hint}") from error
