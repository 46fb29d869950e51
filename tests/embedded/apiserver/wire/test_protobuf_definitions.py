"""Definitions of custom resources in protobuf, as the clients of operators in Go send them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.wire import protobuf, protobuf_answers
from tests.vectors.exchanges import recorded

API_VERSION, KIND = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
CRDS = f"/apis/{API_VERSION}/customresourcedefinitions"
DEFINITIONS = {line["definition"]["metadata"]["name"]: line["definition"] for line in recorded("custom-openapi")}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        Server(ServerConfig(token="t")) as server,
        aiohttp.ClientSession(server.url, headers={"Authorization": "Bearer t"}) as client,
    ):
        yield client


async def send(session: aiohttp.ClientSession, body: bytes, media_type: str) -> tuple[int, Object]:
    async with session.post(f"{CRDS}?dryRun=All", data=body, headers={"Content-Type": media_type}) as response:
        answer: Object = json.loads(await response.read())
        for name in ("uid", "creationTimestamp", "managedFields"):
            answer["metadata"].pop(name, None)
        return response.status, answer


@pytest.mark.slow
async def test_a_definition_is_stored_as_if_it_had_come_in_json(session: aiohttp.ClientSession) -> None:
    for name, stored in DEFINITIONS.items():
        definition = {"metadata": {"name": name, "annotations": _approval(name)}, "spec": stored["spec"]}
        in_json = json.dumps({"apiVersion": API_VERSION, "kind": KIND, **definition}).encode()
        code, expected = await send(session, in_json, "application/json")
        assert code == 201, expected
        in_protobuf = protobuf_answers.encode(KIND, API_VERSION, definition)
        assert await send(session, in_protobuf, protobuf.MEDIA_TYPE) == (201, expected)


def _approval(name: str) -> dict[str, str]:
    return {"api-approved.kubernetes.io": "unapproved"} if name.endswith(".k8s.io") else {}


def schema_of(schema: Object) -> Object:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    raw = protobuf_answers.encode(KIND, API_VERSION, {"metadata": {"name": "x"}, "spec": {"versions": [version]}})
    found: Object = protobuf.decode(raw)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "string"}},
        {"items": [{"type": "string"}, {"type": "integer"}]},
        {"items": {}},
        {"additionalProperties": True},
        {"additionalProperties": False},
        {"additionalProperties": {"type": "string"}},
        {"dependencies": {"a": ["b"], "c": {"type": "object"}}},
        {"default": {"a": None}, "enum": [None, 0, "", False, {"a": [1.5]}]},
        {"$ref": "a", "$schema": "b", "minimum": 0, "maximum": 2.5, "minLength": 0},
        {"x-kubernetes-preserve-unknown-fields": False, "x-kubernetes-list-map-keys": ["a"]},
        {"properties": {"a": {"properties": {"a": {"items": {"not": {"type": "string"}}}}}}},
    ],
)
def test_a_schema_is_read_as_it_was_meant(schema: Object) -> None:
    assert schema_of(schema) == schema


def test_a_schema_that_is_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"not": schema}
    with pytest.raises(protobuf.ProtobufError, match="nested too deep"):
        schema_of(schema)
