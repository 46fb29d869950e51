"""Opaque parameters are kept as they were written, and a spec with others may not take their place.

Each answer is that of a kube-apiserver 1.37.1 to the same requests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_embedded.apiserver import Server, ServerConfig

TOKEN = "of-the-tests"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
JSON, MERGE, STRATEGIC = "application/json", "application/merge-patch+json", "application/strategic-merge-patch+json"
YAML, APPLY = "application/yaml", "application/apply-patch+yaml"
SPACED, SHORTEST = '{"kind": "X"}', '{"kind":"X"}'
LABEL = '{"metadata":{"labels":{"a":"b"}}}'


def claim(parameters: str, name: str = "c") -> str:
    config = f'[{{"opaque":{{"driver":"gpu.example.com","parameters":{parameters}}}}}]'
    return f'{{"metadata":{{"name":"{name}"}},"spec":{{"devices":{{"config":{config}}}}}}}'


def device_class(parameters: str) -> str:
    config = f'[{{"opaque":{{"driver":"gpu.example.com","parameters":{parameters}}}}}]'
    return f'{{"metadata":{{"name":"c"}},"spec":{{"config":{config}}}}}'


def claim_with(data: str) -> str:
    """A claim with a device of which a driver has told something."""
    device = '"driver":"gpu.example.com","pool":"p","device":"d"'
    allocation = f'{{"devices":{{"results":[{{"request":"r",{device}}}]}}}}'
    status = f'{{"allocation":{allocation},"devices":[{{{device},"data":{data}}}]}}'
    requests = '[{"name":"r","exactly":{"deviceClassName":"x"}}]'
    return f'{{"metadata":{{"name":"c"}},"spec":{{"devices":{{"requests":{requests}}}}},"status":{status}}}'


async def send(session: aiohttp.ClientSession, method: str, path: str, body: str, kind: str = JSON) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    async with session.request(method, path, data=body, headers=headers) as response:
        return response.status, await response.json()


@pytest.mark.parametrize(
    ("written", "method", "body", "kind", "code"),
    [
        pytest.param(SPACED, "PUT", claim(SPACED), JSON, 200, id="the same text again"),
        pytest.param(SPACED, "PUT", claim(SHORTEST), JSON, 422, id="another text of the same"),
        pytest.param(SPACED, "PATCH", LABEL, MERGE, 422, id="a patch prints it anew"),
        pytest.param(SPACED, "PATCH", LABEL, STRATEGIC, 422, id="of whichever type"),
        pytest.param(SHORTEST, "PATCH", LABEL, MERGE, 200, id="the text that is printed"),
        pytest.param('{"a":"<"}', "PATCH", LABEL, MERGE, 422, id="HTML is printed otherwise"),
        pytest.param('{"b":1,"a":2}', "PATCH", LABEL, MERGE, 200, id="keys keep their order"),
        pytest.param('{"b":1,"a":2}', "PATCH", LABEL, STRATEGIC, 422, id="but go through a map"),
        pytest.param('{"a":1.0}', "PATCH", LABEL, STRATEGIC, 422, id="as numbers do"),
        pytest.param('{"a":1}', "PUT", claim('{"a":true}'), JSON, 422, id="1 is not true"),
    ],
)
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
async def test_a_claim_with_other_parameters(
    written: str, method: str, body: str, kind: str, code: int, restarted: bool, tmp_path: Path
) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.sqlite")
    async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
        assert (await send(session, "POST", CLAIMS, claim(written)))[0] == 201
        if not restarted:
            found = await send(session, method, f"{CLAIMS}/c", body, kind)
    if restarted:
        async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
            found = await send(session, method, f"{CLAIMS}/c", body, kind)
    assert found[0] == code
    if code == 422:
        assert found[1]["message"].endswith("is invalid: spec: Invalid value: null: field is immutable")


async def test_a_class_counts_it_as_a_change() -> None:
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        await send(session, "POST", CLASSES, device_class(SPACED))
        patched = (await send(session, "PATCH", f"{CLASSES}/c", LABEL, MERGE))[1]
        again = (await send(session, "PATCH", f"{CLASSES}/c", LABEL, MERGE))[1]
    assert [found["metadata"]["generation"] for found in (patched, again)] == [2, 2]


@pytest.mark.parametrize("kind", [JSON, YAML])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":true}'),
        ('{"a":0}', '{"a":false}'),
        ('{"a":2,"b":1}', '{"b":1,"a":2}'),
        ('{"a":1}', '{"a":1.0}'),
    ],
)
async def test_what_only_python_takes_for_the_same_is_stored(before: str, after: str, kind: str) -> None:
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        await send(session, "POST", CLASSES, device_class(before), kind)
        await send(session, "PUT", f"{CLASSES}/c", device_class(after))
        again = (await send(session, "PUT", f"{CLASSES}/c", device_class(after)))[1]
    assert again["metadata"]["generation"] == 2
    assert str(again["spec"]["config"][0]["opaque"]["parameters"]) == str(json.loads(after))


STATUS_STORIES = [
    ('{"a":1}', '{"a":true}', True),
    ('{"a":1,"b":2}', '{"b":2,"a":1}', False),
    ('{"a":1}', '{"a": 1}', False),
]


@pytest.mark.parametrize(("before", "after", "taken"), STATUS_STORIES)
async def test_data_of_a_device_has_another_manager_if_they_have_another_value(
    before: str, after: str, taken: bool
) -> None:
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        await send(session, "POST", CLAIMS, claim_with("{}"))
        first = (await send(session, "PUT", f"{CLAIMS}/c/status?fieldManager=one", claim_with(before)))[1]
        second = (await send(session, "PUT", f"{CLAIMS}/c/status?fieldManager=two", claim_with(after)))[1]
    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    assert str(second["status"]["devices"][0]["data"]) == str(json.loads(after))
    assert ("two" in [entry["manager"] for entry in second["metadata"]["managedFields"]]) is taken


async def test_data_can_appear_and_disappear() -> None:
    path, data = f"{CLAIMS}/c/status", '{"a": 1}'
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        await send(session, "POST", CLAIMS, claim_with(data))
        bodies = [claim_with(""), claim_with(data), claim_with(""), claim_with("[1]"), claim_with(data)]
        found = [await send(session, "PUT", path, body.replace(',"data":}', "}")) for body in bodies]
    assert [code for code, _ in found] == [200, 200, 200, 422, 200]


@pytest.mark.parametrize(
    ("written", "applied", "conflicts"),
    [
        ('{"b": 1, "a":2}', '{"a":2,"b":1}', False),
        ('{"b":1.0}', '{"b":1}', False),
        ('{"b":18446744073709551616}', '{"b":18446744073709552000}', False),
        ('{"b":1}', '{"b":true}', True),
    ],
)
async def test_apply_compares_parameters_by_their_values(written: str, applied: str, conflicts: bool) -> None:
    path = f"{CLASSES}/c?fieldManager=other"
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        await send(session, "POST", CLASSES, device_class(written))
        code, _ = await send(session, "PATCH", path, _configuration(device_class(applied)), APPLY)
    assert code == (409 if conflicts else 200)


async def test_in_another_version_they_are_compared_by_their_values() -> None:
    older = CLASSES.replace("/v1/", "/v1beta1/")
    config = ServerConfig(token=TOKEN, runtime_config={"resource.k8s.io/v1beta1": "true"})
    async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
        await send(session, "POST", CLASSES, device_class('{"b": 1,"a":2}'))
        patched = (await send(session, "PATCH", f"{older}/c", LABEL, STRATEGIC))[1]
        changed = (await send(session, "PUT", f"{older}/c", device_class('{"b":1,"a":true}')))[1]
    assert [_owners_of_config(obj) for obj in (patched, changed)] == [
        ["resource.k8s.io/v1", "resource.k8s.io/v1beta1"],
        ["resource.k8s.io/v1beta1"],
    ]


def _owners_of_config(obj: Any) -> list[str]:
    entries = obj["metadata"]["managedFields"]
    return [entry["apiVersion"] for entry in entries if "f:config" in entry["fieldsV1"].get("f:spec", {})]


async def test_apply_prints_them_anew_only_with_a_change() -> None:
    path = f"{CLASSES}/c?fieldManager=other"
    named, labelled = '{"metadata":{"name":"c"}}', '{"metadata":{"name":"c","labels":{"a":"b"}}}'
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        await send(session, "POST", CLASSES, device_class('{"b": 1, "a":2}'))
        found = [await send(session, "PATCH", path, _configuration(text), APPLY) for text in (named, labelled)]
    assert [obj["metadata"]["generation"] for _, obj in found] == [1, 2]
    assert [list(obj["spec"]["config"][0]["opaque"]["parameters"]) for _, obj in found] == [["b", "a"], ["a", "b"]]


def _configuration(body: str) -> str:
    return f'{{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass",{body[1:]}'


async def test_parameters_are_measured_as_they_were_written() -> None:
    """At most 10 KiB, in which spaces count."""
    longest = 10 * 1024
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        for length, code in ((longest, 201), (longest + 1, 422)):
            text = '{"a":' + " " * (length - len('{"a":1}')) + "1}"
            assert (await send(session, "POST", CLAIMS, claim(text, f"c{length}")))[0] == code
