"""One object in protobuf, for a client that takes nothing else: the same as in JSON, and parameters as they came."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.raw_extensions import Embedded
from drakit_api.typed_objects import ResourceClaim, as_claim
from drakit_client import claim_writes
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Conflict, Invalid
from drakit_client.resources import LEASES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, SERVICES, Resource
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.wire import protobuf, protobuf_answers

PROTOBUF = "application/vnd.kubernetes.protobuf"
ODD = '{"b": 1, "a":"<\\u00e9>", "a":2e1}'
FINALIZER = "resource.kubernetes.io/delete-protection"
POD = {
    "containers": [
        {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": "1500m", "memory": "1.5Gi"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
            "readinessProbe": {"tcpSocket": {"port": 80}},
        }
    ],
    "terminationGracePeriodSeconds": 0,
    "nodeSelector": {"a": "b", "c": ""},
}
DEVICE = {
    "name": "d",
    "attributes": {"a": {"int": 0}, "b": {"bool": False}, "c": {"string": "ü"}, "d": {"version": "1.0.0"}},
    "capacity": {"m": {"value": "40Gi"}},
    "taints": [{"key": "k", "effect": "NoSchedule"}],
}
SLICE = {"driver": "d.example.com", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}


@pytest.fixture
async def api() -> AsyncIterator[Connection]:
    async with Server(ServerConfig()) as server, Connection(server.url, token=server.token) as connection:
        yield connection


async def add_claim(api: Connection, name: str = "c", parameters: str = ODD) -> ResourceClaim:
    config = f'[{{"opaque":{{"driver":"d.example.com","parameters":{parameters}}}}}]'
    requests = '[{"name":"r","exactly":{"deviceClassName":"x"}}]'
    spec = f'{{"devices":{{"requests":{requests},"config":{config}}}}}'
    body = f'{{"metadata":{{"name":"{name}"}},"spec":{spec}}}'
    claim: ResourceClaim = json.loads(await api.request("POST", RESOURCE_CLAIMS.path("default"), body.encode()))
    return claim


async def in_protobuf(api: Connection, resource: Resource, name: str, namespace: str | None) -> bytes:
    return await api.request("GET", resource.path(namespace, name), accept=PROTOBUF)


@pytest.mark.parametrize(
    ("resource", "namespace", "spec"),
    [
        pytest.param(PODS, "default", POD, id="pod"),
        pytest.param(RESOURCE_SLICES, None, {**SLICE, "devices": [DEVICE]}, id="slice"),
        pytest.param(LEASES, "default", {"renewTime": "2026-01-02T03:04:05.000006Z"}, id="lease"),
        pytest.param(SERVICES, "default", {"ports": [{"port": 1, "targetPort": "x"}]}, id="service"),
    ],
)
async def test_an_object_is_the_same_in_protobuf(
    api: Connection, resource: Resource, namespace: str | None, spec: Object
) -> None:
    metadata = {"name": "x", "labels": {"b": "", "a": "c"}, "finalizers": ["example.com/a"]}
    await api.create(resource, {"metadata": metadata, "spec": spec}, namespace)
    read = protobuf.decode(await in_protobuf(api, resource, "x", namespace))
    assert without_empty(read) == without_empty(await api.get(resource, "x", namespace))


def without_empty(value: Any) -> Any:
    """Protobuf does not tell what is empty from what is not there."""
    if isinstance(value, dict):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ({}, [], None)}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


async def test_opaque_parameters_are_in_it_as_they_came(api: Connection) -> None:
    await add_claim(api)
    assert ODD.encode() in await in_protobuf(api, RESOURCE_CLAIMS, "c", "default")


async def test_what_was_read_in_protobuf_can_be_written_again(api: Connection) -> None:
    claim = await add_claim(api)
    raw = await in_protobuf(api, RESOURCE_CLAIMS, "c", "default")
    await api.request("PUT", RESOURCE_CLAIMS.path("default", "c"), raw, content_type=PROTOBUF)
    with pytest.raises(Invalid, match="field is immutable"):
        await api.replace(RESOURCE_CLAIMS, claim, "default")


@pytest.mark.parametrize(
    ("written", "code"),
    [
        pytest.param('{"k":"<1>"}', 200, id="as this server answers"),
        pytest.param(r'{"k":"\u003c1\u003e"}', 200, id="as Go answers"),
        pytest.param('{"k": "<2>"}', 422, id="something else"),
    ],
)
async def test_a_client_in_go_that_had_to_read_json_may_write_what_it_read(
    api: Connection, written: str, code: int
) -> None:
    """kube-scheduler adds its finalizer so. A real server would have given it protobuf, and the text as it came."""
    claim = await add_claim(api, parameters='{"k": "<1>"}')
    opaque = claim["spec"]["devices"]["config"][0]["opaque"]
    opaque["parameters"] = Embedded(json.loads(written), written)
    claim["metadata"]["finalizers"] = [FINALIZER]
    body = protobuf_answers.encode("ResourceClaim", "resource.k8s.io/v1", dict(claim))
    answer = 200
    try:
        await api.request("PUT", RESOURCE_CLAIMS.path("default", "c"), body, content_type=PROTOBUF)
    except ApiError as error:
        answer = error.code
    assert answer == code


@pytest.mark.parametrize("path", ["/api/v1/nodes", "/apis/apiextensions.k8s.io/v1"])
async def test_lists_are_not_written_in_protobuf(api: Connection, path: str) -> None:
    with pytest.raises(ApiError) as caught:
        await api.request("GET", path, accept=PROTOBUF)
    assert caught.value.code == 406


async def test_a_claim_with_odd_parameters_gets_finalizers_annotations_and_another_status(api: Connection) -> None:
    claim = await claim_writes.annotate(api, await add_claim(api), {"a": "b"})
    claim = await claim_writes.replace(api, {**claim, "metadata": {**claim["metadata"], "finalizers": [FINALIZER]}})
    assert (claim["metadata"]["annotations"], claim["metadata"]["finalizers"]) == ({"a": "b"}, [FINALIZER])
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d"}
    user, other = ({"resource": "pods", "name": name, "uid": name} for name in ("user", "other"))
    config = f'[{{"source":"FromClaim","opaque":{{"driver":"d.example.com","parameters":{ODD}}}}}]'
    allocation = f'{{"devices":{{"results":[{json.dumps(result)}],"config":{config}}}}}'
    head = json.dumps({key: value for key, value in claim.items() if key != "status"})[:-1]
    body = f'{head},"status":{{"allocation":{allocation},"reservedFor":[{json.dumps(user)}]}}}}'
    claim = json.loads(await api.request("PUT", RESOURCE_CLAIMS.path("default", "c", "status"), body.encode()))
    changed = {**claim, "status": {**claim["status"], "reservedFor": [user, other]}}
    claim = await claim_writes.replace(api, as_claim(changed), "status")
    assert [consumer["name"] for consumer in claim["status"]["reservedFor"]] == ["user", "other"]
    assert (await claim_writes.replace(api, {**claim, "status": {}}, "status")).get("status", {}) == {}
    assert ODD.encode() in await in_protobuf(api, RESOURCE_CLAIMS, "c", "default")


async def test_a_claim_with_odd_parameters_that_has_changed_is_a_conflict(api: Connection) -> None:
    claim = await add_claim(api)
    await claim_writes.annotate(api, claim, {"a": "b"})
    with pytest.raises(Conflict):
        await claim_writes.replace(api, claim)


async def test_another_claim_of_the_same_name_is_not_annotated(api: Connection) -> None:
    claim = await add_claim(api)
    await api.delete(RESOURCE_CLAIMS, "c", "default")
    await add_claim(api)
    with pytest.raises(Conflict):
        await claim_writes.annotate(api, claim, {"a": "b"})
    assert "annotations" not in (await api.get(RESOURCE_CLAIMS, "c", "default"))["metadata"]


async def test_a_refusal_is_in_protobuf_for_a_client_that_takes_nothing_else() -> None:
    async with Server(ServerConfig()) as server:
        headers = {"Authorization": f"Bearer {server.token}", "Accept": PROTOBUF}
        async with (
            aiohttp.ClientSession(server.url, headers=headers) as session,
            session.get("/api/v1/nodes/x") as answer,
        ):
            assert (answer.status, answer.content_type) == (404, PROTOBUF)
            raw = await answer.read()
    message = b'nodes "x" not found'
    # Fields of types.proto: the metadata is written though it is empty.
    assert raw.startswith(protobuf.MAGIC + b"\x0a\x0c\x0a\x02v1\x12\x06Status\x12")
    empty, failure = b"\x0a\x06\x0a\x00\x12\x00\x1a\x00", b"\x12\x07Failure"
    assert empty + failure + b"\x1a" + bytes([len(message)]) + message + b"\x22\x08NotFound" in raw
