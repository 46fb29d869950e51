"""The server's OpenAPI documents are those of kube-apiserver 1.37.1, but for descriptions and for what is not served.

``vectors/api/openapi.jsonl.gz`` has the real server's documents of version 3 without descriptions, one line each:
``paths``, the names of all ``schemas``, and those that no line before has (``new``).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
import yaml

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from tests.embedded import not_served
from tests.vectors.documents import undescribed, without_options
from tests.vectors.exchanges import recorded
from tests.vectors.replay import RUNTIME_CONFIG

DOCUMENTS = {line["path"]: line for line in recorded("openapi")}
READ_ONLY = {f"apis/{version}" for version in not_served.READ_ONLY.values()}
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    config = ServerConfig(token="t", runtime_config=RUNTIME_CONFIG)
    headers = {"Authorization": "Bearer t"}
    async with Server(config) as server, aiohttp.ClientSession(server.url, headers=headers) as client:
        yield client


async def read(session: aiohttp.ClientSession, path: str) -> Object:
    async with session.get(path) as response:
        assert response.status == 200, path
        found: Object = json.loads(await response.read())
        return found


async def test_there_is_a_document_for_each_version(session: aiohttp.ClientSession) -> None:
    listed = (await read(session, "/openapi/v3"))["paths"]
    assert set(listed) == set(DOCUMENTS) - not_served.DOCUMENTS
    for path, entry in listed.items():
        assert entry["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")


@pytest.mark.slow
async def test_every_schema_is_the_real_one(session: aiohttp.ClientSession) -> None:
    expected = {name: schema for line in DOCUMENTS.values() for name, schema in line["new"].items()}
    for path in sorted(set(DOCUMENTS) - not_served.DOCUMENTS):
        document = await read(session, f"/openapi/v3/{path}")
        found = without_options(undescribed(document["components"]["schemas"]))
        assert found == {name: expected[name] for name in found}, path
        assert path in READ_ONLY or set(found) == set(DOCUMENTS[path]["schemas"]), path


@pytest.mark.slow
async def test_every_path_takes_what_the_real_one_takes(session: aiohttp.ClientSession) -> None:
    for path in sorted(set(DOCUMENTS) - not_served.DOCUMENTS - READ_ONLY):
        found = undescribed((await read(session, f"/openapi/v3/{path}"))["paths"])
        expected = DOCUMENTS[path]["paths"]
        assert set(expected) - set(found) == {name for name in expected if not not_served.path_is_served(name)}
        assert found == {name: expected[name] for name in found}, path


async def test_fields_are_described(session: aiohttp.ClientSession) -> None:
    schemas = (await read(session, "/openapi/v3/apis/resource.k8s.io/v1"))["components"]["schemas"]
    claim = schemas["io.k8s.api.resource.v1.ResourceClaim"]
    assert claim["description"].startswith("ResourceClaim describes a request for access to resources")
    driver = schemas["io.k8s.api.resource.v1.ResourceSliceSpec"]["properties"]["driver"]
    assert driver["description"].startswith("Driver identifies the DRA driver providing the capacity information")


@pytest.mark.slow
async def test_version_2_has_all_in_one(session: aiohttp.ClientSession) -> None:
    document = await read(session, "/openapi/v2")
    lines = [line for path, line in DOCUMENTS.items() if path not in not_served.DOCUMENTS]
    assert set(document["definitions"]) == {name for line in lines for name in line["schemas"]}
    assert set(document["paths"]) >= {name for line in lines for name in line["paths"] if name.endswith("/{name}")}
    spec = document["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert spec["containers"]["items"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Container"}
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert document["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message, of which all that are looked at here have a length."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            digit = message[at]
            at, value, shift = at + 1, value | (digit & 0x7F) << shift, shift + 7
            if digit < 0x80:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 2:
            length = varint()
            at += length
            yield tag >> 3, message[at - length : at]
        else:
            assert tag & 7 == 0
            varint()


def named(message: bytes) -> dict[str, bytes]:
    """The entries of a mapping."""
    return {name.decode(): value for (_, name), (_, value) in (tuple(fields(entry)) for _, entry in fields(message))}


@pytest.mark.slow
async def test_version_2_is_had_as_protobuf_which_kubectl_reads(session: aiohttp.ClientSession) -> None:
    plain = await read(session, "/openapi/v2")
    async with session.get("/openapi/v2", headers={"Accept": PROTOBUF}) as response:
        assert response.headers["Content-Type"] == PROTOBUF.replace("@", ".")
        document = dict(fields(await response.read()))
    assert document[1] == b"2.0"
    definitions, paths = named(document[9]), named(document[8])
    assert (set(definitions), set(paths)) == (set(plain["definitions"]), set(plain["paths"]))
    pod = dict(fields(definitions["io.k8s.api.core.v1.Pod"]))
    assert set(named(pod[25])) == {"apiVersion", "kind", "metadata", "spec", "status"}
    extension = dict(fields(pod[31]))
    told = yaml.safe_load(dict(fields(extension[2]))[2])
    assert (extension[1], told) == (
        b"x-kubernetes-group-version-kind",
        [{"group": "", "kind": "Pod", "version": "v1"}],
    )


async def test_a_document_is_kept_by_its_hash(session: aiohttp.ClientSession) -> None:
    url = (await read(session, "/openapi/v3"))["paths"]["apis/apps/v1"]["serverRelativeURL"]
    async with session.get(url) as first:
        tag = first.headers["ETag"]
        assert first.headers["Cache-Control"] == "public, immutable"
        assert url.endswith(f"?hash={tag.strip(chr(34))}")
    async with session.get(url, headers={"If-None-Match": tag}) as again:
        assert (again.status, await again.read()) == (304, b"")
    async with session.get("/openapi/v3/apis/apps/v1?hash=OLD", allow_redirects=False) as moved:
        assert (moved.status, moved.headers["Location"]) == (301, url)


@pytest.mark.parametrize(
    ("path", "accept", "code"),
    [
        ("/openapi/v2", "text/html", 406),
        ("/openapi/v3/apis/apps/v1", "text/html", 406),
        ("/openapi/v3/apis/apps/v1", PROTOBUF, 406),
        ("/openapi/v3/apis/apps/v9", "*/*", 404),
        ("/openapi/v4", "*/*", 404),
    ],
)
async def test_what_there_is_not(session: aiohttp.ClientSession, path: str, accept: str, code: int) -> None:
    async with session.get(path, headers={"Accept": accept}) as response:
        assert response.status == code


async def test_a_server_without_older_versions_has_no_documents_of_them() -> None:
    headers = {"Authorization": "Bearer t"}
    async with Server(ServerConfig(token="t")) as server, aiohttp.ClientSession(server.url, headers=headers) as one:
        assert "apis/resource.k8s.io/v1beta1" not in (await read(one, "/openapi/v3"))["paths"]
