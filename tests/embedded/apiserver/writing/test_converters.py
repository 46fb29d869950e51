"""When programs are asked to convert custom resources, how often, and who waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors import converter
from tests.vectors.converter import Converter

TOKEN = "of-the-tests"
GROUP = "/apis/example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{CRDS}/things.example.com"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
TEXT: Object = {"type": "string"}


def schema(*fields: str) -> Object:
    spec = {"type": "object", "properties": dict.fromkeys(fields, TEXT)}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def definition(client_config: Object, storage: str = "v1") -> Object:
    fields = {"v1": ("hostPort",), "v2": ("host", "port")}
    versions = [
        {"name": name, "served": True, "storage": name == storage, "schema": schema(*fields[name])} for name in fields
    ]
    webhook = {"clientConfig": client_config, "conversionReviewVersions": ["v1"]}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": versions,
        "conversion": {"strategy": "Webhook", "webhook": webhook},
    }
    kind = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}
    return {**kind, "metadata": {"name": "things.example.com"}, "spec": spec}


def thing(version: str, name: str) -> Object:
    spec = {"hostPort": "h:1"} if version == "v1" else {"host": "h", "port": "1"}
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


def path(version: str, name: str = "") -> str:
    return f"{GROUP}/{version}/namespaces/default/things" + (f"/{name}" if name else "")


class Things:
    """A definition whose objects a program converts, and its clients."""

    def __init__(self, connection: Connection, program: Converter) -> None:
        self.connection, self.program = connection, program

    @property
    def asked(self) -> list[Object]:
        """What the program has been asked."""
        return [review["request"] for review in self.program.asked["things"]]

    async def define(self, **fields: Any) -> None:
        config = {"url": f"{self.program.url}/things", "caBundle": self.program.ca}
        await self.connection.json("POST", CRDS, definition(**{"client_config": config, **fields}))
        while not await self._is_served():
            pass

    async def _is_served(self) -> bool:
        try:
            await self.read("v1")
        except NotFound:
            return False
        return True

    async def create(self, version: str, *names: str) -> None:
        for name in names:
            await self.connection.json("POST", path(version), thing(version, name))

    async def read(self, version: str, name: str = "") -> Any:
        return await self.connection.json("GET", path(version, name))


@pytest.fixture
async def program() -> AsyncIterator[Converter]:
    """A running program."""
    async with converter.running() as made:
        yield made
        made.answering.set()


@pytest.fixture
async def things(connection: Connection, program: Converter) -> Things:
    """Objects that it converts."""
    made = Things(connection, program)
    await made.define()
    return made


async def test_a_list_asks_once_for_each_version_of_an_object(things: Things) -> None:
    await things.create("v1", "a", "b", "c")
    assert [each["spec"]["host"] for each in (await things.read("v2"))["items"]] == ["h", "h", "h"]
    assert len(things.asked) == 3
    await things.read("v2")
    assert len(things.asked) == 3
    await things.connection.json("PATCH", path("v1", "b"), {"spec": {"hostPort": "i:2"}}, content_type=MERGE_PATCH)
    assert [each["spec"]["host"] for each in (await things.read("v2"))["items"]] == ["h", "i", "h"]
    assert len(things.asked) == 4


async def test_what_is_written_in_another_version_is_known_in_it(things: Things) -> None:
    await things.create("v2", "a")
    before = len(things.asked)
    assert (await things.read("v2"))["items"][0]["spec"] == {"host": "h", "port": "1"}
    assert len(things.asked) == before == 2


async def test_nobody_is_asked_about_objects_of_the_stored_version(things: Things) -> None:
    await things.create("v1", "a")
    await things.read("v1", "a")
    await things.read("v1")
    await things.connection.json("DELETE", path("v1", "a"))
    assert things.asked == []


async def test_others_do_not_wait_for_a_slow_program(things: Things) -> None:
    await things.create("v1", "a")
    things.program.answering.clear()
    reading = asyncio.create_task(things.read("v2"))
    writing = asyncio.create_task(things.create("v2", "b"))
    async with asyncio.timeout(10):
        while len(things.asked) < 2:
            await things.read("v1", "a")
            await things.create("v1", f"c{len((await things.read('v1'))['items'])}")
    assert not reading.done()
    assert not writing.done()
    things.program.answering.set()
    assert [each["metadata"]["name"] for each in (await reading)["items"]] == ["a"]
    await writing
    assert (await things.read("v1", "b"))["spec"] == {"hostPort": "h:1"}


@pytest.mark.parametrize("name", ["", "a"])
async def test_a_client_that_leaves_ends_the_call(things: Things, name: str) -> None:
    await things.create("v1", "a")
    things.program.answering.clear()
    reading = asyncio.create_task(things.read("v2", name))
    async with asyncio.timeout(10):
        while not things.asked:
            await things.read("v1", "a")
        reading.cancel()
        await things.program.abandoned.wait()


async def test_a_watch_ends_with_an_error_if_an_object_cannot_be_converted(
    things: Things, session: aiohttp.ClientSession
) -> None:
    await things.create("v1", "a")
    async with session.get(f"{path('v2')}?watch=1") as response:
        assert json.loads(await response.content.readline())["object"]["spec"] == {"host": "h", "port": "1"}
        things.program.ways["things"] = "failing"
        await things.create("v1", "b")
        event = json.loads(await response.content.readline())
        assert (event["type"], event["object"]["reason"]) == ("ERROR", "StorageReadError")
        assert (
            "conversion webhook for example.com/v1, Kind=Thing failed: I cannot do that" in event["object"]["message"]
        )
        assert await response.content.readline() == b""


async def test_each_change_is_seen_in_the_version_that_is_watched(
    things: Things, session: aiohttp.ClientSession
) -> None:
    async with session.get(f"{path('v2')}?watch=1") as response:
        await things.create("v1", "a")
        await things.connection.json("PATCH", path("v1", "a"), {"spec": {"hostPort": "i:2"}}, content_type=MERGE_PATCH)
        await things.connection.json("DELETE", path("v1", "a"))
        events = [json.loads(await response.content.readline()) for _ in range(3)]
    assert [(event["type"], event["object"]["spec"]["host"]) for event in events] == [
        ("ADDED", "h"),
        ("MODIFIED", "i"),
        ("DELETED", "i"),
    ]


async def test_a_deleted_definition_deletes_objects_of_a_former_version_once_they_can_be_read(things: Things) -> None:
    await things.create("v1", "a")
    flags = [{"op": "replace", "path": f"/spec/versions/{at}/storage", "value": at == 1} for at in (0, 1)]
    await things.connection.json("PATCH", DEFINITION, flags, content_type=JSON_PATCH)
    things.program.ways["things"] = "failing"
    await things.connection.json("DELETE", DEFINITION)
    async with asyncio.timeout(10):
        while not any("could not list instances" in message for message in await _messages(things.connection)):
            pass
        things.program.ways["things"] = "right"
        while await _messages(things.connection):
            pass


async def _messages(connection: Connection) -> list[str]:
    """The messages of the definition's conditions; none if it is gone."""
    try:
        found = await connection.json("GET", DEFINITION)
    except NotFound:
        return []
    return [condition["message"] for condition in found["status"]["conditions"]]


async def test_a_service_stands_for_the_program(connection: Connection, program: Converter) -> None:
    address = program.url.removeprefix("https://")
    # Its certificate is for another name, which is all that is wrong.
    service = {
        "metadata": {"name": "localhost", "annotations": {"drakit.dev/address": address}},
        "spec": {"ports": [{"port": 443}]},
    }
    await connection.json("POST", "/api/v1/namespaces/default/services", service)
    things = Things(connection, program)
    reference = {"name": "localhost", "namespace": "default", "path": "/things"}
    await things.define(client_config={"service": reference, "caBundle": program.ca})
    await things.create("v1", "a")
    with pytest.raises(ApiError, match=r"certificate is not valid for localhost\.default\.svc"):
        await things.read("v2", "a")


async def test_the_stored_version_outlives_the_server(tmp_path: Path, program: Converter) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "data.db")
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        things = Things(connection, program)
        await things.define()
        await things.create("v1", "a")
        flags = [{"op": "replace", "path": f"/spec/versions/{at}/storage", "value": at == 1} for at in (0, 1)]
        await connection.json("PATCH", DEFINITION, flags, content_type=JSON_PATCH)
        await things.create("v2", "b")
    program.asked.clear()
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        things = Things(connection, program)
        assert [each["spec"] for each in (await things.read("v2"))["items"]] == [{"host": "h", "port": "1"}] * 2
        assert [each["objects"][0]["apiVersion"] for each in things.asked] == ["example.com/v1"]
        assert [each["spec"] for each in (await things.read("v1"))["items"]] == [{"hostPort": "h:1"}] * 2
        assert [each["objects"][0]["apiVersion"] for each in things.asked] == ["example.com/v1", "example.com/v2"]
