"""Bodies that are nested too deep, or hold too many values: as kube-apiserver up to a depth, and refused beyond."""

from __future__ import annotations

import gzip
import io
import json
import zlib

import aiohttp
import pytest

from drakit_embedded.apiserver.wire import budget
from drakit_embedded.apiserver.wire.budget import DEEPEST, MOST_VALUES

MAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
JSON, YAML = "application/json", "application/yaml"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
OPERATIONS, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
OF_A_MAP = '"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}'
CLAIM = (
    '{"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]'
    ', "config": [{"opaque": {"driver": "d.example.com", "parameters": DEEP}}]}}}'
)
MANAGED = '"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"'
# What takes a deep value: method, path, type, body, levels around it; what kube-apiserver 1.37.1 answers up to 10,000.
PLACES = [
    ("POST", MAPS, JSON, '{"metadata": {"name": "a"}, "x": DEEP}', 1, 201),
    ("POST", MAPS, JSON, '{"metadata": {"name": "a"}, "data": DEEP}', 1, 400),
    ("POST", MAPS, YAML, '{"metadata": {"name": "a"}, "x": DEEP}', 1, 201),
    ("POST", CLAIMS, JSON, CLAIM, 6, 201),
    ("POST", CLAIMS, YAML, CLAIM, 6, 201),
    ("PUT", f"{MAPS}/m", JSON, f'{{{OF_A_MAP[:-1]}, "managedFields": [{{{MANAGED}, "fieldsV1": DEEP}}]}}}}', 4, 200),
    ("PATCH", f"{MAPS}/m", MERGE, '{"x": DEEP}', 1, 200),
    ("PATCH", f"{MAPS}/m", MERGE, '{"data": DEEP}', 1, 422),
    ("PATCH", f"{MAPS}/m", STRATEGIC, '{"x": DEEP}', 1, 200),
    ("PATCH", f"{MAPS}/m", STRATEGIC, '{"data": DEEP}', 1, 422),
    ("PATCH", f"{MAPS}/m", OPERATIONS, '[{"op": "add", "path": "/x", "value": DEEP}]', 2, 200),
    ("PATCH", f"{MAPS}/m", OPERATIONS, '[{"op": "add", "path": "/data/x", "value": DEEP}]', 2, 422),
    ("PATCH", f"{MAPS}/m", OPERATIONS, '[{"op": "test", "path": "/data", "value": DEEP}]', 2, 422),
    ("PATCH", f"{MAPS}/m", APPLY, f'{{{OF_A_MAP}, "x": DEEP}}', 1, 500),
    ("PATCH", f"{MAPS}/m", APPLY, f'{{{OF_A_MAP}, "data": {{"a": DEEP}}}}', 2, 500),
    ("DELETE", f"{MAPS}/none", JSON, '{"preconditions": DEEP}', 1, 404),
]
WORDS = {
    JSON: f"exceeded max depth: drakit's API server reads {DEEPEST} levels",
    YAML: f"yaml: exceeded max depth: drakit's API server reads {DEEPEST} levels",
    APPLY: f"error converting YAML to JSON: yaml: exceeded max depth: drakit's API server reads {DEEPEST} levels",
    **dict.fromkeys((MERGE, STRATEGIC, OPERATIONS), "invalid JSON patch"),
}


def nested(levels: int, key: str = "f:a") -> str:
    """An object in an object, so many times."""
    return f'{{"{key}":' * (levels - 1) + "{}" + "}" * (levels - 1)


async def asked(session: aiohttp.ClientSession, method: str, path: str, media: str, body: str) -> tuple[int, str]:
    """The code of an answer, and its message."""
    sent = io.BytesIO(body.encode())
    parameters = {"dryRun": "All"} if method == "POST" else {"fieldManager": "x"} if media == APPLY else {}
    async with session.request(method, path, params=parameters, data=sent, headers={"Content-Type": media}) as answer:
        return answer.status, (await answer.json()).get("message", "")


@pytest.fixture
async def stored(session: aiohttp.ClientSession) -> None:
    async with session.post(MAPS, json={"metadata": {"name": "m"}, "data": {"a": "b"}}) as made:
        assert made.status == 201


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(("method", "path", "media", "body", "around", "code"), PLACES)
async def test_up_to_a_depth_it_is_as_in_kubernetes(
    session: aiohttp.ClientSession, method: str, path: str, media: str, body: str, around: int, code: int
) -> None:
    for levels in (100, DEEPEST - around):
        found, message = await asked(session, method, path, media, body.replace("DEEP", nested(levels)))
        assert found == code, message
        assert code != 500 or message.startswith("failed to create typed patch object"), message


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(("method", "path", "media", "body", "around", "code"), PLACES)
async def test_what_is_deeper_is_refused_in_words(
    session: aiohttp.ClientSession, method: str, path: str, media: str, body: str, around: int, code: int
) -> None:
    for levels in (DEEPEST - around + 1, 350, 650, 950, 5_000, 10_001):
        found, message = await asked(session, method, path, media, body.replace("DEEP", nested(levels)))
        assert found == 400, (levels, message)
        assert WORDS[media] in message or "exceeded max depth" in message


@pytest.mark.usefixtures("stored")
async def test_patches_cannot_put_one_depth_below_another(session: aiohttp.ClientSession) -> None:
    """Each operation is shallow, and so is each patch."""
    into = [
        {"op": "add", "path": "/y", "value": {}},
        {"op": "move", "from": "/x", "path": "/y/a"},
        {"op": "move", "from": "/y", "path": "/x"},
    ]
    operations = [{"op": "add", "path": "/x", "value": json.loads(nested(200))}, *into * 100]
    code, message = await asked(session, "PATCH", f"{MAPS}/m", OPERATIONS, json.dumps(operations))
    assert (code, message) == (422, "the server rejected our request due to an error in our request")


TOO_MANY = MOST_VALUES + 1
BODIES = {
    "numbers": (JSON, {"x": [0] * TOO_MANY}),
    "objects": (JSON, {"x": [{}] * TOO_MANY}),
    "keys": (JSON, {"data": dict.fromkeys(map(str, range(TOO_MANY)), "")}),
    "YAML": (YAML, "x:\n" + "- a\n" * 2 * TOO_MANY),
    "a merge patch": (MERGE, {"x": [0] * TOO_MANY}),
    "a JSON patch": (OPERATIONS, [{"op": "add", "path": "/x", "value": [0] * TOO_MANY}]),
    "an applied configuration": (APPLY, {"x": [0] * 2 * TOO_MANY}),
}


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("what", BODIES)
async def test_more_values_than_are_read_at_once(session: aiohttp.ClientSession, what: str) -> None:
    media, content = BODIES[what]
    method, path = ("POST", MAPS) if media in (JSON, YAML) else ("PATCH", f"{MAPS}/m")
    body = content if isinstance(content, str) else json.dumps(content)
    code, message = await asked(session, method, path, media, body)
    assert code == 413, message
    assert message == (
        f"Request entity too large: drakit's API server reads {MOST_VALUES} values at once, and these are more"
    )


def test_a_string_full_of_brackets_is_one_value() -> None:
    value = {"data": {"script": "{[,:]}" * 100_000}}
    budget.check(value, json.dumps(value).encode())


GZIPPED = gzip.compress(b'{"metadata": {"name": "z"}}', mtime=0)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("encoding", "media", "body", "code", "words"),
    [
        (
            "gzip",
            JSON,
            GZIPPED,
            400,
            "json parse error: invalid character '\\x1f' looking for beginning of value (1f8b08",
        ),
        ("gzip", JSON, b"\x1f\x8b\x08broken", 400, "looking for beginning of value (1f8b0862726f6b656e)"),
        ("deflate", JSON, zlib.compress(b"{}"), 400, "invalid character 'x' looking for beginning of value (789c"),
        ("br", JSON, b"xx", 400, "looking for beginning of value (7878)"),
        ("gzip", JSON, b'{"metadata": {"name": "z"}}', 201, ""),
        ("gzip", MERGE, GZIPPED, 400, "invalid JSON patch"),
        ("gzip", APPLY, GZIPPED, 400, "error encoding patch: yaml: control characters are not allowed"),
        ("nonsense", JSON, b'{"metadata": {"name": "z"}}', 201, ""),
    ],
)
async def test_bodies_are_read_as_they_come(
    session: aiohttp.ClientSession, encoding: str, media: str, body: bytes, code: int, words: str
) -> None:
    """kube-apiserver 1.37.1 does not decompress them, and answers this."""
    path, method = (MAPS, "POST") if media == JSON else (f"{MAPS}/m", "PATCH")
    headers = {"Content-Type": media, "Content-Encoding": encoding}
    parameters = {"dryRun": "All", "fieldManager": "x"}
    async with session.request(method, path, params=parameters, data=body, headers=headers) as answer:
        status = await answer.json()
    assert (answer.status, words in status.get("message", "")) == (code, True), status
