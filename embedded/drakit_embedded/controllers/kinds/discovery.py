"""Which kinds an API server serves, asked from the server itself.

Two documents of aggregated discovery (apidiscovery.k8s.io/v2) have them all; with their ETags, to ask again costs next
to nothing. What is chosen of them follows k8s.io/client-go/discovery (ServerPreferredResources).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import UnreadableError
from drakit_client.resources import Resource

_PATHS = ("/api", "/apis")
_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Served:
    """A kind in one version, and what can be done with its objects."""

    resource: Resource
    verbs: frozenset[str]


@dataclass(frozen=True)
class Discovered:
    """The kinds of a server by group and plural, each in the version that its group prefers."""

    kinds: Mapping[tuple[str, str], Served] = field(default_factory=dict)
    # Versions of groups of which a server behind this one does not tell its kinds now; those known before are kept.
    stale: tuple[str, ...] = ()

    def supporting(self, *verbs: str) -> list[Resource]:
        """List the kinds that have all of these verbs."""
        return [served.resource for served in self.kinds.values() if served.verbs.issuperset(verbs)]

    def of_kind(self, group: str, kind: str) -> Resource | None:
        """Find a kind by its name in manifests, whatever can be done with it."""
        return self._by_kind.get((group, kind))

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], Resource]:
        found = (served.resource for served in self.kinds.values())
        return {(resource.group, resource.kind): resource for resource in found}


class Discovery:
    """What a server serves, read again only where it has changed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tags = dict.fromkeys(_PATHS, "")
        self._documents: dict[str, bytes] = {}
        self._found = Discovered()

    async def ask(self) -> Discovered:
        """Return what is served now: the same object as before, if that has not changed."""
        changed = False
        for path in _PATHS:
            newer = await self._connection.newer(path, self._tags[path], accept=_ACCEPT)
            if newer is not None:
                self._documents[path], self._tags[path] = newer
                changed = True
        if changed:
            groups = [group for path in _PATHS for group in _groups(path, self._documents[path])]
            found = discovered(groups, self._found)
            if found != self._found:
                self._found = found
        return self._found


def _groups(path: str, raw: bytes) -> list[Object]:
    try:
        listed: list[Object] = msgspec.json.decode(raw)["items"]
    except (ValueError, TypeError, KeyError):
        raise UnreadableError(f"GET {path}: the answer is no APIGroupDiscoveryList") from None
    return listed


def discovered(groups: Iterable[Object], before: Discovered) -> Discovered:
    """Choose a version of each kind: that which its group prefers, or else the first that has it."""
    kinds: dict[tuple[str, str], Served] = {}
    stale: list[str] = []
    for group in groups:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            if version.get("freshness") == "Stale":
                stale.append(f"{name}/{version['version']}" if name else version["version"])
                continue
            for served in _served(name, version):
                kinds.setdefault((name, served.resource.plural), served)
    for key, served in before.kinds.items():
        if served.resource.api_version in stale:
            kinds.setdefault(key, served)
    return Discovered(kinds, tuple(stale))


def _served(group: str, version: Object) -> Iterator[Served]:
    for entry in version.get("resources") or ():
        kind = (entry.get("responseKind") or {}).get("kind", "")
        resource = Resource(group, version["version"], entry["resource"], kind, entry["scope"] == "Namespaced")
        yield Served(resource, frozenset(entry.get("verbs") or ()))
