"""What is deleted of a namespace and in which order, and what remains for which reasons."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError, api_error
from drakit_client.resources import CONFIG_MAPS, PODS, SECRETS, Resource
from drakit_embedded.controllers.kinds.discovery import Discovered, Served
from drakit_embedded.controllers.namespaces.contents import Contents, Look

NS = "team"
ONE_BY_ONE = Resource("example.com", "v1", "things", "Thing")
VERBS = {PODS: "deletecollection", CONFIG_MAPS: "deletecollection", SECRETS: "deletecollection", ONE_BY_ONE: "delete"}


class Server:
    """Objects by kind, some of which stay when they are deleted; stands for both the connection and the kinds."""

    def __init__(self) -> None:
        self.objects: dict[Resource, Any] = {resource: [] for resource in VERBS}
        self.refuses: dict[Resource, ApiError] = {}
        self.stale: tuple[str, ...] = ()
        self.deleted: list[str] = []

    def add(self, resource: Resource, name: str, *finalizers: str, **spec: Any) -> None:
        self.objects[resource].append({"metadata": {"name": name, "finalizers": list(finalizers)}, "spec": spec})

    async def now(self) -> Discovered:
        served = {
            (each.group, each.plural): Served(each, frozenset({"delete", "list", verb})) for each, verb in VERBS.items()
        }
        return Discovered(served, self.stale)

    async def list(self, resource: Resource, namespace: str) -> Object:
        return {"items": self.objects[resource]}

    async def json(self, method: str, path: str, **options: Any) -> Object:
        return {"items": list(self.objects[self._kind(path)])}

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        resource = self._kind(path)
        if resource in self.refuses:
            raise self.refuses[resource]
        self.deleted.append(resource.plural)
        self._go(resource, self.objects[resource])
        return b""

    async def delete(self, resource: Resource, name: str, namespace: str, **options: Any) -> None:
        self.deleted.append(f"{resource.plural}/{name}")
        self._go(resource, [obj for obj in self.objects[resource] if obj["metadata"]["name"] == name])

    def _kind(self, path: str) -> Resource:
        return next(each for each in VERBS if each.path(NS) == path)

    def _go(self, resource: Resource, objects: Sequence[Object]) -> None:
        for obj in objects:
            obj["metadata"]["deletionTimestamp"] = gotime.now()
        stays = [obj for obj in self.objects[resource] if obj not in objects or obj["metadata"]["finalizers"]]
        self.objects[resource] = [*stays, *(obj for obj in objects if obj["spec"] and obj not in stays)]


@pytest.fixture
def server() -> Server:
    return Server()


async def look(server: Server, *left: Resource, seconds: float = 0.0) -> Look:
    """Look at the namespace, which has been terminating for so long."""
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    metadata = {"name": NS, "deletionTimestamp": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    contents = Contents(server, server)  # type: ignore[arg-type]
    return await contents.delete({"metadata": metadata}, left or None)


async def test_an_empty_namespace_can_end(server: Server) -> None:
    found = await look(server)
    assert found.is_empty
    assert server.deleted == []


async def test_what_goes_at_once_is_not_in_the_way(server: Server) -> None:
    server.add(CONFIG_MAPS, "c")
    for name in ("a", "b"):
        server.add(ONE_BY_ONE, name)
    assert (await look(server)).is_empty
    assert server.deleted == ["configmaps", "things/a", "things/b"]


async def test_nothing_else_is_touched_while_pods_remain(server: Server) -> None:
    server.add(PODS, "p", terminationGracePeriodSeconds=30)
    server.add(CONFIG_MAPS, "c", "example.com/hold")
    found = await look(server)
    assert not found.is_empty
    assert server.deleted == ["pods"]
    assert (found.findings.errors, found.findings.remaining) == ([], {})
    server.objects[PODS] = []
    assert not (await look(server)).is_empty
    assert server.deleted == ["pods", "configmaps"]


async def test_pods_that_take_longer_than_they_may_are_told_of(server: Server) -> None:
    server.add(PODS, "p", terminationGracePeriodSeconds=30)
    found = await look(server, seconds=31.0)
    assert found.findings.errors == [
        "unexpected items still remain in namespace: team for gvr: /v1, Resource=pods",
    ]


async def test_what_waits_for_finalizers_is_counted_and_looked_at_again(server: Server) -> None:
    server.add(CONFIG_MAPS, "c", "example.com/a", "example.com/b")
    server.add(ONE_BY_ONE, "t", "example.com/a")
    server.add(ONE_BY_ONE, "u", "example.com/a")
    found = await look(server)
    assert found.findings.remaining == {"configmaps.": 1, "things.example.com": 2}
    assert found.findings.finalizers == {"example.com/a": 3, "example.com/b": 1}
    assert found.findings.errors == []
    assert found.left == (CONFIG_MAPS, ONE_BY_ONE)
    server.objects[CONFIG_MAPS] = []
    assert (await look(server, CONFIG_MAPS, ONE_BY_ONE)).left == (ONE_BY_ONE,)


async def test_before_a_namespace_ends_all_of_it_is_looked_at_again(server: Server) -> None:
    server.add(SECRETS, "late")
    assert (await look(server, CONFIG_MAPS)).is_empty
    assert server.deleted == ["secrets"]


@pytest.mark.parametrize("code", [404, 405])
async def test_a_kind_that_is_withdrawn_is_passed_over(server: Server, code: int) -> None:
    server.add(CONFIG_MAPS, "c")
    server.refuses[CONFIG_MAPS] = api_error(code, {"message": "no"})
    assert (await look(server)).is_empty


async def test_what_cannot_be_deleted_is_told_and_the_rest_is_deleted(server: Server) -> None:
    for resource in (CONFIG_MAPS, SECRETS):
        server.add(resource, "x")
    server.refuses[CONFIG_MAPS] = api_error(403, {"message": "a webhook says no"})
    found = await look(server)
    assert (found.findings.errors, found.left) == (["a webhook says no"], (CONFIG_MAPS,))
    assert server.deleted == ["secrets"]


async def test_a_namespace_stays_while_not_all_kinds_are_known(server: Server) -> None:
    server.stale = ("metrics.k8s.io/v1",)
    found = await look(server)
    assert (found.is_empty, found.findings.stale) == (False, ("metrics.k8s.io/v1",))
