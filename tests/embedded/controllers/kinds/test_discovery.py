"""What is read out of aggregated discovery, and when it is read again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import UnreadableError
from drakit_client.resources import PODS, Resource
from drakit_embedded.controllers.kinds.discovery import Discovered, Discovery, discovered


def version(name: str, *plurals: str, verbs: tuple[str, ...] = ("list", "delete"), **fields: Any) -> Object:
    resources = [
        {
            "resource": plural,
            "responseKind": {"group": "", "version": "", "kind": plural.removesuffix("s").capitalize()},
            "scope": "Namespaced",
            "verbs": list(verbs),
        }
        for plural in plurals
    ]
    return {"version": name, "resources": resources, "freshness": "Current", **fields}


def group(name: str, *versions: Object) -> Object:
    return {"metadata": {"name": name} if name else {}, "versions": list(versions)}


def names(found: Discovered) -> set[str]:
    return {f"{each.resource.plural}.{each.resource.api_version}" for each in found.kinds.values()}


def test_a_kind_is_taken_in_the_version_that_its_group_prefers() -> None:
    groups = [
        group("", version("v1", "pods")),
        group("g.example.com", version("v2", "as"), version("v1", "as", "bs")),
    ]
    found = discovered(groups, Discovered())
    assert names(found) == {"pods.v1", "as.g.example.com/v2", "bs.g.example.com/v1"}
    assert found.of_kind("", "Pod") == PODS
    assert found.of_kind("g.example.com", "B") == Resource("g.example.com", "v1", "bs", "B")
    assert found.of_kind("g.example.com", "C") is None


def test_kinds_are_selected_by_what_can_be_done_with_them() -> None:
    served = version("v1", "as", verbs=("get",)), version("v1beta1", "bs", verbs=("get", "delete"))
    found = discovered([group("g.example.com", *served)], Discovered())
    assert [each.plural for each in found.supporting("delete")] == ["bs"]
    assert [each.plural for each in found.supporting("get")] == ["as", "bs"]
    assert found.supporting("get", "watch") == []


def test_the_kinds_of_a_stale_version_are_those_known_before() -> None:
    both = group("g.example.com", version("v2", "as"), version("v1", "bs"))
    before = discovered([both], Discovered())
    stale = group("g.example.com", version("v2", "as"), version("v1", freshness="Stale"))
    found = discovered([stale], before)
    assert (names(found), found.stale) == (names(before), ("g.example.com/v1",))
    assert names(discovered([group("g.example.com", version("v2", "as"))], before)) == {"as.g.example.com/v2"}


class Server:
    """Serves discovery as it is told, and notes which tags it is asked for."""

    def __init__(self) -> None:
        self.apis: bytes = b'{"items": []}'
        self.tag = '"1"'
        self.asked: list[str] = []

    async def core(self, request: web.Request) -> web.Response:
        return web.json_response({"items": [group("", version("v1", "pods"))]}, headers={"ETag": '"core"'})

    async def groups(self, request: web.Request) -> web.Response:
        self.asked.append(request.headers.get("If-None-Match", ""))
        if self.asked[-1] == self.tag:
            return web.Response(status=304)
        return web.Response(body=self.apis, headers={"ETag": self.tag})


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, Discovery]]:
    fake, app = Server(), web.Application()
    app.add_routes([web.get("/api", fake.core), web.get("/apis", fake.groups)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    async with Connection(f"http://{host}:{port}") as connection:
        yield fake, Discovery(connection)
    await runner.cleanup()


async def test_what_has_not_changed_is_not_read_again(server: tuple[Server, Discovery]) -> None:
    fake, discovery = server
    first = await discovery.ask()
    assert await discovery.ask() is first
    fake.tag = '"2"'
    assert await discovery.ask() is first, "another document with the same kinds"
    assert fake.asked == ["", '"1"', '"1"']
    assert names(first) == {"pods.v1"}


@pytest.mark.parametrize("apis", [b"", b"{}", b"[]", b'{"items": '])
async def test_an_answer_that_is_no_discovery_is_a_failed_request(
    server: tuple[Server, Discovery], apis: bytes
) -> None:
    fake, discovery = server
    fake.apis = apis
    with pytest.raises(UnreadableError, match="GET /apis: the answer is no APIGroupDiscoveryList"):
        await discovery.ask()
