"""What real servers say about themselves, and what they make by themselves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp

from drakit_api.kubernetes_objects import Object
from drakit_kind.cluster import minor_version
from drakit_kind.clusters.flags import Behaviour
from tests.vectors import documents
from tests.vectors.exchanges import recorded
from tests.vectors.record.apiserver.servers import behaving, cluster, running
from tests.vectors.record.outcome import Outcome, of_lines

_EMULATED = 4  # the minor versions that a kube-apiserver can be: its own, and three before it
_AGGREGATED_ROLES = ("admin", "edit", "view")
_BOUND = 60.0
_PAUSE = 0.2


async def discovery(version: str) -> Outcome:
    """All groups, versions and resources, at each version that is emulated."""
    major, _, minor = minor_version(version).partition(".")
    emulated = [f"{major}.{number}" for number in range(int(minor) - _EMULATED + 1, int(minor) + 1)]
    lines = [await _emulating(each, version) for each in emulated]
    return of_lines(recorded("discovery"), lines, lambda line: str(line["emulated"]))


async def openapi(version: str) -> Outcome:
    """All documents of OpenAPI 3."""
    async with running("default", version) as (session, token):
        paths = (await _read(session, token, "/openapi/v3"))["paths"]
        found = {path: await _read(session, token, f"/openapi/v3/{path}") for path in paths}
    return of_lines(recorded("openapi"), documents.openapi_lines(found), lambda line: str(line["path"]))


async def policy(version: str) -> Outcome:
    """All roles and bindings, once controllers have collected the rules of those that are made of others."""
    async with cluster(version) as (session, token), asyncio.timeout(_BOUND):
        for name in _AGGREGATED_ROLES:
            while not (await _read(session, token, f"{documents.RBAC}/clusterroles/{name}")).get("rules"):  # noqa: ASYNC110
                await asyncio.sleep(_PAUSE)
        lines = await _unchanged(session, token)
    return of_lines(recorded("policy"), lines, _role_name)


async def _unchanged(session: aiohttp.ClientSession, token: str) -> list[Object]:
    """Parts are collected one by one; a second in which nothing was added is the end of it."""
    before: list[Object] = []
    while before != (now := await _roles(session, token)):
        before = now
        await asyncio.sleep(1.0)
    return now


async def _roles(session: aiohttp.ClientSession, token: str) -> list[Object]:
    found = []
    for plural in documents.POLICY:
        listed = await _read(session, token, f"{documents.RBAC}/{plural}")
        found += [documents.role_line(plural, item) for item in listed["items"]]
    return found


def _role_name(line: Object) -> str:
    metadata = line["object"]["metadata"]
    return f"{line['resource']} {metadata.get('namespace', '')}/{metadata['name']}"


async def _emulating(minor: str, version: str) -> Object:
    older = None if minor == minor_version(version) else minor
    async with behaving(Behaviour(version=version, emulated_version=older)) as (session, token):
        groups = (await _read(session, token, "/apis"))["groups"]
        served = [entry["groupVersion"] for group in groups for entry in group["versions"]]
        roots = {"v1": "/api/v1", **{each: f"/apis/{each}" for each in served}}
        return {
            "emulated": minor,
            "version": documents.version_told(await _read(session, token, "/version")),
            "groups": groups,
            "resources": {each: (await _read(session, token, path))["resources"] for each, path in roots.items()},
            "readyz": await _text(session, token, "/readyz?verbose"),
            "aggregated": {
                path: await _read(session, token, path, accept=documents.AGGREGATED) for path in ("/api", "/apis")
            },
        }


async def _read(session: aiohttp.ClientSession, token: str, path: str, accept: str = "application/json") -> Any:
    return json.loads(await _text(session, token, path, accept))


async def _text(session: aiohttp.ClientSession, token: str, path: str, accept: str = "*/*") -> str:
    headers = {"Authorization": f"Bearer {token}", "Accept": accept}
    async with session.get(path, headers=headers, raise_for_status=True) as response:
        return await response.text()
