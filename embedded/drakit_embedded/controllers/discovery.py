"""Which kinds an API server serves, asked from the server itself.

Garbage collection and the end of a namespace concern every kind, those that nobody here has heard of included.
"""

from __future__ import annotations

from collections.abc import Iterable

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import Resource


async def deletable(connection: Connection) -> list[Resource]:
    """List every kind that can be listed, watched and deleted, once each, in the preferred version if that has it."""
    found = _usable("", "v1", await connection.json("GET", "/api/v1"))
    groups = await connection.json("GET", "/apis")
    for group in groups["groups"]:
        seen: set[str] = set()
        preferred = group["preferredVersion"]["version"]
        versions = [version["version"] for version in group["versions"]]
        for version in sorted(versions, key=lambda candidate: candidate != preferred):
            listed = await connection.json("GET", f"/apis/{group['name']}/{version}")
            fresh = [resource for resource in _usable(group["name"], version, listed) if resource.plural not in seen]
            seen.update(resource.plural for resource in fresh)
            found += fresh
    return found


def _usable(group: str, version: str, listed: Object) -> list[Resource]:
    return [
        Resource(group, version, entry["name"], entry["kind"], entry["namespaced"])
        for entry in listed.get("resources") or ()
        if "/" not in entry["name"] and _has_verbs(entry.get("verbs") or ())
    ]


def _has_verbs(verbs: Iterable[str]) -> bool:
    return {"delete", "list", "watch"} <= set(verbs)
