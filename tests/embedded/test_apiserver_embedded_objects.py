"""Opaque parameters are kept as they were written, and a spec with others may not take their place.

Each answer is that of a kube-apiserver 1.37.1 to the same requests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_embedded.apiserver import Server, ServerConfig

TOKEN = "of-the-tests"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
JSON, MERGE, STRATEGIC = "application/json", "application/merge-patch+json", "application/strategic-merge-patch+json"
SPACED, SHORTEST = '{"kind": "X"}', '{"kind":"X"}'
LABEL = '{"metadata":{"labels":{"a":"b"}}}'


def claim(parameters: str, name: str = "c") -> str:
    config = f'[{{"opaque":{{"driver":"gpu.example.com","parameters":{parameters}}}}}]'
    return f'{{"metadata":{{"name":"{name}"}},"spec":{{"devices":{{"config":{config}}}}}}}'


def device_class(parameters: str) -> str:
    config = f'[{{"opaque":{{"driver":"gpu.example.com","parameters":{parameters}}}}}]'
    return f'{{"metadata":{{"name":"c"}},"spec":{{"config":{config}}}}}'


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


async def test_parameters_are_measured_as_they_were_written() -> None:
    """At most 10 KiB, in which spaces count."""
    longest = 10 * 1024
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        for length, code in ((longest, 201), (longest + 1, 422)):
            text = '{"a":' + " " * (length - len('{"a":1}')) + "1}"
            assert (await send(session, "POST", CLAIMS, claim(text, f"c{length}")))[0] == code
